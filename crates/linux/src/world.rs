//! The live machine as a [`World`].

use crate::actuator::Actuator;
use crate::cgroup::{self, Usage};
use crate::compact::Compactor;
use crate::machine;
use crate::pages::PageReader;
use crate::process::Lister;
use crate::root::Root;
use crate::target::Target;
use crate::track::{self, Trackers};
use hugewise_base::units::{Geometry, Ns, ProcId};
use hugewise_manager::access::{AccessAsk, AccessReport, Offer};
use hugewise_manager::compaction::{Compact, CompactEnd, CompactReport};
use hugewise_manager::decision::{Decision, Outcome};
use hugewise_manager::engine::{Wake, World};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{
    Ask, CgroupSample, InspectAsk, InspectReport, MachineSample, Observation, ScanAsk, ScanEnd,
    ScanReport,
};
use std::collections::{BTreeMap, BTreeSet};
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
    pages: Option<PageReader>,
    targets: BTreeMap<ProcId, Target>,
    actuator: Option<Actuator>,
    frees_zeros: Option<bool>,
    trackers: Option<Trackers>,
    compactor: Compactor,
    /// Of compaction that nobody was to carry out.
    withheld: Option<CompactReport>,
    events: Receiver<Wake>,
    began: Instant,
}

impl Live {
    /// A world that shows `root` and acts through `actuator`; without one every decision is
    /// withheld. The sender of `events` can wake it up.
    pub fn new(root: Root, actuator: Option<Actuator>, events: Receiver<Wake>) -> Self {
        let geometry = machine::geometry(&root);
        Self {
            geometry,
            lister: Lister::new(&root),
            pages: root.is_live().then(|| PageReader::new(geometry).ok()).flatten(),
            targets: BTreeMap::new(),
            actuator,
            frees_zeros: None,
            trackers: None,
            compactor: Compactor::new(&root, geometry),
            withheld: None,
            events,
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
    pub fn tracking(self, state_dir: &Path) -> Self {
        let trackers = Some(Trackers::new(track::offers(&self.root), state_dir));
        Self { trackers, ..self }
    }

    fn acts(&self) -> bool {
        self.actuator.as_ref().is_some_and(Actuator::acts)
    }

    fn open(&mut self, id: ProcId) -> Result<&mut Target, SkipReason> {
        open(&mut self.targets, &self.root, id)
    }

    fn scan(&mut self, ask: &ScanAsk) -> ScanReport {
        let geometry = self.geometry;
        let refused = |reason| ScanReport {
            target: ask.target,
            from: ask.from,
            end: ScanEnd::Refused(reason),
            regions: Vec::new(),
            excluded: BTreeMap::new(),
            cost: Ns(0),
        };
        let Some(mut pages) = self.pages.take() else { return refused(SkipReason::NoMechanism) };
        let root = self.root.clone();
        let report = match self.open(ask.target) {
            Ok(target) => target.scan(&root, &mut pages, ask, geometry),
            Err(reason) => refused(reason),
        };
        self.pages = Some(pages);
        if matches!(report.end, ScanEnd::Refused(_)) {
            // Whatever was wrong with its files: the next attempt opens them again.
            self.targets.remove(&ask.target);
        }
        report
    }
}

impl Live {
    fn inspect(&mut self, ask: &InspectAsk) -> InspectReport {
        let geometry = self.geometry;
        let refused = |reason| InspectReport {
            target: ask.target,
            at: ask.region,
            region: None,
            refused: Some(reason),
            cost: Ns(0),
        };
        let Some(mut pages) = self.pages.take() else { return refused(SkipReason::NoMechanism) };
        let root = self.root.clone();
        let report = match self.open(ask.target) {
            Ok(target) => target.inspect(&root, &mut pages, ask, geometry),
            Err(reason) => refused(reason),
        };
        self.pages = Some(pages);
        report
    }

    fn access(&mut self, ask: &AccessAsk) -> AccessReport {
        let acts = self.acts();
        let (Some(trackers), Some(pages)) = (&mut self.trackers, &mut self.pages) else {
            return AccessReport::refused(ask, SkipReason::NoMechanism, Ns(0));
        };
        if !acts {
            return AccessReport::refused(ask, SkipReason::WithheldByMode, Ns(0));
        }
        let target = open(&mut self.targets, &self.root, ask.target);
        trackers.look(&self.root, self.geometry, pages, target, ask)
    }

    /// What may be asked of [`Live::access`].
    fn offers(&self) -> Vec<Offer> {
        let acts = self.acts();
        let withheld = |offer: Offer| {
            let why = offer.refused.or((!acts).then_some(SkipReason::WithheldByMode));
            Offer { refused: why, ..offer }
        };
        let offers = self.trackers.as_ref().map(Trackers::offers).unwrap_or_default();
        offers.into_iter().map(withheld).collect()
    }

    fn compacted(&mut self) -> Option<CompactReport> {
        self.withheld.take().or_else(|| self.compactor.report())
    }

    fn machine(&self) -> MachineSample {
        let (frees_zeros, trackers) = (self.frees_zeros, self.offers());
        MachineSample { frees_zeros, trackers, ..machine::sample(&self.root, self.geometry) }
    }

    fn cgroup(&self, path: &str) -> Option<(String, CgroupSample)> {
        let Usage { usage, limit, hits: limit_hits } = cgroup::usage(&self.root, path)?;
        let stalled_us = cgroup::stalled_us(&self.root, path);
        Some((path.to_owned(), CgroupSample { usage, limit, stalled_us, limit_hits }))
    }
}

/// A target that is open, or is opened now.
fn open<'a>(
    targets: &'a mut BTreeMap<ProcId, Target>,
    root: &Root,
    id: ProcId,
) -> Result<&'a mut Target, SkipReason> {
    use std::collections::btree_map::Entry;
    match targets.entry(id) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(new) => Ok(new.insert(Target::open(root, id)?)),
    }
}

impl World for Live {
    fn observe(&mut self, ask: &Ask) -> Observation {
        let asked: BTreeSet<_> = ask.targets.iter().collect();
        self.targets.retain(|id, _| asked.contains(id));
        if let Some(trackers) = &mut self.trackers {
            trackers.retain(&asked);
        }
        let machine = ask.machine.then(|| self.machine());
        let cgroups = ask.cgroups.iter().filter_map(|path| self.cgroup(path)).collect();
        // A list that cannot be had is unknown, not empty: no target is forgotten for it.
        let began = hugewise_sys::cpu::thread_cpu_time_ns();
        let list = || self.lister.list(&self.root, self.geometry, &ask.list).ok();
        let processes = ask.processes.then(list).flatten();
        let listing = Ns(hugewise_sys::cpu::thread_cpu_time_ns().saturating_sub(began));
        let list_cost = ask.processes.then_some(listing);
        let scans = ask.scans.iter().map(|scan| self.scan(scan)).collect();
        let inspections = ask.inspections.iter().map(|ask| self.inspect(ask)).collect();
        let accesses = ask.accesses.iter().map(|ask| self.access(ask)).collect();
        let warm_cpu = self.actuator.as_ref().map(Actuator::ahead_cpu);
        let warm_unused = self.actuator.as_ref().map(Actuator::ahead_unused);
        let all = Ns(hugewise_sys::cpu::process_cpu_time_ns());
        let own_cpu = Some(all.since(warm_cpu.unwrap_or_default()));
        let compaction = ask.machine.then(|| self.compacted()).flatten();
        let at = self.now();
        Observation {
            at,
            machine,
            processes,
            list_cost,
            cgroups,
            scans,
            inspections,
            own_cpu,
            warm_cpu,
            warm_unused,
            accesses,
            compaction,
        }
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        let gone = Outcome::Skipped { reason: SkipReason::Gone, warm: None, cpu: Ns(0) };
        let Some(actuator) = &mut self.actuator else {
            return Outcome::Withheld { populated: decision.populated };
        };
        let (Some(target), Some(pages)) = (self.targets.get_mut(&decision.target), &mut self.pages)
        else {
            return gone;
        };
        actuator.act(&self.root, pages, target, decision)
    }

    fn compact(&mut self, order: &Compact) {
        match order {
            Compact::Start(ask) if !self.acts() => {
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
