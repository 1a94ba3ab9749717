//! The live machine as a [`World`].

use crate::actuator::{ActuatorConfig, Reach};
use crate::cgroup::{self, Usage as CgroupUsage};
use crate::compact::Compactor;
use crate::machine;
use crate::process::Lister;
use crate::root::Root;
use crate::space_text;
use crate::spaces::{self, Answer, Means, Order, Spaces, Usage};
use crate::track;
use crate::worker::{self, Workers};
use hugewise_base::units::{Geometry, Ns, ProcId};
use hugewise_manager::compaction::{Compact, CompactEnd, CompactReport};
use hugewise_manager::decision::{Decision, Outcome};
use hugewise_manager::engine::{Wake, World};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{Ask, CgroupSample, MachineSample, Observation};
use hugewise_manager::suspension::Party;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The machine itself, or what lies below another root: observed with what is open, acted on
/// through the actuator.
#[derive(Debug)]
pub struct Live {
    root: Root,
    geometry: Geometry,
    lister: Lister,
    means: Means,
    /// Built with the first order; then the means are fixed.
    hands: Option<Hands>,
    /// Targets, and who stands for each.
    parties: BTreeMap<ProcId, Party>,
    frees_zeros: Option<bool>,
    compactor: Compactor,
    /// Of compaction that nobody was to carry out.
    withheld: Option<CompactReport>,
    events: Receiver<Wake>,
    /// Of them, what came while a worker was waited for.
    pending: VecDeque<Wake>,
    began: Instant,
}

/// Who carries out orders about address spaces.
#[derive(Debug)]
enum Hands {
    /// This process: what it reads are copies, or it is a test.
    Own(Box<Spaces>),
    Workers(Box<Workers>),
}

impl Hands {
    /// `parties`: who stands for each target; `is_unwanted`: that answers are not waited for.
    fn carry_out(
        &mut self,
        orders: &[Order],
        parties: &BTreeMap<ProcId, Party>,
        is_unwanted: &mut dyn FnMut() -> bool,
    ) -> Vec<Answer> {
        let party_of = |order: &Order| {
            order.target().and_then(|id| parties.get(&id)).cloned().unwrap_or_default()
        };
        match self {
            Self::Own(spaces) => orders.iter().map(|order| spaces.carry_out(order)).collect(),
            Self::Workers(workers) => workers.carry_out(orders, &party_of, is_unwanted),
        }
    }

    /// Workers that were given up and have not ended.
    fn abandoned(&self) -> u64 {
        match self {
            Self::Own(_) => 0,
            Self::Workers(workers) => workers.abandoned() as u64,
        }
    }

    /// CPU time of workers, warming ahead included; that of this process where it works itself.
    fn usage(&self) -> Usage {
        match self {
            Self::Own(spaces) => Usage { cpu: Ns(0), ..spaces.usage() },
            Self::Workers(workers) => workers.usage(),
        }
    }
}

impl Live {
    /// A world that shows `root` and acts as far as `actuator` says; without one every decision is
    /// withheld. The sender of `events` can wake it up.
    pub fn new(
        root: Root,
        actuator: Option<(Reach, ActuatorConfig)>,
        events: Receiver<Wake>,
    ) -> Self {
        let geometry = machine::geometry(&root);
        Self {
            geometry,
            lister: Lister::new(&root),
            means: Means { actuator, trackers: None },
            hands: None,
            parties: BTreeMap::new(),
            frees_zeros: None,
            compactor: Compactor::new(&root, geometry),
            withheld: None,
            events,
            pending: VecDeque::new(),
            began: Instant::now(),
            root,
        }
    }

    /// A world that only shows.
    pub fn observer(root: Root) -> Self {
        Self::new(root, None, mpsc::channel().1)
    }

    /// The same world, knowing whether a split gives zero pages back.
    pub fn knowing(self, frees_zeros: Option<bool>) -> Self {
        Self { frees_zeros, ..self }
    }

    /// The same world, which tracks accesses by the trackers that the machine has; what is noted
    /// meanwhile is noted in `state_dir`. Trackers act on programs: a world that does not act has
    /// none that it may use.
    pub fn tracking(mut self, state_dir: &Path) -> Self {
        self.means.trackers = Some((track::offers(&self.root), state_dir.to_path_buf()));
        self
    }

    fn carry_out(&mut self, orders: &[Order]) -> Vec<Answer> {
        let (root, means) = (&self.root, &self.means);
        let hands = self.hands.get_or_insert_with(|| match root.is_live() && worker::enabled() {
            true => Hands::Workers(Box::new(Workers::new(means.clone()))),
            false => Hands::Own(Box::new(Spaces::new(root.clone(), means.clone(), false))),
        });
        let (events, pending) = (&self.events, &mut self.pending);
        // A manager that is to end waits for no worker.
        let mut is_unwanted = || {
            pending.extend(events.try_iter());
            pending.contains(&Wake::Stop)
        };
        hands.carry_out(orders, &self.parties, &mut is_unwanted)
    }

    /// Everything of an ask that is about address spaces: scans, inspections, looks at accesses.
    fn spaces(&mut self, ask: &Ask, seen: &mut Observation) {
        let asked: BTreeSet<_> = ask.targets.iter().copied().collect();
        let mut orders = Vec::new();
        if !self.parties.keys().eq(&asked) {
            orders.push(Order::Retain(ask.targets.clone()));
            self.parties.retain(|id, _| asked.contains(id));
            for id in asked {
                let root = &self.root;
                self.parties.entry(id).or_insert_with(|| space_text::party(root, id.pid));
            }
        }
        orders.extend(ask.scans.iter().map(|scan| Order::Scan(*scan)));
        orders.extend(ask.inspections.iter().map(|inspect| Order::Inspect(*inspect)));
        orders.extend(ask.accesses.iter().map(|access| Order::Access(*access)));
        if orders.is_empty() {
            return;
        }
        for answer in self.carry_out(&orders) {
            match answer {
                Answer::Scan(report) => seen.scans.push(report),
                Answer::Inspect(report) => seen.inspections.push(report),
                Answer::Access(report) => seen.accesses.push(report),
                Answer::Retained | Answer::Act(_) | Answer::Read(_) => {}
            }
        }
    }

    fn compacted(&mut self) -> Option<CompactReport> {
        self.withheld.take().or_else(|| self.compactor.report())
    }

    fn machine(&self) -> MachineSample {
        let (frees_zeros, trackers) = (self.frees_zeros, spaces::offers(&self.means));
        let abandoned_workers = self.hands.as_ref().map_or(0, Hands::abandoned);
        let sample = machine::sample(&self.root, self.geometry);
        MachineSample { frees_zeros, trackers, abandoned_workers, ..sample }
    }

    fn cgroup(&self, path: &str) -> Option<(String, CgroupSample)> {
        let CgroupUsage { usage, limit, hits: limit_hits } = cgroup::usage(&self.root, path)?;
        let stalled_us = cgroup::stalled_us(&self.root, path);
        Some((path.to_owned(), CgroupSample { usage, limit, stalled_us, limit_hits }))
    }
}

impl World for Live {
    fn observe(&mut self, ask: &Ask) -> Observation {
        let machine = ask.machine.then(|| self.machine());
        let cgroups = ask.cgroups.iter().filter_map(|path| self.cgroup(path)).collect();
        // A list that cannot be had is unknown, not empty: no target is forgotten for it.
        let began = hugewise_sys::cpu::thread_cpu_time_ns();
        let list = || self.lister.list(&self.root, self.geometry, &ask.list).ok();
        let processes = ask.processes.then(list).flatten();
        let listing = Ns(hugewise_sys::cpu::thread_cpu_time_ns().saturating_sub(began));
        let list_cost = ask.processes.then_some(listing);
        let mut seen =
            Observation { machine, processes, list_cost, cgroups, ..Observation::default() };
        self.spaces(ask, &mut seen);
        let usage = self.hands.as_ref().map(Hands::usage).unwrap_or_default();
        let all = Ns(hugewise_sys::cpu::process_cpu_time_ns()) + usage.cpu;
        seen.own_cpu = Some(all.since(usage.warm_cpu.unwrap_or_default()));
        (seen.warm_cpu, seen.warm_unused) = (usage.warm_cpu, usage.warm_unused);
        seen.compaction = ask.machine.then(|| self.compacted()).flatten();
        seen.at = self.now();
        seen
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        if self.means.actuator.is_none() {
            return Outcome::Withheld { populated: decision.populated };
        }
        match self.carry_out(&[Order::Act(*decision)]).pop() {
            Some(Answer::Act(outcome)) => outcome,
            _ => Outcome::Skipped { reason: SkipReason::Gone, warm: None, cpu: Ns(0) },
        }
    }

    fn compact(&mut self, order: &Compact) {
        match order {
            Compact::Start(ask) if !self.means.act() => {
                let reason = Some(SkipReason::WithheldByMode);
                self.withheld = Some(CompactReport::not_begun(ask, CompactEnd::Withheld, reason));
            }
            order => self.compactor.order(order),
        }
    }

    fn end(&mut self) -> Option<CompactReport> {
        self.compactor.finish()
    }

    fn now(&mut self) -> Ns {
        // One second ahead, so that no point in time is zero.
        let elapsed = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ns::s(1) + Ns(elapsed)
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        if let Some(wake) = self.pending.pop_front() {
            return wake;
        }
        let wait = Duration::from_nanos(at.since(self.now()).0);
        if wait.is_zero() {
            // A wait for no time at all takes 50 us: the kernel's timer slack.
            return self.events.try_recv().unwrap_or(Wake::Reached);
        }
        match self.events.recv_timeout(wait) {
            Ok(wake) => wake,
            Err(RecvTimeoutError::Timeout) => Wake::Reached,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(wait);
                Wake::Reached
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_manager::compaction::CompactAsk;
    use hugewise_scratch::Scratch;

    #[test]
    fn who_does_not_act_compacts_nothing_and_says_so() {
        let scratch = Scratch::new();
        let mut world = Live::observer(Root::at(scratch.path()));
        world.compact(&Compact::Start(CompactAsk::EXAMPLE));
        let quick = Ask { targets: Vec::new(), ..Ask::default() };
        assert_eq!(world.observe(&quick).compaction, None, "it comes with the machine's values");
        let ask = Ask { machine: true, ..Ask::default() };
        let report = world.observe(&ask).compaction.expect("a report");
        assert_eq!(report.end, CompactEnd::Withheld);
        assert_eq!(report.reason, Some(SkipReason::WithheldByMode));
        assert_eq!(world.observe(&ask).compaction, None, "it comes once");
    }
}
