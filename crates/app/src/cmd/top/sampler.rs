//! Samples the machine once an interval, in a thread of its own: a manager that is slow to answer
//! does not hold up the keys.

use crate::cli::TopArgs;
use crate::cmd::programs::Teller;
use crate::cmd::snapshot::{Counters, Snapshot, shown};
use crate::journal::rfc3339;
use crate::render::view::top::values::Shown;
use hugewise_base::units::Ns;
use hugewise_linux::root::Root;
use std::time::{Instant, SystemTime};

/// What is remembered from one sample to the next.
pub(super) struct Sampler {
    root: Root,
    teller: Teller,
    host: String,
    began: Instant,
    before: Option<Counters>,
}

impl Sampler {
    pub(super) fn new(root: &Root, args: &TopArgs) -> Self {
        Self {
            root: root.clone(),
            teller: Teller::new(root, &args.daemon, &args.state_dir),
            host: root.read_line("proc/sys/kernel/hostname").unwrap_or_default(),
            began: Instant::now(),
            before: None,
        }
    }

    /// One sample; maps and diagnoses are of others.
    pub(super) fn sample(&mut self) -> Shown {
        let told = self.teller.ask();
        let elapsed = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let moment = Snapshot {
            root: &self.root,
            told,
            at: Ns(elapsed),
            base_page: None,
            host: self.host.clone(),
            time: clock(),
        };
        let (shown, counters) = shown(moment, self.before.as_ref());
        self.before = Some(counters);
        shown
    }
}

/// The time of day, in UTC as everywhere.
pub(super) fn clock() -> String {
    let now = rfc3339(SystemTime::now());
    format!("{} UTC", now.get(11..19).unwrap_or_default())
}
