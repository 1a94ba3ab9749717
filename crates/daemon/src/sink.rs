//! Where the loop writes down what happened: the journal, the control socket's desk, a line for the
//! user who watches, and the service manager.

use crate::control::Desk;
use crate::earlier::Keeper;
use crate::journal::Journal;
use crate::service::Service;
use crate::settings::Settings;
use hugewise_base::count::counted;
use hugewise_base::units::Ns;
use hugewise_console::number;
use hugewise_console::say::{Progress, note};
use hugewise_manager::engine::{Manager, Sink};
use hugewise_manager::record::Record;
use hugewise_manager::status;
use std::sync::Arc;
use std::time::Duration;

/// Writes records to the journal, and the state for who asks through the control socket.
pub(crate) struct FileSink {
    /// The journal.
    pub(crate) journal: Journal,
    /// Where the control socket's status is put.
    pub(crate) desk: Arc<Desk>,
    /// `--dry-run`.
    pub(crate) dry_run: bool,
    /// Renewed after each tick.
    pub(crate) progress: Progress,
    /// Where nobody watches that line, it is said from time to time.
    pub(crate) lines: Option<Lines>,
    /// What the next manager has to know, where this one acts.
    pub(crate) earlier: Option<Keeper>,
    /// Told after each tick.
    pub(crate) service: Service,
    /// Kernel settings, as far as this manager changes some.
    pub(crate) settings: Settings,
}

impl Sink for FileSink {
    fn record(&mut self, _at: Ns, record: &Record) {
        self.journal.write(record);
    }

    fn tick_done(&mut self, at: Ns, manager: &Manager) {
        self.service.alive();
        self.settings.follow(manager, &mut self.journal);
        self.journal.flush();
        if self.desk.age().is_none_or(|age| age >= OLDEST_STATUS) {
            self.shown(at, manager);
        }
        if let Some(earlier) = &mut self.earlier {
            earlier.keep(at, manager.state());
        }
        if self.progress.is_watched() {
            self.progress.show(&line(manager, at));
        } else if let Some(lines) = &mut self.lines {
            lines.say(at, || line(manager, at));
        }
    }

    fn shown(&mut self, at: Ns, manager: &Manager) {
        if let Ok(json) = serde_json::to_value(status::manager(manager, self.dry_run, at)) {
            self.desk.put(json);
        }
    }
}

/// A status that is older is renewed, for programs that ask while the loop waits for a worker.
const OLDEST_STATUS: Duration = Duration::from_secs(10);

/// What the manager does, for a log: ten seconds after its start, then after twice as long each
/// time, at most an hour, and only where it is something new.
#[derive(Debug)]
pub(crate) struct Lines {
    next: Ns,
    pause: Ns,
    last: String,
}

impl Lines {
    const FIRST: Ns = Ns::s(10);
    const LONGEST: Ns = Ns::s(3600);

    pub(crate) fn new(now: Ns) -> Self {
        Self { next: now + Self::FIRST, pause: Self::FIRST, last: String::new() }
    }

    fn say(&mut self, now: Ns, line: impl FnOnce() -> String) {
        if now < self.next {
            return;
        }
        self.pause = Ns(self.pause.0 * 2).min(Self::LONGEST);
        self.next = now + self.pause;
        let line = line();
        if line != self.last {
            note(&line);
            self.last = line;
        }
    }
}

/// What the manager does, in a line.
fn line(manager: &Manager, now: Ns) -> String {
    let (state, waiting) = (manager.state(), manager.plan().waiting());
    let rate = state.rate().per_s(now).map_or(String::new(), |rate| {
        let mib = rate * state.geometry().huge.0 as f64 / f64::from(1 << 20);
        format!(" at {mib:.0} MiB/s")
    });
    let left = state.rate().left_s(waiting, now);
    let left = left.map_or(String::new(), |s| format!(", {} left", number::wait(s)));
    let limit = manager.limits().values().next();
    let limit = limit.map_or(String::new(), |l| format!(", held back by {}", l.config_key()));
    format!(
        "{}, {} promoted{rate}, {waiting} waiting{left}{limit}",
        counted(state.targets().len(), "process", "processes"),
        counted(state.totals().promoted, "region", "regions")
    )
}
