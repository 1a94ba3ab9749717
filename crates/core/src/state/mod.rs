//! What the manager remembers between ticks.
//!
//! Fed by [`State::list`] (processes), [`State::scanned`] (regions) and [`State::applied`]
//! (outcomes); read by the policy and by the views. Contains no clock: times are handed in.

mod region;
mod target;

pub use region::{
    Before, COOLDOWN, GIVEN_BACK_BASE, GIVEN_BACK_CAP, Hold, Looked, Maker, RECHECK, REFUSED,
    REFUSED_BASE, Region, TRANSIENT_BASE,
};
pub use target::Target;

use crate::config::Config;
use crate::policy::backoff::Backoff;
use crate::policy::bucket::Bucket;
use crate::policy::eligible::Thresholds;
use crate::policy::pressure::Pressure;
use crate::policy::select::{Selection, select};
use crate::policy::warm::WarmControl;
use crate::policy::{Action, Decision, FailureClass, Motive, Outcome};
use crate::reason::SkipReason;
use crate::snapshot::{
    CgroupSample, LookReport, MachineSample, ProcessSample, ScanEnd, ScanReport,
};
use crate::units::{Bytes, Geometry, Ns, ProcId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use target::{Eye, lock_rate};

/// First global wait after a failed huge page allocation.
pub const ALLOCATION_BASE: Ns = Ns::s(1);
/// The memory of cgroups is read this often: a few files each, about 10 us a file.
pub const CGROUPS_INTERVAL: Ns = Ns::s(2);
/// First wait of a cgroup at its limit.
pub const CGROUP_BASE: Ns = Ns::s(2);
/// Expected duration of a collapse before the first one was seen: 0.7 ms, kernel.md 2.1.
pub const CALL_PRIOR: Ns = Ns::us(700);
/// Lock time that one target may take in a burst: four calls.
pub const LOCK_BURST: Ns = Ns::us(2_800);

/// Sums since the manager (or the target) started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Regions made huge.
    pub promoted: u64,
    /// Huge pages, or blocks held for their rest, that were split.
    pub demoted: u64,
    /// Base pages that splits gave back.
    pub freed_pages: u64,
    /// Regions below the threshold that somebody else made huge: khugepaged at work.
    pub filled: u64,
    /// Destinations warmed: each counts once in the kernel's `thp_fault_alloc`.
    pub warm_ups: u64,
    /// Decisions that no actuator carried out.
    pub withheld: u64,
    /// Decisions that the re-check stopped, by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Calls that failed, by class.
    pub failed: BTreeMap<FailureClass, u64>,
    /// Time in calls on targets.
    pub call_ns: Ns,
    /// Time in warm-ups.
    pub warm_ns: Ns,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Promoted { .. } => self.promoted += 1,
            Outcome::Demoted { freed, .. } => {
                self.demoted += 1;
                self.freed_pages += u64::from(*freed);
            }
            Outcome::Withheld { .. } => self.withheld += 1,
            Outcome::Skipped { reason, .. } => *self.skipped.entry(*reason).or_default() += 1,
            Outcome::Failed { class, .. } => *self.failed.entry(*class).or_default() += 1,
        }
        self.warm_ups += u64::from(outcome.warm().is_some());
        self.warm_ns += outcome.warm().unwrap_or_default();
        self.call_ns += outcome.call().unwrap_or_default();
    }
}

/// A process that was looked at and left alone.
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
    /// Page sizes.
    pub geometry: Geometry,
    /// Latest machine-wide values.
    pub machine: Option<MachineSample>,
    /// Managed processes.
    pub targets: BTreeMap<ProcId, Target>,
    /// Processes with enough memory that were left alone, the largest first.
    pub left_alone: Vec<LeftAlone>,
    /// All processes that were left alone, by reason.
    pub left_alone_counts: BTreeMap<SkipReason, u64>,
    /// Own CPU time.
    pub cpu: Bucket,
    /// Bytes promoted or split.
    pub bytes: Bucket,
    /// CPU time for scans.
    pub scan_cpu: Bucket,
    /// Waiting after failed allocations.
    pub allocation: Backoff,
    /// Waiting per cgroup.
    pub cgroups: BTreeMap<String, Backoff>,
    /// Warming of destinations.
    pub warm: WarmControl,
    /// Whether memory is short.
    pub pressure: Pressure,
    /// Memory of the targets' cgroups, where it has a limit.
    pub cgroup_memory: BTreeMap<String, CgroupSample>,
    /// Bloat is above its budget, and being taken back.
    pub giving_back: bool,
    /// Looks show no page frames: this observer may not see them.
    pub frames_hidden: bool,
    /// Promotion thresholds in force.
    pub thresholds: Thresholds,
    /// `hugewise pause` is in force.
    pub paused: bool,
    /// Waste that promotions below the threshold might cause in all, when last planned.
    pub bloat_budget: Option<Bytes>,
    /// Sums.
    pub totals: Totals,
    /// When processes are listed next.
    pub next_list: Ns,
    /// Own CPU time, as last observed.
    pub own_cpu: Option<Ns>,
    accounted: Ns,
    /// Whose usage was asked for last, and when.
    cgroups_asked: (BTreeSet<String>, Ns),
}

impl State {
    /// An empty state at `now`.
    #[must_use]
    pub fn new(config: &Config, geometry: Geometry, now: Ns) -> Self {
        let mut state = Self {
            geometry,
            machine: None,
            targets: BTreeMap::new(),
            left_alone: Vec::new(),
            left_alone_counts: BTreeMap::new(),
            // Full: `configure` cuts them down to the configuration's bursts.
            cpu: Bucket::new(0.0, f64::MAX, now),
            bytes: Bucket::new(0.0, f64::MAX, now),
            scan_cpu: Bucket::new(0.0, f64::MAX, now),
            allocation: Backoff::default(),
            cgroups: BTreeMap::new(),
            warm: WarmControl::default(),
            pressure: Pressure::default(),
            cgroup_memory: BTreeMap::new(),
            giving_back: false,
            frames_hidden: false,
            thresholds: Thresholds::new(&config.promote, geometry),
            paused: false,
            bloat_budget: None,
            totals: Totals::default(),
            next_list: now,
            own_cpu: None,
            accounted: Ns(0),
            cgroups_asked: (BTreeSet::new(), Ns(0)),
        };
        state.configure(config, now);
        state
    }

    /// Takes over limits from a new or reloaded configuration; levels and debts stay.
    pub fn configure(&mut self, config: &Config, now: Ns) {
        // Burst of the own-CPU budget: one second's worth, so that a tick can use its own share.
        let cpu = config.controller.cpu_percent * 1e7;
        self.cpu.set_rate(cpu, cpu, now);
        let bytes = config.quota.bytes_per_s.0 as f64;
        let quarter = (bytes / 4.0).max(self.geometry.huge.0 as f64);
        self.bytes.set_rate(bytes, quarter, now);
        // Burst: ten seconds' worth, so that a first look at a large process is quick.
        let scan = config.scan.cpu_percent * 1e7;
        self.scan_cpu.set_rate(scan, scan * 10.0, now);
        self.thresholds = Thresholds::new(&config.promote, self.geometry);
        for target in self.targets.values_mut() {
            target.lock.set_rate(lock_rate(config), LOCK_BURST.0 as f64, now);
        }
        self.next_list = now;
    }

    /// Takes a machine sample: geometry and the memory watermark.
    pub fn machine(&mut self, config: &Config, machine: MachineSample) {
        self.geometry = machine.geometry;
        self.thresholds = Thresholds::new(&config.promote, self.geometry);
        self.pressure.machine(&config.watermark, &machine);
        self.machine = Some(machine);
    }

    /// cgroups whose memory usage is wanted now: all, every [`CGROUPS_INTERVAL`], and at once when
    /// one is new.
    #[must_use]
    pub fn cgroups_wanted(&self, now: Ns) -> Vec<String> {
        let known = self.targets.values().filter_map(|target| target.sample.cgroup.clone());
        let known: BTreeSet<_> = known.collect();
        let due = now.since(self.cgroups_asked.1) >= CGROUPS_INTERVAL
            || !known.is_subset(&self.cgroups_asked.0);
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
        self.pressure.cgroups(&config.watermark, &usage);
        self.cgroup_memory = usage;
    }

    /// Charges own CPU time that no single outcome or scan accounted for.
    pub fn own_cpu(&mut self, own_cpu: Option<Ns>, now: Ns) {
        let Some(total) = own_cpu else { return };
        let before = self.own_cpu.replace(total).unwrap_or(total);
        let rest = total.since(before).since(self.accounted);
        self.cpu.take(rest.0 as f64, now);
        self.accounted = Ns(0);
    }

    /// Takes a process list: selects targets, forgets those that ended, remembers why others
    /// were left alone.
    pub fn list(
        &mut self,
        config: &Config,
        selection: &Selection,
        processes: Vec<ProcessSample>,
        now: Ns,
    ) {
        let mut chosen = Vec::new();
        self.left_alone.clear();
        self.left_alone_counts.clear();
        for sample in processes {
            match select(config, selection, &sample) {
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
        chosen.sort_by_key(|(_, sample)| std::cmp::Reverse((sample.anon, sample.id)));
        for (_, sample) in chosen.split_off(chosen.len().min(config.select.max_targets)) {
            self.leave_alone(config, sample, SkipReason::TooSmall);
        }
        self.left_alone.sort_by_key(|l| std::cmp::Reverse((l.sample.anon, l.sample.id)));
        self.left_alone.truncate(32);
        let mut old = std::mem::take(&mut self.targets);
        for (share, sample) in chosen {
            let target = match old.remove(&sample.id) {
                Some(known) => Target { share, sample, ..known },
                None => Target::new(config, sample, share, now),
            };
            self.targets.insert(target.sample.id, target);
        }
        self.cgroups.retain(|_, backoff| backoff.active(now).is_some());
    }

    fn leave_alone(&mut self, config: &Config, sample: ProcessSample, reason: SkipReason) {
        *self.left_alone_counts.entry(reason).or_default() += 1;
        if sample.anon >= config.select.min_anon_bytes && reason != SkipReason::NotSelected {
            self.left_alone.push(LeftAlone { sample, reason });
        }
    }

    /// Takes a scan report.
    pub fn scanned(&mut self, report: &ScanReport, now: Ns) {
        self.scan_cpu.take(report.cost.0 as f64, now);
        self.cpu.take(report.cost.0 as f64, now);
        self.accounted += report.cost;
        if matches!(
            report.end,
            ScanEnd::Refused(SkipReason::Gone | SkipReason::AddressSpaceChanged)
        ) {
            self.forget(report.target, now);
        } else if let Some(target) = self.targets.get_mut(&report.target) {
            let eye = Eye { geometry: self.geometry, thresholds: self.thresholds, now };
            let filled = target.totals.filled;
            target.scanned(report, eye);
            self.totals.filled += target.totals.filled - filled;
        }
    }

    /// Takes a close look.
    pub fn looked(&mut self, report: &LookReport, now: Ns) {
        self.scan_cpu.take(report.cost.0 as f64, now);
        self.cpu.take(report.cost.0 as f64, now);
        self.accounted += report.cost;
        if matches!(report.refused, Some(SkipReason::Gone | SkipReason::AddressSpaceChanged)) {
            self.forget(report.target, now);
        } else if let Some(target) = self.targets.get_mut(&report.target) {
            let eye = Eye { geometry: self.geometry, thresholds: self.thresholds, now };
            self.frames_hidden |= target.looked(report, eye);
        }
    }

    /// Whether a failure is so fresh that waiting for the next attempt is worth it.
    #[must_use]
    pub fn retries_soon(&self, now: Ns) -> bool {
        let regions = self.targets.values().flat_map(|target| target.regions.values());
        // Once its hold is over, and the next plan made, a region is scheduled or not wanted.
        let failed = [FailureClass::Transient, FailureClass::Allocation, FailureClass::Cgroup]
            .map(FailureClass::reason);
        let waits = |hold: Hold| hold.until + Ns::s(2) > now && failed.contains(&hold.reason);
        let mut tried = regions
            .filter(|region| (1..=2).contains(&region.tries) && region.hold.is_some_and(waits));
        self.allocation.is_fresh(now)
            || self.cgroups.values().any(|backoff| backoff.is_fresh(now))
            || tried.any(|region| !region.huge)
    }

    /// Whether processes have been listed at least once.
    #[must_use]
    pub fn listed(&self) -> bool {
        !self.targets.is_empty() || !self.left_alone_counts.is_empty()
    }

    /// Drops a target whose process ended or became another program; the next list decides anew.
    fn forget(&mut self, id: ProcId, now: Ns) {
        if self.targets.remove(&id).is_some() {
            self.next_list = self.next_list.min(now + Ns::s(1));
        }
    }

    /// Whether the target's cgroup waits after hitting its limit.
    #[must_use]
    pub fn cgroup_waits(&self, target: &Target, now: Ns) -> bool {
        let backoff = self.cgroups.get(&target.sample.cgroup_key());
        backoff.is_some_and(|b| b.active(now).is_some())
    }

    /// Whether nothing that happened since it was planned speaks against a decision.
    #[must_use]
    pub fn still_wanted(&self, decision: &Decision, now: Ns) -> bool {
        let target = self.targets.get(&decision.target);
        let region = target.and_then(|target| target.regions.get(&decision.region));
        region.is_some_and(|region| {
            let (fits, wait) = match (decision.action, decision.motive) {
                (Action::Promote, _) => (!region.huge, region.hold),
                (Action::Demote, Motive::PartiallyMapped) => (!region.huge, region.keep),
                (Action::Demote, _) => (region.huge, region.keep),
            };
            fits && wait.is_none_or(|wait| wait.until <= now)
        })
    }

    /// Takes the outcome of a decision.
    pub fn applied(&mut self, decision: &Decision, outcome: &Outcome, now: Ns) {
        self.totals.add(outcome);
        self.cpu.take(outcome.cpu().0 as f64, now);
        self.accounted += outcome.cpu();
        self.warm.learn(outcome.warm(), outcome.call());
        let cgroup = self.targets.get(&decision.target).map(|t| t.sample.cgroup_key());
        match outcome {
            Outcome::Promoted { .. } => {
                self.bytes.take(self.geometry.huge.0 as f64, now);
                self.allocation.succeed();
                cgroup.and_then(|c| self.cgroups.remove(&c));
            }
            Outcome::Demoted { .. } | Outcome::Withheld { .. } => {
                self.bytes.take(self.geometry.huge.0 as f64, now);
            }
            Outcome::Skipped { reason: SkipReason::NoFreeHugePage, .. }
            | Outcome::Failed { class: FailureClass::Allocation, .. } => {
                self.allocation.fail(now, ALLOCATION_BASE);
            }
            Outcome::Skipped {
                reason: SkipReason::Gone | SkipReason::AddressSpaceChanged, ..
            } => self.forget(decision.target, now),
            Outcome::Failed { class: FailureClass::Cgroup, .. } => {
                if let Some(cgroup) = cgroup {
                    self.cgroups.entry(cgroup).or_default().fail(now, CGROUP_BASE);
                }
            }
            Outcome::Skipped { .. } | Outcome::Failed { .. } => {}
        }
        if let Some(target) = self.targets.get_mut(&decision.target) {
            let eye = Eye { geometry: self.geometry, thresholds: self.thresholds, now };
            target.applied(decision, outcome, eye);
        }
    }
}
