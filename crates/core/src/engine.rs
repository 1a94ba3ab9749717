//! The loop: observe, decide, act, write down. Live, replayed and simulated alike.
//!
//! ```text
//! World::observe --> State --> policy::plan --> queues --> policy::pace --> World::act
//!                      ^                                                        |
//!                      +------------------- outcome ----------------------------+--> Sink
//! ```

use crate::config::{Config, Mode};
use crate::policy::select::Selection;
use crate::policy::{Decision, Outcome, giveback, look, pace, plan, scan};
use crate::reason::SkipReason;
use crate::record::{Record, skips_record};
use crate::snapshot::{Ask, Observation};
use crate::state::State;
use crate::units::{Geometry, Ns, ProcId};
use std::collections::BTreeMap;

/// Length of a tick (DESIGN section 5).
pub const TICK: Ns = Ns::s(1);
/// A target's skip counts are written down at most this often.
const SKIPS_INTERVAL: Ns = Ns::s(10);

/// Something that can be observed and acted on: the live machine, a recording, a simulation.
pub trait World {
    /// Shows what was asked for.
    fn observe(&mut self, ask: &Ask) -> Observation;
    /// Carries out one decision, after a re-check of its own.
    fn act(&mut self, decision: &Decision) -> Outcome;
    /// Time now, monotonic.
    fn now(&mut self) -> Ns;
    /// Lets time pass until `at`, or until somebody wants something.
    fn wait_until(&mut self, at: Ns) -> Wake;
}

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The time came.
    Reached,
    /// Stop for good.
    Stop,
    /// Read the configuration again.
    Reload,
    /// Stop acting, keep observing.
    Pause,
    /// Act again.
    Resume,
}

/// Where the loop writes down what happened.
pub trait Sink {
    /// One record for the journal.
    fn record(&mut self, at: Ns, record: &Record);
    /// A tick is over; views may be refreshed.
    fn tick_done(&mut self, at: Ns, manager: &Manager);
}

/// Configuration and memory of the loop.
#[derive(Debug, Clone)]
pub struct Manager {
    /// What is wanted.
    pub config: Config,
    /// Mode in force (the command line may override the configuration's).
    pub mode: Mode,
    /// What the command line selected.
    pub selection: Selection,
    /// What is known.
    pub state: State,
    journaled: BTreeMap<ProcId, (Ns, [BTreeMap<SkipReason, u64>; 2])>,
}

/// Why a tick ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickEnd {
    /// Its time is over.
    Done,
    /// Stop for good.
    Stop,
    /// Read the configuration again, then go on.
    Reload,
}

impl Manager {
    /// A manager that knows nothing yet.
    #[must_use]
    pub fn new(config: Config, mode: Mode, selection: Selection, now: Ns) -> Self {
        let state = State::new(&config, Geometry::X86_64, now);
        Self { config, mode, selection, state, journaled: BTreeMap::new() }
    }

    /// Puts a reloaded configuration in force.
    pub fn reload(&mut self, config: Config, now: Ns) {
        self.state.configure(&config, now);
        self.config = config;
    }

    /// True while a target is not known completely, has work waiting for its turn, or a failure
    /// is fresh enough at `now` to be tried again soon.
    #[must_use]
    pub fn busy(&self, now: Ns) -> bool {
        let waits = self.state.paused || self.state.retries_soon(now);
        waits
            || self.state.targets.values().any(|target| {
                target.pass_done.is_none()
                    || [SkipReason::Scheduled, SkipReason::NotLookedAt]
                        .iter()
                        .any(|reason| target.skips.contains_key(reason))
                    || giveback::busy(target)
            })
    }

    fn look(&mut self, world: &mut impl World) {
        let now = world.now();
        let processes = now >= self.state.next_list;
        let mut targets: Vec<_> = self.state.targets.keys().copied().collect();
        let ask = Ask { machine: true, processes, targets, ..Ask::default() };
        let seen = world.observe(&ask);
        self.state.own_cpu(seen.own_cpu, seen.at);
        if let Some(machine) = seen.machine {
            self.state.machine(&self.config, machine);
        }
        if let Some(processes) = seen.processes {
            self.state.next_list = seen.at + Ns::ms(self.config.scan.list_interval_ms);
            self.state.list(&self.config, &self.selection, processes, seen.at);
        }
        let scans = scan::asks(&self.config, &self.state, seen.at);
        let planned = scans.iter().map(|scan| scan.budget).fold(Ns(0), |a, b| a + b);
        let looks = look::asks(&self.config, &self.state, planned, seen.at);
        // After the list, so that nobody's cgroup is unknown when it is first acted on.
        let cgroups = self.state.cgroups_wanted(seen.at);
        if scans.is_empty() && looks.is_empty() && cgroups.is_empty() {
            return;
        }
        targets = self.state.targets.keys().copied().collect();
        let asked = !cgroups.is_empty();
        let seen = world.observe(&Ask { targets, cgroups, scans, looks, ..Ask::default() });
        if asked {
            self.state.cgroup_memory(&self.config, seen.cgroups, seen.at);
        }
        for report in &seen.scans {
            self.state.scanned(report, seen.at);
        }
        for report in &seen.looks {
            self.state.looked(report, seen.at);
        }
    }

    fn journal_skips(&mut self, at: Ns, sink: &mut impl Sink) {
        let targets = &self.state.targets;
        self.journaled.retain(|id, _| targets.contains_key(id));
        for (id, target) in targets {
            let last = self.journaled.get(id);
            let due = last.is_none_or(|(when, _)| at.since(*when) >= SKIPS_INTERVAL);
            let counts = [&target.skips, &target.kept].map(Clone::clone);
            if due && last.is_none_or(|(_, before)| *before != counts) {
                sink.record(at, &skips_record(*id, target, self.state.geometry));
                self.journaled.insert(*id, (at, counts));
            }
        }
    }
}

/// One turn of the loop.
pub fn tick(world: &mut impl World, manager: &mut Manager, sink: &mut impl Sink) -> TickEnd {
    let begin = world.now();
    let end = begin + TICK;
    manager.look(world);
    let now = world.now();
    let mut queues = plan::plan(&manager.config, &mut manager.state, now);
    manager.journal_skips(now, sink);
    loop {
        let now = world.now();
        plan::withdraw(&mut queues, &manager.config, &manager.state, now);
        let Some(turn) = pace::next(&mut manager.state, &queues, now, end) else {
            break;
        };
        match wait(world, manager, turn.at) {
            TickEnd::Done => {}
            other => return other,
        }
        plan::withdraw(&mut queues, &manager.config, &manager.state, world.now());
        let Some(decision) = queues.get_mut(&turn.target).and_then(|q| q.pop_front()) else {
            continue;
        };
        if !manager.state.still_wanted(&decision, world.now()) {
            continue;
        }
        let outcome = world.act(&decision);
        let now = world.now();
        manager.state.applied(&decision, &outcome, now);
        sink.record(now, &Record::action(&decision, &outcome));
    }
    sink.tick_done(world.now(), manager);
    wait(world, manager, end)
}

/// Waits, and carries out pause and resume on the way.
fn wait(world: &mut impl World, manager: &mut Manager, at: Ns) -> TickEnd {
    loop {
        match world.wait_until(at) {
            Wake::Reached => return TickEnd::Done,
            Wake::Stop => return TickEnd::Stop,
            Wake::Reload => return TickEnd::Reload,
            Wake::Pause => manager.state.paused = true,
            Wake::Resume => manager.state.paused = false,
        }
    }
}
