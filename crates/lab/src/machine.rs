//! The machine's own counters while a driver measures.

use crate::run::{Run, key};
use hugewise_experiment::machine::Machine;
use hugewise_linux::root::Root;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Points over time are so far apart: as those of a load.
const STEP: Duration = Duration::from_secs(1);

/// Counters since the begin of a measurement.
#[derive(Debug)]
pub(super) struct Watch {
    root: Root,
    began: Instant,
    first: Machine,
    last: (Instant, Machine),
    over_time: BTreeMap<&'static str, Vec<(f64, f64)>>,
}

impl Watch {
    /// From now on.
    pub(super) fn start() -> Self {
        let (root, now) = (Root::live(), Instant::now());
        let first = look(&root);
        Self { root, began: now, last: (now, first.clone()), first, over_time: BTreeMap::new() }
    }

    /// Looks again once a second; called as often as the driver likes.
    pub(super) fn beat(&mut self) {
        let now = Instant::now();
        if now - self.last.0 < STEP {
            return;
        }
        let (machine, since) = (look(&self.root), (self.last.0 - self.began).as_secs_f64());
        for (key, value) in machine.since(&self.last.1) {
            self.over_time.entry(key).or_default().push((since, value));
        }
        self.last = (now, machine);
    }

    /// Notes what happened since the begin, and over time.
    pub(super) fn note(self, run: &mut Run<'_>, phase: &str) {
        for (name, value) in look(&self.root).since(&self.first) {
            run.value(&key(phase, name), value);
        }
        for (name, points) in self.over_time {
            run.series(&key(phase, name), points);
        }
    }
}

fn look(root: &Root) -> Machine {
    let text = |path: &str| root.read_text(path).unwrap_or_default();
    Machine::parse(&text("proc/vmstat"), &text("proc/stat"))
}
