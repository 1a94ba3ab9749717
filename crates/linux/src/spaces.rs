//! Address spaces of other processes, as one process holds them open: what is done to them, one
//! order at a time.

use crate::actuator::{Actuator, ActuatorConfig, Reach};
use crate::address_space::{self, SpaceFile};
use crate::machine;
use crate::pages::PageReader;
use crate::root::Root;
use crate::target::Target;
use crate::track::{self, Trackers};
use hugewise_base::units::{Geometry, Ns, ProcId};
use hugewise_manager::access::{AccessAsk, AccessReport, Offer};
use hugewise_manager::decision::{Decision, Outcome};
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{InspectAsk, InspectReport, ScanAsk, ScanEnd, ScanReport};
use hugewise_sys::Errno;
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What is to be done to address spaces, and with what.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Means {
    /// How far promotions and splits go; `None`: all are withheld.
    pub(crate) actuator: Option<(Reach, ActuatorConfig)>,
    /// Trackers that may be used, and the directory in which they note what they change.
    pub(crate) trackers: Option<(Vec<Offer>, PathBuf)>,
}

impl Means {
    /// Whether memory of other processes is changed.
    pub(crate) fn act(&self) -> bool {
        self.actuator.is_some_and(|(reach, _)| reach == Reach::Act)
    }
}

/// One thing to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Close all but these.
    Retain(Vec<ProcId>),
    Scan(ScanAsk),
    Inspect(InspectAsk),
    Access(AccessAsk),
    Act(Decision),
    /// Read a file of this pid.
    Read(u32, SpaceFile),
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Answer {
    Retained,
    Scan(ScanReport),
    Inspect(InspectReport),
    Access(AccessReport),
    Act(Outcome),
    /// The bytes, or the number of the error.
    Read(Result<Vec<u8>, i32>),
}

impl Order {
    /// The target that it is about, if it is about one.
    pub(crate) fn target(&self) -> Option<ProcId> {
        match self {
            Self::Retain(_) | Self::Read(..) => None,
            Self::Scan(ask) => Some(ask.target),
            Self::Inspect(ask) => Some(ask.target),
            Self::Access(ask) => Some(ask.target),
            Self::Act(decision) => Some(decision.target),
        }
    }

    /// The process that it is about, if it is about one.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Read(pid, _) => Some(*pid),
            order => order.target().map(|target| target.pid),
        }
    }

    /// Whether it is about the address space of somebody, who can hold it up.
    pub(crate) fn enters(&self) -> bool {
        !matches!(self, Self::Retain(_))
    }

    /// The answer where it was not carried out. A scan that only has to wait goes on where it was.
    pub(crate) fn refused(&self, reason: SkipReason) -> Answer {
        match self {
            Self::Retain(_) => Answer::Retained,
            Self::Scan(ask) => {
                let end = match reason {
                    SkipReason::RetryLater => ScanEnd::Partial(ask.from),
                    reason => ScanEnd::Refused(reason),
                };
                Answer::Scan(empty(ask, end))
            }
            Self::Inspect(ask) => Answer::Inspect(not_inspected(ask, reason)),
            Self::Access(ask) => Answer::Access(AccessReport::refused(ask, reason, Ns(0))),
            Self::Act(_) => Answer::Act(Outcome::Skipped { reason, warm: None, cpu: Ns(0) }),
            Self::Read(..) => Answer::Read(Err(Errno::TIMEDOUT.0)),
        }
    }
}

fn empty(ask: &ScanAsk, end: ScanEnd) -> ScanReport {
    let (regions, excluded) = (Vec::new(), BTreeMap::new());
    ScanReport { target: ask.target, from: ask.from, end, regions, excluded, cost: Ns(0) }
}

fn not_inspected(ask: &InspectAsk, reason: SkipReason) -> InspectReport {
    let (target, at, refused) = (ask.target, ask.region, Some(reason));
    InspectReport { target, at, region: None, refused, cost: Ns(0) }
}

/// CPU time of the process that carries orders out, and of what it warms ahead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// All of it.
    pub(crate) cpu: Ns,
    /// Warming ahead, part of it; `None` where nothing is acted on.
    pub(crate) warm_cpu: Option<Ns>,
    /// Blocks that were warmed and not wanted after all.
    pub(crate) warm_unused: Option<u64>,
}

impl Usage {
    /// Of two processes together.
    pub(crate) fn and(self, other: Self) -> Self {
        let warm_cpu = self.warm_cpu.unwrap_or_default() + other.warm_cpu.unwrap_or_default();
        let unused = self.warm_unused.unwrap_or(0) + other.warm_unused.unwrap_or(0);
        Self {
            cpu: self.cpu + other.cpu,
            warm_cpu: self.warm_cpu.or(other.warm_cpu).map(|_| warm_cpu),
            warm_unused: self.warm_unused.or(other.warm_unused).map(|_| unused),
        }
    }
}

/// Address spaces that are open, and what is done to them.
#[derive(Debug)]
pub(crate) struct Spaces {
    root: Root,
    geometry: Geometry,
    pages: Option<PageReader>,
    targets: BTreeMap<ProcId, Target>,
    actuator: Option<Actuator>,
    trackers: Option<Trackers>,
}

impl Spaces {
    /// `replaces`: another process had these means and was killed: what it took and could not give
    /// back is given back first.
    pub(crate) fn new(root: Root, means: Means, replaces: bool) -> Self {
        let geometry = machine::geometry(&root);
        if let Some((_, state_dir)) = means.trackers.as_ref().filter(|_| replaces) {
            track::give_back(&root, state_dir);
        }
        let actuator = means.actuator;
        let trackers = means.trackers;
        Self {
            geometry,
            pages: root.is_live().then(|| PageReader::new(geometry).ok()).flatten(),
            targets: BTreeMap::new(),
            actuator: actuator.map(|(reach, config)| Actuator::new(&root, reach, geometry, config)),
            trackers: trackers.map(|(_, state_dir)| Trackers::new(&state_dir)),
            root,
        }
    }

    pub(crate) fn carry_out(&mut self, order: &Order) -> Answer {
        match order {
            Order::Retain(asked) => {
                let asked: BTreeSet<_> = asked.iter().collect();
                self.targets.retain(|id, _| asked.contains(id));
                if let Some(trackers) = &mut self.trackers {
                    trackers.retain(&asked);
                }
                Answer::Retained
            }
            Order::Scan(ask) => Answer::Scan(self.scan(ask)),
            Order::Inspect(ask) => Answer::Inspect(self.inspect(ask)),
            Order::Access(ask) => Answer::Access(self.access(ask)),
            Order::Act(decision) => Answer::Act(self.act(decision)),
            Order::Read(pid, file) => {
                let text = address_space::read_here(&self.root, *pid, *file);
                Answer::Read(text.map_err(|error| address_space::number_of(&error)))
            }
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage {
            cpu: Ns(hugewise_sys::cpu::process_cpu_time_ns()),
            warm_cpu: self.actuator.as_ref().map(Actuator::ahead_cpu),
            warm_unused: self.actuator.as_ref().map(Actuator::ahead_unused),
        }
    }

    fn open(&mut self, id: ProcId) -> Result<&mut Target, SkipReason> {
        open(&mut self.targets, &self.root, id)
    }

    fn scan(&mut self, ask: &ScanAsk) -> ScanReport {
        let geometry = self.geometry;
        let refused = |reason| empty(ask, ScanEnd::Refused(reason));
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

    fn inspect(&mut self, ask: &InspectAsk) -> InspectReport {
        let geometry = self.geometry;
        let Some(mut pages) = self.pages.take() else {
            return not_inspected(ask, SkipReason::NoMechanism);
        };
        let root = self.root.clone();
        let report = match self.open(ask.target) {
            Ok(target) => target.inspect(&root, &mut pages, ask, geometry),
            Err(reason) => not_inspected(ask, reason),
        };
        self.pages = Some(pages);
        report
    }

    fn access(&mut self, ask: &AccessAsk) -> AccessReport {
        let acts = self.actuator.as_ref().is_some_and(Actuator::acts);
        let (Some(trackers), Some(pages)) = (&mut self.trackers, &mut self.pages) else {
            return AccessReport::refused(ask, SkipReason::NoMechanism, Ns(0));
        };
        if !acts {
            return AccessReport::refused(ask, SkipReason::WithheldByMode, Ns(0));
        }
        let target = open(&mut self.targets, &self.root, ask.target);
        trackers.look(&self.root, self.geometry, pages, target, ask)
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        let Some(actuator) = &mut self.actuator else {
            return Outcome::Withheld { populated: decision.populated };
        };
        // One that was opened by a worker which was given up meanwhile is opened again.
        let target = open(&mut self.targets, &self.root, decision.target);
        let skipped = |reason| Outcome::Skipped { reason, warm: None, cpu: Ns(0) };
        match (target, &mut self.pages) {
            (Ok(target), Some(pages)) => actuator.act(&self.root, pages, target, decision),
            (Err(reason), _) => skipped(reason),
            (_, None) => skipped(SkipReason::Gone),
        }
    }
}

/// A target that is open, or is opened now.
fn open<'a>(
    targets: &'a mut BTreeMap<ProcId, Target>,
    root: &Root,
    id: ProcId,
) -> Result<&'a mut Target, SkipReason> {
    match targets.entry(id) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(new) => Ok(new.insert(Target::open(root, id)?)),
    }
}

/// What may be asked of a machine's trackers; none where memory is not acted on.
pub(crate) fn offers(means: &Means) -> Vec<Offer> {
    let acts = means.act();
    let withheld = |offer: Offer| {
        let why = offer.refused.or((!acts).then_some(SkipReason::WithheldByMode));
        Offer { refused: why, ..offer }
    };
    let offers = means.trackers.as_ref().map(|(offers, _)| track::may_be(offers));
    offers.unwrap_or_default().into_iter().map(withheld).collect()
}
