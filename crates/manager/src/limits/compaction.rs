//! When memory may be compacted, and for how long.
//!
//! While promotions wait for free blocks and for nothing else, and before that where fewer blocks
//! are free than were wanted at once in the last minutes ([`Demand`]): such a reserve is made when
//! a half of it is gone. Only while memory is not short; within a share of CPU time; not again and
//! again where it makes too few blocks, or where too much of the memory is the kernel's own. Every
//! "no" has a name.

use super::backoff::{Backoff, COMPACTION_BASE};
use super::bucket::Bucket;
use super::demand::Demand;
use crate::compaction::{Compact, CompactAsk, CompactEnd, CompactReport};
use crate::config::{CompactMode, Config};
use crate::reason::SkipReason;
use crate::snapshot::{MachineSample, NodeFree};
use hugewise_base::units::{Bytes, Geometry, Ns};
use std::collections::BTreeMap;

/// So long promotions have waited for blocks before any are made: programs that end give some back
/// for nothing (`docs/measurements.md#defaults-by-choice`).
pub const PATIENCE: Ns = Ns::s(3);
/// Least free memory in small pieces, percent of the machine's memory: a few times what kernels
/// keep for themselves (`vm.min_free_kbytes`), so that no allocation falls short because blocks are
/// made of it (`docs/measurements.md#defaults-by-choice`).
pub const LEAST_FREE_PERCENT: f64 = 2.0;
/// Blocks that a second of CPU time makes at least where it is worth its cost: a tenth of what it
/// made where memory could be moved (`docs/measurements.md#compaction`).
pub const LEAST_PER_S: f64 = 35.0;
/// Where more of the blocks cannot be moved nothing is tried
/// (`docs/measurements.md#defaults-by-choice`).
pub const MOST_UNMOVABLE_PERCENT: f64 = 50.0;
/// The longest run, in seconds of what `compact.cpu_percent` gives.
const BURST_S: f64 = 10.0;

/// What decides at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Situation {
    /// Regions that wait for a block and for nothing else.
    pub starved: u64,
    /// Blocks that a node lacks, of those that are kept ready.
    pub reserve: Lack,
    /// The node to compact: of which most blocks can be made, or which lacks most of its reserve;
    /// `None`: not known of any.
    pub node: Option<NodeFree>,
    /// Memory of the machine; `None`: unknown.
    pub total: Option<Bytes>,
    /// Page sizes.
    pub geometry: Geometry,
    /// Some promotion waits for its turn: it may use a block that was just made.
    pub scheduled: bool,
    /// Memory is short for everybody.
    pub short: bool,
    /// `hugewise manage pause` is in force.
    pub paused: bool,
}

/// What is lacking of a reserve of free blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lack {
    /// So many blocks.
    pub blocks: u64,
    /// That is more than a half of it: time to make some.
    pub is_low: bool,
}

/// Limits of compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    mode: CompactMode,
    /// CPU time, ns.
    cpu: Bucket,
    demand: Demand,
    /// The largest reserve, in percent of the memory.
    reserve_percent: f64,
    /// Since when promotions have waited for blocks.
    starved_since: Option<Ns>,
    /// Nodes that wait after a run that was not worth its time, or was refused, and why.
    backoffs: BTreeMap<u32, (Backoff, SkipReason)>,
    running: Running,
    /// Why nothing is compacted now, though blocks are wanted.
    held_back: Option<SkipReason>,
}

/// Whether a run is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    No,
    Yes,
    /// It was told to stop.
    Stopping,
}

impl Compaction {
    /// With a full budget.
    pub fn new(config: &Config, now: Ns) -> Self {
        let mut new = Self {
            mode: config.compact.mode,
            cpu: Bucket::new(0.0, f64::MAX, now),
            demand: Demand::default(),
            reserve_percent: 0.0,
            starved_since: None,
            backoffs: BTreeMap::new(),
            running: Running::No,
            held_back: None,
        };
        new.configure(config, now);
        new
    }

    /// Takes over mode and rate of a new or reloaded configuration; level and debt stay.
    pub fn configure(&mut self, config: &Config, now: Ns) {
        self.mode = config.compact.mode;
        self.reserve_percent = config.compact.reserve_percent;
        let per_s = config.compact.cpu_percent * 1e7;
        self.cpu.set_rate(per_s, per_s * BURST_S, now);
    }

    /// Whether a run is under way.
    pub fn is_running(&self) -> bool {
        self.running != Running::No
    }

    /// Takes the machine's counters of blocks that were wanted.
    pub fn observe(&mut self, machine: &MachineSample, now: Ns) {
        self.demand.observe(&machine.vmstat, now);
    }

    /// Free blocks that are kept ready on a machine: as many as were wanted at once lately, within
    /// limits; 0 where memory is not compacted.
    pub fn reserve(&self, total: Bytes, geometry: Geometry) -> u64 {
        let most = total.percent(self.reserve_percent).0 / geometry.huge.0.max(1);
        if self.mode == CompactMode::Off { 0 } else { self.demand.most().min(most) }
    }

    /// The node that lacks most of its reserve, which is an equal part of the machine's, and how
    /// much; nodes that wait, or have little in pieces, lack nothing that could be made.
    pub fn lack(
        &self,
        nodes: &[NodeFree],
        total: Bytes,
        geometry: Geometry,
        now: Ns,
    ) -> Option<(NodeFree, Lack)> {
        let part = self.reserve(total, geometry).div_ceil(nodes.len().max(1) as u64);
        let mut most = None::<(NodeFree, Lack)>;
        for node in nodes.iter().filter(|node| self.can_give(node, total, now)) {
            let blocks = part.saturating_sub(node.free_huge);
            let lack = Lack { blocks, is_low: 2 * node.free_huge < part };
            if blocks > most.map_or(0, |(_, most)| most.blocks) {
                most = Some((*node, lack));
            }
        }
        most
    }

    /// Why nothing is compacted now, though blocks are wanted.
    pub const fn held_back(&self) -> Option<SkipReason> {
        self.held_back
    }

    /// What the world is told now, and the reason for which nothing is begun where that is a new
    /// one.
    pub fn step(
        &mut self,
        situation: &Situation,
        now: Ns,
    ) -> (Option<Compact>, Option<SkipReason>) {
        match self.running {
            Running::Stopping => return (None, None),
            Running::Yes => {
                let stop = self.against_going_on(situation);
                if stop.is_some() {
                    self.running = Running::Stopping;
                }
                return (stop.map(Compact::Stop), None);
            }
            Running::No => {}
        }
        if situation.starved == 0 && !situation.reserve.is_low {
            (self.starved_since, self.held_back) = (None, None);
            return (None, None);
        }
        let (order, held_back) = match self.begin(situation, now) {
            Ok(ask) => {
                self.running = Running::Yes;
                (Some(Compact::Start(ask)), None)
            }
            Err(reason) => (None, Some(reason)),
        };
        let before = std::mem::replace(&mut self.held_back, held_back);
        (order, held_back.filter(|_| held_back != before))
    }

    fn against_going_on(&self, situation: &Situation) -> Option<SkipReason> {
        let lacks = situation.reserve.blocks > 0;
        let waits = situation.starved > 0 || situation.scheduled || lacks;
        let reasons = [
            (self.mode == CompactMode::Off, SkipReason::CompactionOff),
            (situation.paused, SkipReason::Paused),
            (situation.short, SkipReason::LowMemory),
            (!waits, SkipReason::NothingWaits),
        ];
        reasons.into_iter().find(|(holds, _)| *holds).map(|(_, reason)| reason)
    }

    /// What is asked for, or the reason for which nothing is.
    fn begin(&mut self, situation: &Situation, now: Ns) -> Result<CompactAsk, SkipReason> {
        let since = *self.starved_since.get_or_insert(now);
        if situation.starved == 0 {
            self.starved_since = None;
        }
        if let Some(reason) = self.against_going_on(situation) {
            return Err(reason);
        }
        if !situation.reserve.is_low && now.since(since) < PATIENCE {
            return Err(SkipReason::BlocksMayCome);
        }
        let (Some(node), Some(total)) = (situation.node, situation.total) else {
            return Err(SkipReason::NoMechanism);
        };
        if let Some(reason) = self.backs_off(node.node, now) {
            return Err(reason);
        }
        if node.pieces < total.percent(LEAST_FREE_PERCENT) {
            return Err(SkipReason::LittleFree);
        }
        let level = self.cpu.level_at(now);
        if level < self.cpu.burst() / 2.0 {
            return Err(SkipReason::CompactionBudget);
        }
        let possible = node.pieces.0 / situation.geometry.huge.0.max(1);
        Ok(CompactAsk {
            node: node.node,
            time: Ns::from_s(level / 1e9),
            blocks: situation.starved.max(situation.reserve.blocks).min(possible).max(1),
            most_unmovable_percent: MOST_UNMOVABLE_PERCENT,
        })
    }

    /// Takes what became of a run. Returns why the next one waits, if it does, or why this one
    /// ended early.
    pub fn done(&mut self, report: &CompactReport, now: Ns) -> Option<SkipReason> {
        self.running = Running::No;
        self.cpu.take(report.cpu.0 as f64, now);
        let reason = match report.end {
            // It was not given the time to show what it can do.
            CompactEnd::Stopped => return report.reason,
            CompactEnd::Withheld => Some(SkipReason::WithheldByMode),
            CompactEnd::Refused => report.reason.or(Some(SkipReason::NoMechanism)),
            CompactEnd::Complete | CompactEnd::Enough | CompactEnd::TimeOver => {
                let least = LEAST_PER_S * report.cpu.as_s();
                let slow = report.won().is_none_or(|won| won == 0 || (won as f64) < least);
                slow.then_some(SkipReason::CompactionSlow)
            }
        };
        match reason {
            Some(why) => {
                let (backoff, reason) =
                    self.backoffs.entry(report.node).or_insert((Backoff::default(), why));
                *reason = why;
                backoff.fail(now, COMPACTION_BASE);
            }
            None => drop(self.backoffs.remove(&report.node)),
        }
        reason
    }

    /// Why this node waits, while it does.
    fn backs_off(&self, node: u32, now: Ns) -> Option<SkipReason> {
        let (backoff, reason) = self.backoffs.get(&node)?;
        backoff.active(now).map(|_| *reason)
    }

    /// Of these nodes the one to compact, without those that wait or have little in pieces; `None`
    /// where all do.
    pub fn best(&self, nodes: &[NodeFree], total: Bytes, now: Ns) -> Option<NodeFree> {
        NodeFree::best(nodes.iter().filter(|node| self.can_give(node, total, now)))
    }

    /// Whether blocks can be made of this node now: it has enough in pieces, and does not wait.
    fn can_give(&self, node: &NodeFree, total: Bytes, now: Ns) -> bool {
        let much = node.pieces >= total.percent(LEAST_FREE_PERCENT);
        much && self.backs_off(node.node, now).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn config(cpu_percent: f64) -> Config {
        let mut config = Config::default();
        (config.compact.mode, config.compact.cpu_percent) = (CompactMode::On, cpu_percent);
        config
    }

    /// 100 regions wait, and there is 1 GiB in pieces.
    fn hungry() -> Situation {
        Situation {
            starved: 100,
            reserve: Lack::default(),
            node: Some(NodeFree { node: 3, free_huge: 0, pieces: Bytes::mib(1024) }),
            total: Some(Bytes::mib(16 << 10)),
            geometry: Geometry::X86_64,
            scheduled: false,
            short: false,
            paused: false,
        }
    }

    /// A limiter to which promotions have waited for long enough.
    fn patient(config: &Config) -> Compaction {
        let mut limits = Compaction::new(config, Ns(0));
        let first = limits.step(&hungry(), Ns(0));
        assert_eq!(first.1, Some(first_reason(config)));
        limits
    }

    fn first_reason(config: &Config) -> SkipReason {
        match config.compact.mode {
            CompactMode::Off => SkipReason::CompactionOff,
            CompactMode::On => SkipReason::BlocksMayCome,
        }
    }

    fn report(end: CompactEnd, cpu: Ns, won: u64) -> CompactReport {
        let (free_before, free_after) = (Some(5), Some(5 + won));
        let none = CompactReport::not_begun(&CompactAsk::EXAMPLE, end, None);
        CompactReport { took: cpu, cpu, free_before, free_after, ..none }
    }

    fn starts(answer: (Option<Compact>, Option<SkipReason>)) -> CompactAsk {
        match answer {
            (Some(Compact::Start(ask)), None) => ask,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn it_begins_when_promotions_have_waited_for_blocks() {
        let mut limits = patient(&config(5.0));
        assert_eq!(limits.step(&hungry(), Ns::s(2)), (None, None), "the reason is no new one");
        assert_eq!(limits.held_back(), Some(SkipReason::BlocksMayCome));
        let ask = starts(limits.step(&hungry(), Ns::s(3)));
        assert_eq!((ask.node, ask.blocks), (3, 100));
        assert!((ask.time.as_s() - 0.5).abs() < 1e-9, "ten seconds of 5 %: {ask:?}");
        assert!(limits.is_running() && limits.held_back().is_none());
        // No more than can be made of what is free.
        let little = NodeFree { node: 0, free_huge: 0, pieces: Bytes::mib(400) };
        let situation = Situation { starved: 5_000, node: Some(little), ..hungry() };
        let ask = starts(patient(&config(5.0)).step(&situation, Ns::s(3)));
        assert_eq!(ask.blocks, 200);
    }

    #[test]
    fn a_node_of_which_nothing_comes_holds_up_no_other() {
        let mut limits = patient(&config(5.0));
        let node = |node, mib| NodeFree { node, free_huge: 0, pieces: Bytes::mib(mib) };
        let (nodes, total) = ([node(0, 3000), node(1, 2000), node(2, 9)], Bytes::mib(16 << 10));
        let at = |limits: &mut Compaction, s: u64| {
            let node = limits.best(&nodes, total, Ns::s(s)).or(Some(nodes[0]));
            starts(limits.step(&Situation { node, ..hungry() }, Ns::s(s)))
        };
        let ask = at(&mut limits, 3);
        assert_eq!(ask.node, 0);
        let unmovable = Some(SkipReason::UnmovableMemory);
        let refused = CompactReport::not_begun(&ask, CompactEnd::Refused, unmovable);
        assert_eq!(limits.done(&refused, Ns::s(3)), unmovable);
        let ask = at(&mut limits, 4);
        assert_eq!(ask.node, 1, "the other one is tried at once");
        let refused = CompactReport::not_begun(&ask, CompactEnd::Refused, unmovable);
        limits.done(&refused, Ns::s(4));
        assert_eq!(limits.best(&nodes, total, Ns::s(5)), None);
        let all_wait = Situation { node: Some(nodes[0]), ..hungry() };
        assert_eq!(limits.step(&all_wait, Ns::s(5)), (None, unmovable));
        assert_eq!(at(&mut limits, 14).node, 0);
    }

    #[test]
    fn every_no_has_its_name() {
        let off = Config::default();
        let on = config(5.0);
        let say =
            |config: &Config, situation: Situation| patient(config).step(&situation, Ns::s(9)).1;
        let node = |mib| Some(NodeFree { node: 0, free_huge: 0, pieces: Bytes(mib * MIB) });
        let cases = [
            (hungry(), None),
            (Situation { starved: 0, ..hungry() }, None),
            (Situation { paused: true, ..hungry() }, Some(SkipReason::Paused)),
            (Situation { short: true, ..hungry() }, Some(SkipReason::LowMemory)),
            (Situation { node: None, ..hungry() }, Some(SkipReason::NoMechanism)),
            (Situation { total: None, ..hungry() }, Some(SkipReason::NoMechanism)),
            (Situation { node: node(300), ..hungry() }, Some(SkipReason::LittleFree)),
        ];
        for (situation, reason) in cases {
            assert_eq!(say(&on, situation), reason, "{situation:?}");
        }
        let mut limits = patient(&off);
        assert_eq!(limits.step(&hungry(), Ns::s(9)), (None, None));
        assert_eq!(limits.held_back(), Some(SkipReason::CompactionOff));
    }

    #[test]
    fn a_run_is_stopped_once_and_by_name() {
        let cases = [
            (Situation { short: true, ..hungry() }, SkipReason::LowMemory),
            (Situation { paused: true, ..hungry() }, SkipReason::Paused),
            (Situation { starved: 0, ..hungry() }, SkipReason::NothingWaits),
        ];
        for (situation, reason) in cases {
            let mut limits = patient(&config(5.0));
            starts(limits.step(&hungry(), Ns::s(3)));
            let blocks_come = Situation { starved: 0, scheduled: true, ..hungry() };
            assert_eq!(limits.step(&blocks_come, Ns::s(4)), (None, None));
            assert_eq!(limits.step(&situation, Ns::s(5)), (Some(Compact::Stop(reason)), None));
            assert_eq!(limits.step(&situation, Ns::s(6)), (None, None));
            let stopped = CompactReport {
                reason: Some(reason),
                ..report(CompactEnd::Stopped, Ns::ms(100), 0)
            };
            assert_eq!(limits.done(&stopped, Ns::s(6)), Some(reason));
            assert!(!limits.is_running());
            // That says nothing against the next one.
            starts(limits.step(&hungry(), Ns::s(9)));
        }
    }

    #[test]
    fn what_is_not_worth_its_time_waits_twice_as_long_each_time() {
        let refused = CompactReport {
            reason: Some(SkipReason::UnmovableMemory),
            ..CompactReport::not_begun(&CompactAsk::EXAMPLE, CompactEnd::Refused, None)
        };
        let unknown =
            CompactReport { free_after: None, ..report(CompactEnd::Complete, Ns::ms(9), 9) };
        let cases = [
            (refused, Some(SkipReason::UnmovableMemory)),
            (unknown, Some(SkipReason::CompactionSlow)),
            (report(CompactEnd::TimeOver, Ns::ms(100), 3), Some(SkipReason::CompactionSlow)),
            (report(CompactEnd::Complete, Ns::ms(1), 0), Some(SkipReason::CompactionSlow)),
            (report(CompactEnd::Withheld, Ns(0), 0), Some(SkipReason::WithheldByMode)),
            (report(CompactEnd::Enough, Ns::ms(100), 4), None),
        ];
        for (report, reason) in cases {
            // Of the node that was asked for.
            let report = CompactReport { node: 3, ..report };
            let mut limits = patient(&config(100.0));
            let mut now = Ns::s(3);
            for wait in [10, 20, 40, 60, 60] {
                starts(limits.step(&hungry(), now));
                assert_eq!(limits.done(&report, now), reason);
                now += Ns::s(1);
                assert_eq!(limits.step(&hungry(), now).1, reason);
                if reason.is_none() {
                    break;
                }
                now += Ns::s(wait - 1);
            }
        }
    }

    /// Nobody waits yet.
    #[test]
    fn a_reserve_is_made_when_a_half_of_it_is_gone() {
        let (mut limits, total) = (Compaction::new(&config(5.0), Ns(0)), Bytes::mib(16 << 10));
        let nodes = |first, second| {
            let node = |node, free_huge| NodeFree { node, free_huge, pieces: Bytes::mib(1024) };
            [node(0, first), node(1, second)]
        };
        let lack = |limits: &Compaction, first, second| {
            let lack = limits.lack(&nodes(first, second), total, Geometry::X86_64, Ns::s(1));
            lack.map(|(node, lack)| (node.node, lack.blocks, lack.is_low))
        };
        let mut machine = MachineSample::example();
        machine.vmstat = [("thp_fault_alloc".to_owned(), 7)].into();
        limits.observe(&machine, Ns(0));
        assert_eq!(lack(&limits, 0, 0), None, "nothing was wanted yet");
        machine.vmstat = [("thp_fault_alloc".to_owned(), 107)].into();
        limits.observe(&machine, Ns::s(1));
        assert_eq!(lack(&limits, 50, 50), None);
        assert_eq!(lack(&limits, 50, 40), Some((1, 10, false)));
        assert_eq!(lack(&limits, 20, 30), Some((0, 30, true)));
        let situation =
            |blocks, is_low| Situation { starved: 0, reserve: Lack { blocks, is_low }, ..hungry() };
        assert_eq!(limits.step(&situation(10, false), Ns::s(1)), (None, None));
        assert_eq!(starts(limits.step(&situation(30, true), Ns::s(1))).blocks, 30);
        // Not before it is whole, or nothing is lacking any more.
        assert_eq!(limits.step(&situation(10, false), Ns::s(2)), (None, None));
        let stop = Compact::Stop(SkipReason::NothingWaits);
        assert_eq!(limits.step(&situation(0, false), Ns::s(3)), (Some(stop), None));
        // Two percent of the memory at most.
        machine.vmstat = [("thp_fault_alloc".to_owned(), 9_107)].into();
        limits.observe(&machine, Ns::s(4));
        assert_eq!(limits.reserve(total, Geometry::X86_64), 163);
        limits.configure(&Config::default(), Ns::s(5));
        assert_eq!(limits.reserve(total, Geometry::X86_64), 0, "memory is not compacted");
    }

    #[test]
    fn a_reload_takes_effect() {
        let mut limits = patient(&config(5.0));
        starts(limits.step(&hungry(), Ns::s(3)));
        limits.configure(&Config::default(), Ns::s(4));
        let stop = Compact::Stop(SkipReason::CompactionOff);
        assert_eq!(limits.step(&hungry(), Ns::s(4)), (Some(stop), None));
    }

    proptest! {
        /// Whatever runs take, and however long they overstay.
        #[test]
        fn cpu_time_stays_within_its_share(
            runs in prop::collection::vec((1..2_000_u64, 1..40_u64), 1..60),
            percent in 1..50_u32,
        ) {
            let percent = f64::from(percent);
            let mut limits = patient(&config(percent));
            let (mut now, mut taken, mut over) = (Ns::s(3), 0.0, 0.0_f64);
            for (part, overstay_ms) in runs {
                while limits.step(&hungry(), now).0.is_none() {
                    now += Ns::ms(500);
                }
                let time = limits.cpu.level_at(now);
                let cpu = time * part as f64 / 2_000.0 + overstay_ms as f64 * 1e6;
                over = over.max(overstay_ms as f64 * 1e6);
                taken += cpu;
                now += Ns::ms(700);
                let cpu = Ns::from_s(cpu / 1e9);
                limits.done(&report(CompactEnd::Enough, cpu, 100_000), now);
                let allowed = percent * 1e7 * (now.as_s() + BURST_S) + over;
                prop_assert!(taken <= allowed + 1.0, "{taken} of {allowed}");
            }
        }
    }
}
