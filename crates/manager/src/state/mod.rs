//! What the manager remembers between ticks.
//!
//! Fed by [`State::list`] (processes), [`State::scanned`] and [`State::inspected`] (regions) and
//! [`State::applied`] (outcomes); read by the policy and by the views. Contains no clock: times
//! are handed in.

pub mod bloat;
mod cgroups;
pub mod heat;
pub mod lately;
pub mod looks;
pub mod made;
pub mod rate;
mod region;
pub mod regions;
mod shared;
mod slots;
mod target;
mod totals;
pub mod unwritten;

pub use region::{Before, Inspected, Maker, Region};
pub use target::Target;
pub use totals::{Compactions, Totals};

use crate::access::AccessReport;
use crate::compaction::CompactReport;
use crate::config::Config;
use crate::decision::{Action, Decision, FailureClass, Outcome, Queues};
use crate::limits::backoff::Backoffs;
use crate::limits::budgets::{self, Budgets};
use crate::limits::compaction::Compaction;
use crate::limits::fault_size::FaultSize;
use crate::limits::huge_faults::HugeFaultControl;
use crate::limits::making::{Making, Memory};
use crate::limits::pressure::Pressure;
use crate::limits::shrinking::Shrinking;
use crate::limits::thresholds::Thresholds;
use crate::limits::warm::WarmControl;
use crate::reason::SkipReason;
use crate::select::{self, Selected};
use crate::snapshot::{
    CgroupSample, InspectReport, MachineSample, ProcessSample, ScanEnd, ScanReport,
};
use hugewise_base::units::{Addr, Geometry, Ns, ProcId};
use lately::Lately;
use rate::Rate;
use shared::Objects;
use std::collections::{BTreeMap, BTreeSet};
use target::Context;

/// A cgroup with less usage than this share of its limit did not hit it within
/// [`CGROUPS_INTERVAL`].
const NEAR_LIMIT_PERCENT: f64 = 75.0;
/// Most regions below every threshold that are remembered, over all targets: about 9 MiB.
const SPARSE_REGIONS: usize = 32_768;
/// So many targets or fewer share [`SPARSE_REGIONS`] as if they were so many.
const FEW_TARGETS: usize = 8;

/// A listed process that is not managed.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftAlone {
    /// The process.
    pub sample: ProcessSample,
    /// Why.
    pub reason: SkipReason,
}

/// The machine, as it was last observed.
#[derive(Debug, Clone)]
pub(super) struct MachineState {
    pub(super) geometry: Geometry,
    pub(super) sample: Option<MachineSample>,
    /// Inspections show no page frames: this observer may not see them.
    pub(super) frames_hidden: bool,
    /// See [`State::obtainable`].
    obtainable: Option<u64>,
    /// Blocks that promotions took since the machine was last seen.
    taken: u64,
}

impl MachineState {
    const fn unseen(geometry: Geometry) -> Self {
        Self { geometry, sample: None, frames_hidden: false, obtainable: None, taken: 0 }
    }
}

/// Programs: those that are managed, and what is known of others.
#[derive(Debug, Clone, Default)]
pub(super) struct Programs {
    pub(super) targets: BTreeMap<ProcId, Target>,
    /// Processes with enough memory that were left alone, the largest first.
    pub(super) left_alone: Vec<LeftAlone>,
    /// Processes have been listed at least once.
    listed: bool,
    /// When processes are listed next.
    pub(super) next_list: Ns,
    /// What an earlier manager made huge in processes that were not seen yet.
    earlier: BTreeMap<ProcId, BTreeMap<Addr, u16>>,
    /// Processes in which nothing could be promoted because it is shared, while they live: they
    /// come last where there are more programs than places.
    shared: BTreeSet<ProcId>,
    /// When programs of each user were looked at last, whether or not it came to anything and the
    /// program still lives: who ends and starts programs gets no more turns.
    looked_at: BTreeMap<Option<u32>, Ns>,
    /// Through which program shared memory is made huge.
    objects: Objects,
}

/// Memory of the targets' cgroups.
#[derive(Debug, Clone)]
pub(super) struct Cgroups {
    /// Of those that have a limit.
    pub(super) memory: BTreeMap<String, CgroupSample>,
    /// From this usage on a cgroup's memory is short, percent of its limit.
    mark_percent: f64,
    /// Whose usage was asked for last, and when.
    asked: (BTreeSet<String>, Ns),
}

/// What no policy can exceed.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) thresholds: Thresholds,
    /// `hugewise manage pause` is in force.
    pub(super) paused: bool,
    pub(super) budgets: Budgets,
    pub(super) backoffs: Backoffs,
    pub(super) warm: WarmControl,
    pub(super) pressure: Pressure,
    /// When memory may be compacted.
    pub(super) compaction: Compaction,
    /// The size of folio that faults hand out.
    pub(super) fault_size: FaultSize,
    /// Whether faults hand out huge pages.
    pub(super) huge_faults: HugeFaultControl,
}

/// What was done so far, for whom, and what it cost.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    /// Who had how much of what all share.
    pub(super) lately: Lately,
    pub(super) totals: Totals,
    /// How fast regions become huge.
    pub(super) rate: Rate,
    /// Own CPU time in all, as last observed.
    pub(super) own_cpu: Option<Ns>,
    /// CPU time of warming ahead.
    pub(super) warm_cpu: Option<Ns>,
    /// Blocks warmed ahead for nothing, which are among the warm-ups.
    warm_unused: u64,
    /// Own CPU time since then that was charged already.
    accounted: Ns,
}

/// Everything the manager remembers.
#[derive(Debug, Clone)]
pub struct State {
    pub(super) machine: MachineState,
    pub(super) programs: Programs,
    pub(super) cgroups: Cgroups,
    pub(super) limits: Limits,
    pub(super) account: Account,
}

/// A user whose programs have not been looked at for so long has the first turn anyway.
const TURN_FORGOTTEN: Ns = Ns::s(600);

impl State {
    /// An empty state at `now`.
    pub fn new(config: &Config, geometry: Geometry, now: Ns) -> Self {
        Self {
            machine: MachineState::unseen(geometry),
            programs: Programs { next_list: now, ..Programs::default() },
            cgroups: Cgroups {
                memory: BTreeMap::new(),
                mark_percent: 100.0,
                asked: (BTreeSet::new(), Ns(0)),
            },
            limits: Limits {
                thresholds: Thresholds::new(&config.promote, geometry),
                paused: false,
                budgets: Budgets::new(config, geometry, now),
                backoffs: Backoffs::default(),
                warm: WarmControl::default(),
                pressure: Pressure::default(),
                compaction: Compaction::new(config, now),
                fault_size: FaultSize::default(),
                huge_faults: HugeFaultControl::default(),
            },
            account: Account::default(),
        }
    }

    /// Takes over limits from a reloaded configuration; levels and debts stay.
    pub fn configure(&mut self, config: &Config, now: Ns) {
        self.limits.budgets.configure(config, self.machine.geometry, now);
        self.limits.compaction.configure(config, now);
        self.limits.thresholds = Thresholds::new(&config.promote, self.machine.geometry);
        for target in self.programs.targets.values_mut() {
            let geometry = self.machine.geometry;
            budgets::configure_lock(&mut target.lock, config, geometry, now);
            budgets::configure_lock(&mut target.split_lock, config, geometry, now);
            let hints = select::hints(config, &target.sample);
            target.hinted(&hints, self.machine.geometry, now);
        }
        self.programs.next_list = now;
    }

    /// Managed processes.
    pub fn targets(&self) -> &BTreeMap<ProcId, Target> {
        &self.programs.targets
    }

    /// Forgets all targets but these.
    pub fn keep_only(&mut self, ids: &[ProcId]) {
        self.programs.targets.retain(|id, _| ids.contains(id));
    }

    /// Processes with enough memory that were left alone, the largest first.
    pub fn left_alone(&self) -> &[LeftAlone] {
        &self.programs.left_alone
    }

    /// Where memory is short.
    pub const fn pressure(&self) -> &Pressure {
        &self.limits.pressure
    }

    /// Sums since the manager started.
    pub fn totals(&self) -> &Totals {
        &self.account.totals
    }

    /// The size of folio that faults hand out.
    pub const fn fault_size(&self) -> &FaultSize {
        &self.limits.fault_size
    }

    /// Whether faults hand out huge pages.
    pub const fn huge_faults(&self) -> &HugeFaultControl {
        &self.limits.huge_faults
    }

    /// Page sizes.
    pub fn geometry(&self) -> Geometry {
        self.machine.geometry
    }

    /// How fast regions become huge, all targets together.
    pub fn rate(&self) -> Rate {
        self.account.rate
    }

    /// Waste of all managed processes.
    pub fn bloat(&self) -> bloat::Account {
        let mut total = bloat::Account::default();
        for target in self.programs.targets.values() {
            total += target.bloat(self.machine.geometry);
        }
        total
    }

    /// Takes a machine sample: geometry and the memory watermark.
    pub fn machine(&mut self, config: &Config, machine: MachineSample, now: Ns) {
        let had = self.machine.sample.as_ref().is_some_and(MachineSample::has_multi_size_folios);
        if had && !machine.has_multi_size_folios() {
            // No folio is left that could hold a page which nobody wrote.
            for target in self.programs.targets.values_mut() {
                target.forget_unwritten();
            }
        }
        self.machine.geometry = machine.geometry;
        self.limits.thresholds = Thresholds::new(&config.promote, self.machine.geometry);
        self.limits.pressure.machine(&config.watermark, &machine, now);
        self.limits.compaction.observe(&machine, now);
        let memory = Memory::from(&machine);
        self.machine.obtainable = Making::of(config).obtainable(&memory, machine.geometry);
        self.machine.sample = Some(machine);
        self.machine.taken = 0;
    }

    /// Huge pages that could be had when the machine was last seen: free blocks, and those that the
    /// kernel may make; `None`: unknown.
    pub const fn obtainable(&self) -> Option<u64> {
        self.machine.obtainable
    }

    /// Whether no block was free, and one can be made: that takes milliseconds, which are not to be
    /// a part of the call.
    pub fn makes_blocks(&self) -> bool {
        let free = self.machine.sample.as_ref().and_then(|machine| machine.free_huge);
        free <= Some(self.machine.taken) && free.is_some() && self.free_blocks() > Some(0)
    }

    /// ... without those that promotions took since.
    pub fn free_blocks(&self) -> Option<u64> {
        Some(self.machine.obtainable?.saturating_sub(self.machine.taken))
    }

    /// Takes what became of a run of compaction. Where it made blocks nobody waits any longer for
    /// having found none. Returns why it ended early, or why the next one waits.
    pub fn compacted(&mut self, report: &CompactReport, now: Ns) -> Option<SkipReason> {
        let reason = self.limits.compaction.done(report, now);
        self.account.totals.compaction.add(report, reason);
        if report.won() > Some(0) {
            self.limits.backoffs.blocks_were_made();
        }
        reason
    }

    /// Charges own CPU time that no single outcome or scan accounted for: it has a budget of its
    /// own, for whoever makes listing or planning expensive must not silence promotions or splits.
    pub fn own_cpu(&mut self, own_cpu: Option<Ns>, warm_cpu: Option<Ns>, now: Ns) {
        self.account.warm_cpu = warm_cpu;
        let Some(total) = own_cpu else { return };
        let before = self.account.own_cpu.replace(total).unwrap_or(total);
        let rest = total.since(before).since(self.account.accounted);
        self.limits.budgets.overhead.take(rest.0 as f64, now);
        self.account.accounted = Ns(0);
    }

    /// Blocks that were warmed for nothing, in all: warm-ups like the others.
    pub fn warm_unused(&mut self, unused: u64) {
        self.account.totals.warm_ups += unused.saturating_sub(self.account.warm_unused);
        self.account.warm_unused = self.account.warm_unused.max(unused);
    }

    /// Takes a process list: keeps targets up to date, forgets those that ended, remembers why
    /// others were left alone.
    pub fn list(&mut self, config: &Config, processes: Vec<Selected>, now: Ns) {
        let mut chosen = Vec::new();
        self.programs.left_alone.clear();
        let is_first = !std::mem::replace(&mut self.programs.listed, true);
        for Selected { sample, share } in processes {
            match share {
                Ok(share) => chosen.push((share, sample)),
                // Hysteresis: who is known and shrinks a little stays, with what is known of it.
                Err(SkipReason::TooSmall)
                    if sample.largest().0 >= config.select.min_anon_bytes.0 / 2
                        && self.programs.targets.contains_key(&sample.id) =>
                {
                    let share = self.programs.targets.get(&sample.id).map_or(1.0, |t| t.share);
                    chosen.push((share, sample));
                }
                Err(reason) => self.leave_alone(config, sample, reason),
            }
        }
        let (chosen, without_slot) = self.deal_slots(config, chosen);
        for sample in without_slot {
            self.leave_alone(config, sample, SkipReason::NoSlot);
        }
        self.programs.left_alone.sort_by_key(|l| std::cmp::Reverse((l.sample.anon, l.sample.id)));
        self.programs.left_alone.truncate(32);
        let mut old = std::mem::take(&mut self.programs.targets);
        for (share, sample) in chosen {
            let target = match old.remove(&sample.id) {
                Some(known) => known.listed(config, share, sample, now),
                None => {
                    let earlier = self.programs.earlier.remove(&sample.id).unwrap_or_default();
                    let watch = Ns::ms(config.promote.watch_ms);
                    let shrinking = match is_first {
                        true => Shrinking::unknown(watch, now),
                        false => Shrinking::default(),
                    };
                    let new = Target::new(config, self.machine.geometry, sample, share, now);
                    Target { earlier, shrinking, ..new }
                }
            };
            self.programs.targets.insert(target.sample.id, target);
        }
        let targets = &self.programs.targets;
        self.programs.objects.retain(|id| targets.contains_key(id));
        self.limits.backoffs.forget_ended(now);
        self.account.lately.forget(&self.programs.targets, now);
    }

    fn leave_alone(&mut self, config: &Config, sample: ProcessSample, reason: SkipReason) {
        if sample.largest() >= config.select.min_anon_bytes && reason != SkipReason::NotSelected {
            self.programs.left_alone.push(LeftAlone { sample, reason });
        }
    }

    fn context(&self, now: Ns) -> Context {
        let sparse_most = SPARSE_REGIONS / self.programs.targets.len().max(FEW_TARGETS);
        Context {
            geometry: self.machine.geometry,
            thresholds: self.limits.thresholds,
            now,
            sparse_most,
        }
    }

    /// Takes a scan report.
    pub fn scanned(&mut self, report: &ScanReport, now: Ns) {
        if let Some(target) = self.programs.targets.get(&report.target) {
            self.account.lately.scanned(&target.owner(), report.cost, now);
        }
        let context = self.context(now);
        self.limits.budgets.take_scan(report.cost, now);
        self.account.accounted += report.cost;
        if matches!(
            report.end,
            ScanEnd::Refused(SkipReason::Gone | SkipReason::AddressSpaceChanged)
        ) {
            self.forget(report.target, now);
            return;
        }
        if let Some(target) = self.programs.targets.get_mut(&report.target) {
            let elsewhere = self.programs.objects.claim(report, target.pass_of(report));
            let filled = target.totals.filled;
            target.scanned(report, &elsewhere, context);
            self.account.totals.filled += target.totals.filled - filled;
        }
    }

    /// Takes an inspection.
    pub fn inspected(&mut self, report: &InspectReport, now: Ns) {
        let context = self.context(now);
        self.limits.budgets.take_inspection(report.cost, now);
        self.account.accounted += report.cost;
        if matches!(report.refused, Some(SkipReason::Gone | SkipReason::AddressSpaceChanged)) {
            self.forget(report.target, now);
        } else if let Some(target) = self.programs.targets.get_mut(&report.target) {
            self.account.lately.inspected(&target.owner(), report.cost, now);
            self.machine.frames_hidden |= target.inspected(report, context);
        }
    }

    /// Takes one half of a look at how memory is used.
    pub fn accessed(&mut self, config: &Config, report: &AccessReport, now: Ns) {
        self.limits.budgets.take_tracking(report.cost, now);
        self.account.accounted += report.cost;
        if let Some(target) = self.programs.targets.get(&report.target) {
            self.programs.looked_at.insert(target.sample.account(), now);
            self.programs.looked_at.retain(|_, at| now.since(*at) < TURN_FORGOTTEN);
        }
        let geometry = self.machine.geometry;
        if matches!(report.refused, Some(SkipReason::Gone | SkipReason::AddressSpaceChanged)) {
            self.forget(report.target, now);
        } else if let Some(target) = self.programs.targets.get_mut(&report.target) {
            target.accessed(report, Ns::ms(config.track.interval_ms), geometry, now);
        }
    }

    /// When programs of a user were looked at last; `None`: not lately.
    pub(super) fn looked_at(&self, uid: Option<u32>) -> Option<Ns> {
        self.programs.looked_at.get(&uid).copied()
    }

    /// Finds out anew what hints say of those programs that were just seen as a whole.
    pub(super) fn take_hints(&mut self, config: &Config, seen: &[ScanReport], now: Ns) {
        if config.hints.is_empty() {
            return;
        }
        for report in seen.iter().filter(|report| report.end == ScanEnd::Complete) {
            let Some(target) = self.programs.targets.get_mut(&report.target) else { continue };
            let hints = select::hints(config, &target.sample);
            target.hinted(&hints, self.machine.geometry, now);
        }
    }

    /// Whether a failure is so fresh that waiting for the next attempt is worth it.
    pub fn retries_soon(&self, now: Ns) -> bool {
        let mut regions = self.programs.targets.values().flat_map(|target| target.regions.values());
        self.limits.backoffs.is_fresh(now)
            || regions.any(|region| !region.huge && region.waits.retries_soon(now))
    }

    /// Targets whose memory has not been seen as a whole yet.
    pub(super) fn unknown(&self) -> usize {
        self.programs.targets.values().filter(|target| target.pass_done.is_none()).count()
    }

    /// Whether processes have been listed at least once.
    pub fn listed(&self) -> bool {
        self.programs.listed
    }

    /// Drops a target whose process ended or became another program; the next list decides anew.
    fn forget(&mut self, id: ProcId, now: Ns) {
        if self.programs.targets.remove(&id).is_some() {
            self.programs.next_list = self.programs.next_list.min(now + Ns::s(1));
        }
    }

    /// Takes the outcome of a decision.
    pub fn applied(&mut self, decision: &Decision, outcome: &Outcome, now: Ns) {
        self.account.totals.add(outcome);
        self.limits.budgets.cpu.take(outcome.cpu().0 as f64, now);
        self.account.accounted += outcome.cpu();
        if let Some(owner) = self.programs.targets.get(&decision.target).map(Target::owner) {
            let short = self.limits.pressure.on_machine().is_some();
            self.account.lately.acted(&owner, decision, outcome, short, now);
        }
        if let Outcome::Promoted { populated, .. } = outcome {
            self.charge_cgroup(decision.target, *populated);
        }
        // A slow split says nothing of the memory that a promotion gets.
        if decision.action == Action::Promote {
            // Its CPU time, which a host's fault takes as well, but waiting for the lock does not.
            let call = outcome.locking().map(|call| call.took.min(outcome.cpu()));
            self.limits.warm.learn(outcome.warm(), call, self.machine.geometry);
        }
        let target = self.programs.targets.get(&decision.target);
        let cgroup = target.map(|target| target.sample.cgroup_key());
        let outcome = &self.blamed(*outcome, cgroup.as_deref());
        match outcome {
            Outcome::Promoted { .. } => {
                self.limits.budgets.bytes.take(self.machine.geometry.huge.0 as f64, now);
                self.limits.backoffs.succeed(cgroup.as_deref());
                self.account.rate.add(now);
                self.machine.taken += 1;
            }
            Outcome::Demoted { .. } | Outcome::Withheld { .. } => {
                self.limits.budgets.bytes.take(self.machine.geometry.huge.0 as f64, now);
            }
            Outcome::Skipped { reason: SkipReason::NoFreeHugePage, .. } => {
                self.limits.backoffs.finds_no_block(now);
            }
            Outcome::Skipped {
                reason: SkipReason::Gone | SkipReason::AddressSpaceChanged, ..
            } => self.forget(decision.target, now),
            Outcome::Failed { class, .. } => {
                self.limits.backoffs.fail(*class, cgroup.as_deref(), now);
            }
            Outcome::Skipped { .. } => {}
        }
        let finds_none =
            matches!(outcome, Outcome::Skipped { reason: SkipReason::NoFreeHugePage, .. })
                || matches!(outcome, Outcome::Failed { class: FailureClass::Allocation, .. });
        let no_block = finds_none && self.free_blocks() == Some(0);
        let context = self.context(now);
        if let Some(target) = self.programs.targets.get_mut(&decision.target) {
            let before = target.suspension.fruitless();
            target.applied(decision, outcome, context);
            if decision.action == Action::Promote {
                // It had its turn, whatever came of it, unless there was nothing left for anybody.
                target.waits_since = target.waits_since.filter(|_| no_block).or(Some(now));
            }
            if target.suspension.fruitless() > before {
                self.account.lately.fruitless.charge(&target.owner(), 1.0, now);
            }
            if target.suspension.active(now) == Some(SkipReason::SharedPages) {
                self.programs.shared.insert(decision.target);
            } else if matches!(outcome, Outcome::Promoted { .. }) {
                self.programs.shared.remove(&decision.target);
            }
        }
    }

    /// Notes whose promotions wait for their turn. Called while nothing keeps all of them waiting:
    /// that ends nobody's wait.
    pub(super) fn note_waiting(&mut self, queues: &Queues, now: Ns) {
        for (id, target) in &mut self.programs.targets {
            let mut queue = queues.get(id).into_iter().flatten();
            let waits = queue.any(|decision| decision.action == Action::Promote);
            target.waits_since = waits.then(|| target.waits_since.unwrap_or(now));
        }
    }

    /// The outcome with whom it really is to be laid to: without a limit that is near, EBUSY has a
    /// cause that lies in the region, a hole under userfaultfd, which any program can arrange.
    fn blamed(&self, outcome: Outcome, cgroup: Option<&str>) -> Outcome {
        match outcome {
            Outcome::Failed { class: FailureClass::Cgroup, errno, warm, call, cpu, .. }
                if !cgroup.is_some_and(|cgroup| self.is_near_limit(cgroup)) =>
            {
                let class = FailureClass::Transient;
                Outcome::Failed { class, reason: class.reason(), errno, warm, call, cpu }
            }
            other => other,
        }
    }

    /// Whether a cgroup's usage was near its limit when it was last read, at most
    /// [`CGROUPS_INTERVAL`] ago. Not read yet: it may be.
    fn is_near_limit(&self, cgroup: &str) -> bool {
        match self.cgroups.memory.get(cgroup) {
            Some(sample) => sample.usage >= sample.limit.percent(NEAR_LIMIT_PERCENT),
            None => !self.cgroups.asked.0.contains(cgroup),
        }
    }
}
