//! What the manager remembers between ticks.
//!
//! Fed by [`State::list`] (processes), [`State::scanned`] (regions) and [`State::applied`]
//! (outcomes); read by the policy and by the views. Contains no clock: times are handed in.

use crate::config::Config;
use crate::policy::backoff::Backoff;
use crate::policy::bucket::Bucket;
use crate::policy::select::{Selection, select};
use crate::policy::warm::WarmControl;
use crate::policy::{Decision, FailureClass, Outcome};
use crate::reason::{Limit, SkipReason};
use crate::snapshot::{MachineSample, ProcessSample, RegionSample, ScanEnd, ScanReport};
use crate::units::{Addr, Bytes, Geometry, Ns, ProcId};
use serde::Serialize;
use std::collections::BTreeMap;

/// A region that lost its huge page is left alone for this long, so that nothing flaps.
pub const COOLDOWN: Ns = Ns::s(30);
/// How long a region is left alone after the actuator's re-check said no.
pub const RECHECK: Ns = Ns::s(5);
/// First wait after EAGAIN, four times longer each further time: page locks and LRU isolation
/// pass within milliseconds, pins (O_DIRECT, RDMA) may last.
pub const TRANSIENT_BASE: Ns = Ns::s(2);
/// First wait after EINVAL, four times longer each further time, up to [`REFUSED`].
pub const REFUSED_BASE: Ns = Ns::s(15);
/// How long a region that the kernel refused is left alone if its mapping stays the same.
pub const REFUSED: Ns = Ns::s(600);
/// First global wait after a failed huge page allocation.
pub const ALLOCATION_BASE: Ns = Ns::s(1);
/// First wait of a cgroup at its limit.
pub const CGROUP_BASE: Ns = Ns::s(2);
/// Expected duration of a collapse before the first one was seen: 0.7 ms, kernel.md 2.1.
pub const CALL_PRIOR: Ns = Ns::us(700);
/// Lock time that one target may take in a burst: four calls.
pub const LOCK_BURST: Ns = Ns::us(2_800);

/// Until when a region is left alone, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// End of the wait.
    pub until: Ns,
    /// Its name.
    pub reason: SkipReason,
}

/// One region of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Region {
    /// Populated base pages.
    pub populated: u16,
    /// ... of which swapped.
    pub swapped: u16,
    /// Mapped huge.
    pub huge: bool,
    /// Start of its mapping.
    pub mapping: Addr,
    /// Populated pages when we promoted it, while it stays huge.
    pub promoted_from: Option<u16>,
    /// Left alone for now.
    pub hold: Option<Hold>,
    /// Transient failures in a row.
    pub tries: u8,
    /// Refusals in a row.
    pub refusals: u8,
    /// Pages shared with another process, from detailed scans.
    pub shared: Option<u16>,
    /// Pieces of a huge page still held as a block, from detailed scans.
    pub partially_mapped: Option<bool>,
    /// The pass that saw it last.
    pub pass: u32,
}

/// One managed process.
#[derive(Debug, Clone)]
pub struct Target {
    /// As last listed.
    pub sample: ProcessSample,
    /// Its weight.
    pub share: f64,
    /// Its regions, by address.
    pub regions: BTreeMap<Addr, Region>,
    /// Regions in mappings that are no candidates, by reason.
    pub excluded: BTreeMap<SkipReason, u64>,
    /// Scan cursor; `Addr(0)` between passes.
    pub cursor: Addr,
    /// End of the last complete pass.
    pub pass_done: Option<Ns>,
    /// Lock time it may still suffer.
    pub lock: Bucket,
    /// Expected duration of a call on it, moving average.
    pub call: Ns,
    /// Why nothing of it can be scanned.
    pub refused: Option<SkipReason>,
    /// Small regions by reason, after the last plan.
    pub skips: BTreeMap<SkipReason, u64>,
    /// What holds its rate down, when something does.
    pub limit: Option<Limit>,
    /// What was done to it.
    pub totals: Totals,
    scanned_faults: u64,
    scanned_rss: Bytes,
    pass: u32,
}

/// Sums since the manager (or the target) started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Regions made huge.
    pub promoted: u64,
    /// Destinations warmed: each counts once in the kernel's `thp_fault_alloc`.
    pub warm_ups: u64,
    /// Decisions that no actuator carried out.
    pub withheld: u64,
    /// Decisions that the re-check stopped, by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Calls that failed, by class.
    pub failed: BTreeMap<FailureClass, u64>,
    /// Time in collapse calls.
    pub call_ns: Ns,
    /// Time in warm-ups.
    pub warm_ns: Ns,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Promoted { .. } => self.promoted += 1,
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
    /// Bytes promoted.
    pub bytes: Bucket,
    /// CPU time for scans.
    pub scan_cpu: Bucket,
    /// Waiting after failed allocations.
    pub allocation: Backoff,
    /// Waiting per cgroup.
    pub cgroups: BTreeMap<String, Backoff>,
    /// Warming of destinations.
    pub warm: WarmControl,
    /// MemAvailable fell below its low watermark and has not passed the high one since.
    pub low_memory: bool,
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
            low_memory: false,
            paused: false,
            bloat_budget: None,
            totals: Totals::default(),
            next_list: now,
            own_cpu: None,
            accounted: Ns(0),
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
        for target in self.targets.values_mut() {
            target.lock.set_rate(lock_rate(config), LOCK_BURST.0 as f64, now);
        }
        self.next_list = now;
    }

    /// Takes a machine sample: geometry and the memory watermark.
    pub fn machine(&mut self, config: &Config, machine: MachineSample) {
        self.geometry = machine.geometry;
        if let (Some(total), Some(available)) = (machine.mem_total, machine.mem_available) {
            let low = total.percent(config.watermark.mem_available_low_percent);
            let high = total.percent(config.watermark.mem_available_high_percent);
            self.low_memory = available < low || (self.low_memory && available < high);
        }
        self.machine = Some(machine);
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
            target.scanned(report, now);
        }
    }

    /// Whether a failure is so fresh that waiting for the next attempt is worth it.
    #[must_use]
    pub fn retries_soon(&self) -> bool {
        let regions = self.targets.values().flat_map(|target| target.regions.values());
        let mut tried = regions.filter(|region| (1..=2).contains(&region.tries));
        self.allocation.is_fresh()
            || self.cgroups.values().any(Backoff::is_fresh)
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
        region.is_some_and(|r| !r.huge && r.hold.is_none_or(|hold| hold.until <= now))
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
            Outcome::Withheld { .. } => self.bytes.take(self.geometry.huge.0 as f64, now),
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
            target.applied(decision, outcome, now, self.geometry);
        }
    }
}

/// Lock time that a target's bucket gains per second, ns.
fn lock_rate(config: &Config) -> f64 {
    config.controller.lock_share_percent * 1e7
}

impl Target {
    /// A process that was just selected.
    #[must_use]
    pub fn new(config: &Config, sample: ProcessSample, share: f64, now: Ns) -> Self {
        Self {
            share,
            regions: BTreeMap::new(),
            excluded: BTreeMap::new(),
            cursor: Addr(0),
            pass_done: None,
            lock: Bucket::new(lock_rate(config), LOCK_BURST.0 as f64, now),
            call: CALL_PRIOR,
            refused: None,
            skips: BTreeMap::new(),
            limit: None,
            totals: Totals::default(),
            scanned_faults: 0,
            scanned_rss: Bytes(0),
            pass: 0,
            sample,
        }
    }

    /// Huge regions.
    #[must_use]
    pub fn huge(&self) -> u64 {
        self.regions.values().filter(|r| r.huge).count() as u64
    }

    /// Base pages wasted in huge pages that we made, see [`crate::policy::bloat::known`].
    #[must_use]
    pub fn known_bloat_pages(&self, geometry: Geometry) -> u64 {
        let whole = geometry.pages_per_huge();
        let promoted = self.regions.values().filter(|r| r.huge).filter_map(|r| r.promoted_from);
        promoted.map(|from| u64::from(whole.saturating_sub(u32::from(from)))).sum()
    }

    /// Whether faults or resident size moved since the current knowledge was scanned.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.sample.faults != self.scanned_faults || self.sample.rss != self.scanned_rss
    }

    fn scanned(&mut self, report: &ScanReport, now: Ns) {
        if report.from == Addr(0) {
            self.pass = self.pass.wrapping_add(1);
            self.excluded.clone_from(&report.excluded);
            self.scanned_faults = self.sample.faults;
            self.scanned_rss = self.sample.rss;
        }
        self.refused = None;
        for sample in &report.regions {
            self.region_scanned(sample, now);
        }
        match report.end {
            ScanEnd::Partial(next) => self.cursor = next,
            ScanEnd::Complete => {
                self.regions.retain(|_, region| region.pass == self.pass);
                self.cursor = Addr(0);
                self.pass_done = Some(now);
            }
            ScanEnd::Refused(reason) => {
                self.refused = Some(reason);
                if reason != SkipReason::Unreadable {
                    self.regions.clear();
                }
                self.cursor = Addr(0);
                self.pass_done = Some(now);
            }
        }
    }

    fn region_scanned(&mut self, sample: &RegionSample, now: Ns) {
        let region = self.regions.entry(sample.at).or_default();
        if region.mapping != sample.mapping {
            *region = Region { mapping: sample.mapping, ..Region::default() };
        }
        if region.huge && !sample.huge {
            region.promoted_from = None;
            let until = now + COOLDOWN;
            region.hold = Some(Hold { until, reason: SkipReason::Cooldown });
        }
        region.populated = sample.populated;
        region.swapped = sample.swapped;
        region.huge = sample.huge;
        region.shared = sample.shared;
        region.partially_mapped = sample.partially_mapped;
        region.pass = self.pass;
    }

    fn hold_all(&mut self, until: Ns, reason: SkipReason) {
        for region in self.regions.values_mut().filter(|r| !r.huge) {
            region.hold = Some(Hold { until, reason });
        }
    }

    fn hold_mapping(&mut self, mapping: Addr, hold: Hold) {
        for region in self.regions.values_mut().filter(|r| r.mapping == mapping && !r.huge) {
            region.hold = Some(hold);
        }
    }

    fn applied(&mut self, decision: &Decision, outcome: &Outcome, now: Ns, geometry: Geometry) {
        self.totals.add(outcome);
        if let Some(call) = outcome.call() {
            self.lock.take(call.0 as f64, now);
            // Moving average over about eight calls: quick enough to follow the host's moods.
            self.call = Ns((self.call.0 * 7 + call.0) / 8);
        } else if matches!(outcome, Outcome::Withheld { .. }) {
            // So that a mode that does not act decides at the pace of one that does.
            self.lock.take(self.call.0 as f64, now);
        }
        let Some(region) = self.regions.get_mut(&decision.region) else {
            return;
        };
        let hold = |wait: Ns, reason| Some(Hold { until: now + wait, reason });
        match outcome {
            Outcome::Promoted { populated, .. } => {
                region.huge = true;
                region.promoted_from = Some(*populated);
                region.populated = u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX);
                region.hold = None;
                region.tries = 0;
                region.refusals = 0;
            }
            Outcome::Withheld { .. } => {
                region.hold = hold(REFUSED, SkipReason::WithheldByMode);
            }
            Outcome::Skipped { reason: SkipReason::AlreadyHuge, .. } => region.huge = true,
            Outcome::Skipped { reason, .. } => region.hold = hold(RECHECK, *reason),
            // Said once by the program for all of it: no need to ask the kernel region by region.
            Outcome::Failed {
                reason: reason @ (SkipReason::AdvisedAgainst | SkipReason::ThpDisabledByProgram),
                ..
            } => {
                let until = now + REFUSED;
                self.hold_mapping(decision.mapping, Hold { until, reason: *reason });
            }
            Outcome::Failed { class, reason, .. } => match class {
                // For the last two the back-off is everybody's or the cgroup's; but the fault may
                // lie in this region (EBUSY: userfaultfd holes; ENOMEM: partly unmapped), which
                // must not be the first to be tried again every time.
                FailureClass::Transient | FailureClass::Allocation | FailureClass::Cgroup => {
                    let wait = TRANSIENT_BASE.0 << (2 * u32::from(region.tries.min(4)));
                    region.tries = region.tries.saturating_add(1);
                    region.hold = hold(Ns(wait), *reason);
                }
                // It may pass: after a fork kernels before 6.18 refuse pages that are exclusive
                // again until the program writes one of them.
                FailureClass::Refused | FailureClass::Other => {
                    let wait = REFUSED_BASE.0 << (2 * u32::from(region.refusals.min(4)));
                    region.refusals = region.refusals.saturating_add(1);
                    region.hold = hold(Ns(wait.min(REFUSED.0)), *reason);
                }
                // Everything of this process would be refused alike.
                FailureClass::Permission => self.hold_all(now + REFUSED, *reason),
            },
        }
    }
}
