//! What the manager remembers between ticks.
//!
//! Fed by [`State::list`] (processes), [`State::scanned`] and [`State::inspected`] (regions) and
//! [`State::applied`] (outcomes); read by the policy and by the views. Contains no clock: times
//! are handed in.

pub mod bloat;
pub mod heat;
pub mod lately;
pub mod looks;
pub mod made;
pub mod rate;
mod region;
pub mod regions;
mod slots;
mod target;
mod totals;

pub use region::{Before, Inspected, Maker, Region};
pub use target::Target;
pub use totals::{Compactions, Totals};

use crate::access::AccessReport;
use crate::compaction::CompactReport;
use crate::config::Config;
use crate::decision::{Action, Decision, FailureClass, Motive, Outcome, Queues};
use crate::limits;
use crate::limits::backoff::Backoffs;
use crate::limits::budgets::{self, Budgets};
use crate::limits::compaction::Compaction;
use crate::limits::pressure::Pressure;
use crate::limits::thresholds::Thresholds;
use crate::limits::warm::WarmControl;
use crate::reason::SkipReason;
use crate::select::{self, Selected};
use crate::snapshot::{
    CgroupSample, InspectReport, MachineSample, ProcessSample, ScanEnd, ScanReport, ThpMode,
};
use bloat::Account;
use hugewise_base::units::{Addr, Geometry, Ns, ProcId};
use lately::Lately;
use rate::Rate;
use std::collections::{BTreeMap, BTreeSet};
use target::Context;

/// The memory of cgroups is read this often: a few files each, about 10 us a file.
const CGROUPS_INTERVAL: Ns = Ns::s(2);
/// So many or fewer are read with each tick, so that promotions stop within a second when one of
/// them is full.
const CGROUPS_FEW: usize = 50;
/// Less than a tick: none is left out because it came a moment early.
const CGROUPS_SOON: Ns = Ns::ms(900);

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

/// Everything the manager remembers.
#[derive(Debug, Clone)]
pub struct State {
    pub(super) geometry: Geometry,
    pub(super) machine: Option<MachineSample>,
    pub(super) targets: BTreeMap<ProcId, Target>,
    /// Processes with enough memory that were left alone, the largest first.
    pub(super) left_alone: Vec<LeftAlone>,
    /// Processes have been listed at least once.
    listed: bool,
    pub(super) budgets: Budgets,
    pub(super) backoffs: Backoffs,
    /// Who had how much of what all share.
    pub(super) lately: Lately,
    pub(super) warm: WarmControl,
    pub(super) pressure: Pressure,
    /// When memory may be compacted.
    pub(super) compaction: Compaction,
    /// Memory of the targets' cgroups, where it has a limit.
    pub(super) cgroup_memory: BTreeMap<String, CgroupSample>,
    /// From this usage on a cgroup's memory is short, percent of its limit.
    cgroup_mark_percent: f64,
    /// Blocks that promotions took since the machine was last seen.
    taken: u64,
    /// Inspections show no page frames: this observer may not see them.
    pub(super) frames_hidden: bool,
    pub(super) thresholds: Thresholds,
    /// `hugewise manage pause` is in force.
    pub(super) paused: bool,
    pub(super) totals: Totals,
    /// How fast regions become huge.
    pub(super) rate: Rate,
    /// When processes are listed next.
    pub(super) next_list: Ns,
    /// Own CPU time in all, as last observed.
    pub(super) own_cpu: Option<Ns>,
    /// CPU time of warming ahead.
    pub(super) warm_cpu: Option<Ns>,
    /// Blocks warmed ahead for nothing, which are among the warm-ups.
    warm_unused: u64,
    /// Own CPU time since then that was charged already.
    accounted: Ns,
    /// Whose usage was asked for last, and when.
    cgroups_asked: (BTreeSet<String>, Ns),
    /// What an earlier manager made huge in processes that were not seen yet.
    earlier: BTreeMap<ProcId, BTreeMap<Addr, u16>>,
    /// Processes in which nothing could be promoted because it is shared, while they live: they
    /// come last where there are more programs than places.
    shared: BTreeSet<ProcId>,
    /// When programs of each user were looked at last, whether or not it came to anything and the
    /// program still lives: who ends and starts programs gets no more turns.
    looked_at: BTreeMap<Option<u32>, Ns>,
}

/// A user whose programs have not been looked at for so long has the first turn anyway.
const TURN_FORGOTTEN: Ns = Ns::s(600);

impl State {
    /// An empty state at `now`.
    #[must_use]
    pub fn new(config: &Config, geometry: Geometry, now: Ns) -> Self {
        Self {
            geometry,
            machine: None,
            targets: BTreeMap::new(),
            left_alone: Vec::new(),
            listed: false,
            budgets: Budgets::new(config, geometry, now),
            backoffs: Backoffs::default(),
            lately: Lately::default(),
            warm: WarmControl::default(),
            pressure: Pressure::default(),
            compaction: Compaction::new(config, now),
            taken: 0,
            cgroup_memory: BTreeMap::new(),
            cgroup_mark_percent: 100.0,
            frames_hidden: false,
            thresholds: Thresholds::new(&config.promote, geometry),
            paused: false,
            totals: Totals::default(),
            rate: Rate::default(),
            next_list: now,
            own_cpu: None,
            warm_cpu: None,
            warm_unused: 0,
            accounted: Ns(0),
            cgroups_asked: (BTreeSet::new(), Ns(0)),
            earlier: BTreeMap::new(),
            shared: BTreeSet::new(),
            looked_at: BTreeMap::new(),
        }
    }

    /// Takes over limits from a reloaded configuration; levels and debts stay.
    pub fn configure(&mut self, config: &Config, now: Ns) {
        self.budgets.configure(config, self.geometry, now);
        self.compaction.configure(config, now);
        self.thresholds = Thresholds::new(&config.promote, self.geometry);
        for target in self.targets.values_mut() {
            budgets::configure_lock(&mut target.lock, config, now);
            budgets::configure_lock(&mut target.split_lock, config, now);
            let hints = select::hints(config, &target.sample);
            target.hinted(&hints, self.geometry, now);
        }
        self.next_list = now;
    }

    /// Managed processes.
    #[must_use]
    pub fn targets(&self) -> &BTreeMap<ProcId, Target> {
        &self.targets
    }

    /// Forgets all targets but these.
    pub fn keep_only(&mut self, ids: &[ProcId]) {
        self.targets.retain(|id, _| ids.contains(id));
    }

    /// Processes with enough memory that were left alone, the largest first.
    #[must_use]
    pub fn left_alone(&self) -> &[LeftAlone] {
        &self.left_alone
    }

    /// Where memory is short.
    #[must_use]
    pub const fn pressure(&self) -> &Pressure {
        &self.pressure
    }

    /// Sums since the manager started.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Page sizes.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// How fast regions become huge, all targets together.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Waste of all managed processes.
    #[must_use]
    pub fn bloat(&self) -> Account {
        let mut total = Account::default();
        for target in self.targets.values() {
            total += target.bloat(self.geometry);
        }
        total
    }

    /// Takes a machine sample: geometry and the memory watermark.
    pub fn machine(&mut self, config: &Config, machine: MachineSample, now: Ns) {
        self.geometry = machine.geometry;
        self.thresholds = Thresholds::new(&config.promote, self.geometry);
        self.pressure.machine(&config.watermark, &machine, now);
        self.machine = Some(machine);
        self.taken = 0;
    }

    /// Free blocks of huge-page size: as last seen, without those that promotions took since;
    /// `None`: unknown.
    #[must_use]
    pub fn free_blocks(&self) -> Option<u64> {
        Some(self.machine.as_ref()?.free_huge?.saturating_sub(self.taken))
    }

    /// Takes what became of a run of compaction. Where it made blocks nobody waits any longer for
    /// having found none. Returns why it ended early, or why the next one waits.
    pub fn compacted(&mut self, report: &CompactReport, now: Ns) -> Option<SkipReason> {
        let reason = self.compaction.done(report, now);
        self.totals.compaction.add(report, reason);
        if report.won() > Some(0) {
            self.backoffs.blocks_were_made();
        }
        reason
    }

    /// cgroups whose memory usage is wanted now: all, with each tick or every [`CGROUPS_INTERVAL`],
    /// and at once when one is new.
    #[must_use]
    pub fn cgroups_wanted(&self, now: Ns) -> Vec<String> {
        let known = self.targets.values().filter_map(|target| target.sample.cgroup.clone());
        let known: BTreeSet<_> = known.collect();
        let interval = if known.len() > CGROUPS_FEW { CGROUPS_INTERVAL } else { CGROUPS_SOON };
        let due =
            now.since(self.cgroups_asked.1) >= interval || !known.is_subset(&self.cgroups_asked.0);
        if due { known.into_iter().collect() } else { Vec::new() }
    }

    /// Takes the memory of the targets' cgroups.
    pub fn cgroup_memory(
        &mut self,
        config: &Config,
        usage: BTreeMap<String, CgroupSample>,
        now: Ns,
    ) {
        let known = self.targets.values().filter_map(|target| target.sample.cgroup.clone());
        self.cgroups_asked = (known.collect(), now);
        self.pressure.cgroups(&config.watermark, &usage, now);
        self.cgroup_memory = usage;
        self.cgroup_mark_percent = config.watermark.cgroup_usage_high_percent;
    }

    /// Adds what a promotion filled up to its cgroup at once: between two readings there may be
    /// many, and the cgroup must not come to its limit by them.
    fn charge_cgroup(&mut self, id: ProcId, populated: u16) {
        let target = self.targets.get(&id);
        let Some(cgroup) = target.and_then(|target| target.sample.cgroup.as_ref()) else { return };
        let Some(memory) = self.cgroup_memory.get_mut(cgroup) else { return };
        let added = self.geometry.pages_per_huge().saturating_sub(populated.into());
        memory.usage += self.geometry.bytes(added.into());
        self.pressure.risen(cgroup, memory, self.cgroup_mark_percent);
    }

    /// Charges own CPU time that no single outcome or scan accounted for: it has a budget of its
    /// own, for whoever makes listing or planning expensive must not silence promotions or splits.
    pub fn own_cpu(&mut self, own_cpu: Option<Ns>, warm_cpu: Option<Ns>, now: Ns) {
        self.warm_cpu = warm_cpu;
        let Some(total) = own_cpu else { return };
        let before = self.own_cpu.replace(total).unwrap_or(total);
        let rest = total.since(before).since(self.accounted);
        self.budgets.overhead.take(rest.0 as f64, now);
        self.accounted = Ns(0);
    }

    /// Blocks that were warmed for nothing, in all: warm-ups like the others.
    pub fn warm_unused(&mut self, unused: u64) {
        self.totals.warm_ups += unused.saturating_sub(self.warm_unused);
        self.warm_unused = self.warm_unused.max(unused);
    }

    /// Takes a process list: keeps targets up to date, forgets those that ended, remembers why
    /// others were left alone.
    pub fn list(&mut self, config: &Config, processes: Vec<Selected>, now: Ns) {
        let mut chosen = Vec::new();
        self.left_alone.clear();
        self.listed = true;
        for Selected { sample, share } in processes {
            match share {
                Ok(share) => chosen.push((share, sample)),
                // Hysteresis: who is known and shrinks a little stays, with what is known of it.
                Err(SkipReason::TooSmall)
                    if sample.anon.0 >= config.select.min_anon_bytes.0 / 2
                        && self.targets.contains_key(&sample.id) =>
                {
                    let share = self.targets.get(&sample.id).map_or(1.0, |t| t.share);
                    chosen.push((share, sample));
                }
                Err(reason) => self.leave_alone(config, sample, reason),
            }
        }
        let (chosen, without_slot) = self.deal_slots(config, chosen);
        for sample in without_slot {
            self.leave_alone(config, sample, SkipReason::NoSlot);
        }
        self.left_alone.sort_by_key(|l| std::cmp::Reverse((l.sample.anon, l.sample.id)));
        self.left_alone.truncate(32);
        let mut old = std::mem::take(&mut self.targets);
        for (share, sample) in chosen {
            let target = match old.remove(&sample.id) {
                Some(known) => known.listed(share, sample, now),
                None => {
                    let earlier = self.earlier.remove(&sample.id).unwrap_or_default();
                    Target { earlier, ..Target::new(config, sample, share, now) }
                }
            };
            self.targets.insert(target.sample.id, target);
        }
        self.backoffs.forget_ended(now);
        self.lately.forget(&self.targets, now);
    }

    fn leave_alone(&mut self, config: &Config, sample: ProcessSample, reason: SkipReason) {
        if sample.anon >= config.select.min_anon_bytes && reason != SkipReason::NotSelected {
            self.left_alone.push(LeftAlone { sample, reason });
        }
    }

    fn context(&self, now: Ns) -> Context {
        let sparse_most = SPARSE_REGIONS / self.targets.len().max(FEW_TARGETS);
        Context { geometry: self.geometry, thresholds: self.thresholds, now, sparse_most }
    }

    /// Takes a scan report.
    pub fn scanned(&mut self, report: &ScanReport, now: Ns) {
        if let Some(target) = self.targets.get(&report.target) {
            self.lately.scans.charge(&target.owner(), report.cost.0 as f64, now);
        }
        let context = self.context(now);
        self.budgets.take_scan(report.cost, now);
        self.accounted += report.cost;
        if matches!(
            report.end,
            ScanEnd::Refused(SkipReason::Gone | SkipReason::AddressSpaceChanged)
        ) {
            self.forget(report.target, now);
        } else if let Some(target) = self.targets.get_mut(&report.target) {
            let filled = target.totals.filled;
            target.scanned(report, context);
            self.totals.filled += target.totals.filled - filled;
        }
    }

    /// Takes an inspection.
    pub fn inspected(&mut self, report: &InspectReport, now: Ns) {
        let context = self.context(now);
        self.budgets.take_inspection(report.cost, now);
        self.accounted += report.cost;
        if matches!(report.refused, Some(SkipReason::Gone | SkipReason::AddressSpaceChanged)) {
            self.forget(report.target, now);
        } else if let Some(target) = self.targets.get_mut(&report.target) {
            self.lately.inspections.charge(&target.owner(), report.cost.0 as f64, now);
            self.frames_hidden |= target.inspected(report, context);
        }
    }

    /// Takes one half of a look at how memory is used.
    pub fn accessed(&mut self, config: &Config, report: &AccessReport, now: Ns) {
        self.budgets.take_tracking(report.cost, now);
        self.accounted += report.cost;
        if let Some(target) = self.targets.get(&report.target) {
            self.looked_at.insert(target.sample.uid, now);
            self.looked_at.retain(|_, at| now.since(*at) < TURN_FORGOTTEN);
        }
        let geometry = self.geometry;
        if matches!(report.refused, Some(SkipReason::Gone | SkipReason::AddressSpaceChanged)) {
            self.forget(report.target, now);
        } else if let Some(target) = self.targets.get_mut(&report.target) {
            target.accessed(report, Ns::ms(config.track.interval_ms), geometry, now);
        }
    }

    /// When programs of a user were looked at last; `None`: not lately.
    pub(super) fn looked_at(&self, uid: Option<u32>) -> Option<Ns> {
        self.looked_at.get(&uid).copied()
    }

    /// Finds out anew what hints say of those programs that were just seen as a whole.
    pub(super) fn take_hints(&mut self, config: &Config, seen: &[ScanReport], now: Ns) {
        if config.hints.is_empty() {
            return;
        }
        for report in seen.iter().filter(|report| report.end == ScanEnd::Complete) {
            let Some(target) = self.targets.get_mut(&report.target) else { continue };
            let hints = select::hints(config, &target.sample);
            target.hinted(&hints, self.geometry, now);
        }
    }

    /// Whether a failure is so fresh that waiting for the next attempt is worth it.
    #[must_use]
    pub fn retries_soon(&self, now: Ns) -> bool {
        let mut regions = self.targets.values().flat_map(|target| target.regions.values());
        self.backoffs.is_fresh(now)
            || regions.any(|region| !region.huge && region.waits.retries_soon(now))
    }

    /// Targets whose memory has not been seen as a whole yet.
    pub(super) fn unknown(&self) -> usize {
        self.targets.values().filter(|target| target.pass_done.is_none()).count()
    }

    /// Whether processes have been listed at least once.
    #[must_use]
    pub fn listed(&self) -> bool {
        self.listed
    }

    /// Drops a target whose process ended or became another program; the next list decides anew.
    fn forget(&mut self, id: ProcId, now: Ns) {
        if self.targets.remove(&id).is_some() {
            self.next_list = self.next_list.min(now + Ns::s(1));
        }
    }

    /// Why nothing at all is promoted at `now`.
    #[must_use]
    pub fn promotion_barred(&self, config: &Config, now: Ns) -> Option<SkipReason> {
        let machine = self.machine.as_ref()?;
        if self.paused {
            return Some(SkipReason::Paused);
        }
        match machine.thp {
            None => return Some(SkipReason::NoThp),
            Some(ThpMode::Never) if !config.promote.allow_under_never => {
                return Some(SkipReason::OperatorNever);
            }
            Some(_) => {}
        }
        if self.pressure.on_machine().is_some() {
            return Some(SkipReason::LowMemory);
        }
        if self.backoffs.allocation(now).is_some() {
            return Some(SkipReason::AllocationBackoff);
        }
        (machine.free_huge == Some(0)).then_some(SkipReason::NoFreeHugePage)
    }

    /// Why nothing of this target is promoted at `now`, whatever holds for others.
    #[must_use]
    pub fn target_barred(&self, target: &Target, now: Ns) -> Option<SkipReason> {
        let (cgroup, suspension) = (target.sample.cgroup_key(), &target.suspension);
        limits::target_barred(&self.backoffs, &self.pressure, suspension, &cgroup, now)
    }

    /// Whether nothing that happened since it was planned speaks against a decision, and no wait
    /// of its region does.
    #[must_use]
    pub fn still_allowed(&self, decision: &Decision, now: Ns) -> bool {
        let target = self.targets.get(&decision.target);
        let region = target.and_then(|target| target.regions.get(decision.region));
        let short = self.pressure.on_machine().is_some();
        region.is_some_and(|region| match (decision.action, decision.motive) {
            (Action::Promote, _) => !region.huge && region.waits.against_promotion(now).is_none(),
            (Action::Demote, motive) => {
                region.huge == (motive != Motive::PartiallyMapped)
                    && region.waits.against_split(now, short).is_none()
            }
        })
    }

    /// Takes the outcome of a decision.
    pub fn applied(&mut self, decision: &Decision, outcome: &Outcome, now: Ns) {
        self.totals.add(outcome);
        self.budgets.cpu.take(outcome.cpu().0 as f64, now);
        self.accounted += outcome.cpu();
        if let Some(owner) = self.targets.get(&decision.target).map(Target::owner) {
            let short = self.pressure.on_machine().is_some();
            self.lately.acted(&owner, decision, outcome, short, now);
        }
        if let Outcome::Promoted { populated, .. } = outcome {
            self.charge_cgroup(decision.target, *populated);
        }
        // A slow split says nothing of the memory that a promotion gets.
        if decision.action == Action::Promote {
            // Its CPU time, which a host's fault takes as well, but waiting for the lock does not.
            let call = outcome.call().map(|call| call.took.min(outcome.cpu()));
            self.warm.learn(outcome.warm(), call);
        }
        let target = self.targets.get(&decision.target);
        let cgroup = target.map(|target| target.sample.cgroup_key());
        let outcome = &self.blamed(*outcome, cgroup.as_deref());
        match outcome {
            Outcome::Promoted { .. } => {
                self.budgets.bytes.take(self.geometry.huge.0 as f64, now);
                self.backoffs.succeed(cgroup.as_deref());
                self.rate.add(now);
                self.taken += 1;
            }
            Outcome::Demoted { .. } | Outcome::Withheld { .. } => {
                self.budgets.bytes.take(self.geometry.huge.0 as f64, now);
            }
            Outcome::Skipped { reason: SkipReason::NoFreeHugePage, .. } => {
                self.backoffs.fail(FailureClass::Allocation, None, now);
            }
            Outcome::Skipped {
                reason: SkipReason::Gone | SkipReason::AddressSpaceChanged, ..
            } => self.forget(decision.target, now),
            Outcome::Failed { class, .. } => self.backoffs.fail(*class, cgroup.as_deref(), now),
            Outcome::Skipped { .. } => {}
        }
        let context = self.context(now);
        if let Some(target) = self.targets.get_mut(&decision.target) {
            let before = target.suspension.fruitless();
            target.applied(decision, outcome, context);
            if decision.action == Action::Promote {
                // It had its turn, whatever came of it.
                target.waits_since = Some(now);
            }
            if target.suspension.fruitless() > before {
                self.lately.fruitless.charge(&target.owner(), 1.0, now);
            }
            if target.suspension.active(now) == Some(SkipReason::SharedPages) {
                self.shared.insert(decision.target);
            } else if matches!(outcome, Outcome::Promoted { .. }) {
                self.shared.remove(&decision.target);
            }
        }
    }

    /// Notes whose promotions wait for their turn.
    pub(super) fn note_waiting(&mut self, queues: &Queues, now: Ns) {
        for (id, target) in &mut self.targets {
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
        match self.cgroup_memory.get(cgroup) {
            Some(sample) => sample.usage >= sample.limit.percent(NEAR_LIMIT_PERCENT),
            None => !self.cgroups_asked.0.contains(cgroup),
        }
    }
}
