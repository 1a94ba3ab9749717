//! A manager's state as views show it: plain, serialisable, with a schema version.

use crate::access::{Offer, Tracker};
use crate::config::Config;
use crate::decision::Outlook;
use crate::engine::Manager;
use crate::gate;
use crate::limits::fault_size::SizeReason;
use crate::limits::huge_faults::HugeFaults;
use crate::limits::pressure::PressureSource;
use crate::limits::thresholds::Thresholds;
use crate::monitors::GuestMemory;
use crate::policy::Plan;
use crate::reason::{Limit, SkipReason};
use crate::snapshot::{CgroupSample, SizeSample};
use crate::state::bloat::Account;
use crate::state::heat::{HOT, IDLE};
use crate::state::{Compactions, Maker, State, Target, Totals};
use hugewise_base::units::{Bytes, Geometry, Ns, ProcId, saturating_u64};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the JSON that `hugewise status --json` and the control socket give.
pub const SCHEMA: u32 = 1;

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetStatus {
    /// Process id.
    pub pid: u32,
    /// Command name.
    pub name: String,
    /// Resident memory.
    pub rss: Bytes,
    /// Resident anonymous memory.
    pub anon: Bytes,
    /// Shared memory that it maps and has touched; `None`: too little to matter, or not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shmem: Option<Bytes>,
    /// Populated memory in regions that could be huge.
    pub populated: Bytes,
    /// Regions with at least one populated page.
    pub regions: u64,
    /// Memory in huge pages.
    pub huge: Bytes,
    /// Memory in regions that are eligible (`docs/glossary.md#memory`), huge ones included.
    pub eligible: Bytes,
    /// Share of base pages populated in regions that are not huge, percent; `None` without any.
    pub utilization_percent: Option<f64>,
    /// Waste that is known; `None` where nothing is known about any huge page.
    pub known_bloat: Option<Bytes>,
    /// Waste by source, and huge memory of unknown use.
    pub bloat: Account,
    /// Memory of regions that map pieces of a block which is still held; `None` where page frames
    /// were not looked at.
    pub partially_mapped: Option<Bytes>,
    /// First pass over its memory is complete.
    pub scanned: bool,
    /// Why nothing of it can be done.
    pub refused: Option<SkipReason>,
    /// Small regions by reason.
    #[serde(rename = "skips")]
    pub not_promoted: BTreeMap<SkipReason, u64>,
    /// Regions with waste that are not split, by reason.
    #[serde(rename = "kept")]
    pub not_split: BTreeMap<SkipReason, u64>,
    /// What holds its rate down.
    pub limit: Option<Limit>,
    /// Memory that becomes huge each second; `None` where nothing did lately.
    #[serde(default)]
    pub rate_bytes_per_s: Option<Bytes>,
    /// Seconds until what waits for its turn is huge, at this rate.
    #[serde(default)]
    pub left_s: Option<f64>,
    /// Regions promoted by this manager.
    pub promoted: u64,
    /// Huge pages split by this manager.
    pub demoted: u64,
    /// Memory that these splits gave back.
    pub freed: Bytes,
    /// cgroup.
    pub cgroup: Option<String>,
    /// What that belongs to: a container with its pod, or a unit; `None`: its path does not say.
    #[serde(default)]
    pub belongs_to: Option<String>,
    /// How its memory is used; `None`: nobody looked, or could.
    #[serde(default)]
    pub usage: Option<UseStatus>,
    /// Trackers that do not work for this program, and why.
    #[serde(default)]
    pub unfit: BTreeMap<Tracker, SkipReason>,
    /// The virtual machine that it runs; `None`: none.
    #[serde(default)]
    pub guest: Option<GuestStatus>,
    /// Huge regions by who made them: this manager, an earlier one of this boot included.
    #[serde(default)]
    pub huge_by_us: u64,
}

/// A virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestStatus {
    /// The program that runs it: `qemu`, ...
    pub monitor: String,
    /// Its memory; `None`: most of it was not seen.
    pub memory: Option<GuestMemory>,
}

/// How a program uses its memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UseStatus {
    /// The tracker of the last complete look; `None`: only hints say anything.
    pub by: Option<Tracker>,
    /// Seconds since that ended.
    pub age_s: Option<f64>,
    /// Memory in hot regions.
    pub hot: Bytes,
    /// ... of which huge.
    pub hot_huge: Bytes,
    /// Memory in idle regions.
    pub idle: Bytes,
    /// ... of which huge.
    pub idle_huge: Bytes,
    /// Memory in regions in between, or of unknown use.
    pub other: Bytes,
}

impl TargetStatus {
    /// Share of eligible memory that is huge, percent; `None` where nothing is eligible.
    pub fn coverage_percent(&self) -> Option<f64> {
        (self.eligible.0 > 0).then(|| 100.0 * self.huge.0 as f64 / self.eligible.0 as f64)
    }
}

/// A process with much memory that is left alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftAloneStatus {
    /// Process id.
    pub pid: u32,
    /// Command name.
    pub name: String,
    /// Resident anonymous memory.
    pub anon: Bytes,
    /// Why.
    pub reason: SkipReason,
}

/// The managed processes of one cgroup.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupStatus {
    /// Its path.
    pub cgroup: String,
    /// What it belongs to, as for a process.
    #[serde(default)]
    pub belongs_to: Option<String>,
    /// Managed processes in it.
    pub processes: u64,
    /// Their resident anonymous memory.
    pub anon: Bytes,
    /// Their memory in huge pages.
    pub huge: Bytes,
    /// Their waste.
    pub bloat: Account,
    /// Usage and limit of it or of the ancestor that is nearest to its limit; `None`: no limit.
    pub memory: Option<CgroupSample>,
    /// What says that its memory is short.
    pub pressure: Option<PressureSource>,
}

/// A running manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManagerStatus {
    /// Version of this structure.
    pub schema: u32,
    /// How old it is, where the manager is within one call or scan and this is its last one.
    #[serde(default)]
    pub age_ms: u64,
    /// Workers that were given up and do not end: they wait for a lock that somebody holds.
    #[serde(default)]
    pub abandoned_workers: u64,
    /// `ingens`, `guard`, `auto` or `observe`.
    pub mode: String,
    /// The only processes that it serves; `None`: all that are large enough.
    #[serde(default)]
    pub pids: Option<Vec<u32>>,
    /// The actuator's last step is left out.
    pub dry_run: bool,
    /// The policy that decides.
    #[serde(default)]
    pub policy: String,
    /// Trackers of memory's use, and why those do not work that do not.
    #[serde(default)]
    pub trackers: Vec<Offer>,
    /// What carrying out all that waits is expected to save and to cost, as far as something is
    /// known of its use.
    #[serde(default)]
    pub outlook: Outlook,
    /// `hugewise manage pause` is in force.
    pub paused: bool,
    /// A reason for which nothing at all is promoted now.
    pub gate: Option<SkipReason>,
    /// Seconds until the back-off after a failed allocation ends.
    pub allocation_backoff_s: Option<f64>,
    /// Compaction.
    #[serde(default)]
    pub compaction: CompactionStatus,
    /// What faults hand out.
    #[serde(default)]
    pub faults: FaultStatus,
    /// Destinations are being warmed.
    pub warming: bool,
    /// Own CPU time since the start, without that of warming ahead.
    #[serde(rename = "own_cpu_ns")]
    pub own_cpu: Option<Ns>,
    /// CPU time of warming ahead, which nobody else wanted.
    #[serde(default, rename = "warm_cpu_ns")]
    pub warm_cpu: Option<Ns>,
    /// Waste that promotions below the threshold may cause in all.
    pub bloat_budget: Option<Bytes>,
    /// Waste known.
    pub known_bloat: Bytes,
    /// Waste by source, and huge memory of unknown use.
    pub bloat: Account,
    /// Bloat is above its budget, and being taken back.
    pub giving_back: bool,
    /// What says that memory is short for everybody.
    pub pressure: Option<PressureSource>,
    /// Whether a split gives zero pages back (Linux 6.12); `None`: unknown.
    pub frees_zeros: Option<bool>,
    /// Page frames are hidden: partially mapped blocks are known from what was seen before only.
    pub frames_hidden: bool,
    /// Regions promoted.
    pub promoted: u64,
    /// Memory that becomes huge each second; `None` where nothing did lately.
    #[serde(default)]
    pub rate_bytes_per_s: Option<Bytes>,
    /// Seconds until what waits for its turn is huge, at this rate.
    #[serde(default)]
    pub left_s: Option<f64>,
    /// Huge pages split.
    pub demoted: u64,
    /// Memory that splits gave back.
    pub freed: Bytes,
    /// Regions below the threshold that khugepaged, or a program, made huge.
    pub filled: u64,
    /// Warm-ups, each counted once in `thp_fault_alloc`.
    pub warm_ups: u64,
    /// Decisions that nobody carried out.
    pub withheld: u64,
    /// Failed calls.
    pub failed: u64,
    /// cgroups of managed processes, the one with the most known waste first.
    pub cgroups: Vec<CgroupStatus>,
    /// Managed processes, the largest first.
    pub targets: Vec<TargetStatus>,
    /// Large processes that are left alone.
    pub left_alone: Vec<LeftAloneStatus>,
}

/// What faults hand out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaultStatus {
    /// Bytes of the folios that hugewise has them hand out; `None`: base pages, or what somebody
    /// else has chosen.
    pub size: Option<Bytes>,
    /// Why.
    pub size_reason: SizeReason,
    /// How often the size changed.
    pub size_changes: u64,
    /// Whether they hand out huge pages; `None`: the mode does not choose.
    pub huge: Option<bool>,
    /// Why; `None` with that.
    pub huge_reason: Option<HugeFaults>,
    /// How often that changed.
    pub huge_changes: u64,
    /// Pages that were handed out and that nobody wrote, estimated from samples; `None`: nothing
    /// was sampled.
    pub unwritten: Option<Bytes>,
    /// Half of the interval that holds the true number 19 times in 20.
    pub unwritten_error: Option<Bytes>,
    /// What the kernel counts of each size; none before Linux 6.8.
    pub sizes: Vec<SizeSample>,
}

impl Default for FaultStatus {
    fn default() -> Self {
        Self {
            size: None,
            size_reason: SizeReason::Off,
            size_changes: 0,
            huge: None,
            huge_reason: None,
            huge_changes: 0,
            unwritten: None,
            unwritten_error: None,
            sizes: Vec::new(),
        }
    }
}

/// Compaction: the kernel makes free blocks while promotions wait for them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactionStatus {
    /// Regions that wait for a free block and for nothing else.
    pub wanted_blocks: u64,
    /// Free blocks that are kept ready: as many as were wanted at once in the last minutes; 0 where
    /// memory is not compacted.
    pub reserve_blocks: u64,
    /// CPU time that making so many is expected to take; `None`: none was made yet.
    #[serde(rename = "expected_cpu_ns")]
    pub expected_cpu: Option<Ns>,
    /// A run is under way.
    pub running: bool,
    /// Why none is, though blocks are wanted.
    pub held_back: Option<SkipReason>,
    /// What was done so far.
    pub totals: Compactions,
}

/// Reasons after which a region does not count as eligible, however full it is.
const NOT_ELIGIBLE: [SkipReason; 8] = [
    SkipReason::NoPermission,
    SkipReason::ThpDisabledByProgram,
    SkipReason::RefusedByKernel,
    SkipReason::AdvisedAgainst,
    SkipReason::SharedPages,
    SkipReason::Swapped,
    SkipReason::WriteProtected,
    SkipReason::Shrunk,
];

/// What status is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The configuration in force.
    pub config: &'a Config,
    /// What is known.
    pub state: &'a State,
    /// Why regions stay as they are.
    pub plan: &'a Plan,
    /// What holds targets down.
    pub limits: &'a BTreeMap<ProcId, Limit>,
}

fn usage(target: &Target, geometry: Geometry, now: Ns) -> Option<UseStatus> {
    if !target.is_tracked() {
        return None;
    }
    let last = target.looks.last();
    let by = last.map(|(by, _)| by);
    let age_s = last.map(|(_, at)| now.since(at).as_s());
    let mut usage = UseStatus { by, age_s, ..UseStatus::default() };
    for (at, region) in target.regions.iter().filter(|(_, region)| region.populated > 0) {
        let temperature = target.usage(at, geometry).map(|used| used.temperature);
        let huge = if region.huge { geometry.huge } else { Bytes(0) };
        match temperature {
            Some(hot) if hot >= HOT => {
                usage.hot += geometry.huge;
                usage.hot_huge += huge;
            }
            Some(idle) if idle < IDLE => {
                usage.idle += geometry.huge;
                usage.idle_huge += huge;
            }
            _ => usage.other += geometry.huge,
        }
    }
    Some(usage)
}

/// So many regions, as memory.
fn memory(geometry: Geometry, regions: f64) -> Bytes {
    Bytes(saturating_u64(regions * geometry.huge.0 as f64))
}

fn target(sources: Sources<'_>, target: &Target, now: Ns) -> TargetStatus {
    let geometry = sources.state.machine.geometry;
    let thresholds = Thresholds::new(&sources.config.promote, geometry);
    let reasons = sources.plan.reasons_of(target.sample.id);
    let (mut populated, mut base_pages, mut base_regions) = (0u64, 0u64, 0u64);
    let (mut regions, mut eligible, mut partial) = (0u64, 0u64, None);
    let mut huge_by_us = 0;
    for region in target.regions.values().filter(|r| r.populated > 0) {
        regions += 1;
        let ours = region.before.is_some_and(|before| before.by == Maker::Us);
        huge_by_us += u64::from(region.huge && ours);
        populated += u64::from(region.populated);
        let barred = region.swapped > 0
            || region.waits.against_promotion(now).is_some_and(|why| NOT_ELIGIBLE.contains(&why));
        eligible += u64::from(region.huge || (region.populated >= thresholds.always && !barred));
        if !region.huge {
            base_pages += u64::from(region.populated);
            base_regions += 1;
        }
        if let Some(held) = region.held_pages(geometry) {
            *partial.get_or_insert(0) += u64::from(held > 0);
        }
    }
    let possible = base_regions * u64::from(geometry.pages_per_huge());
    let huge = target.huge();
    let bloat = target.bloat(geometry);
    let nothing_known = huge > 0 && bloat.unknown == geometry.regions(huge);
    TargetStatus {
        pid: target.sample.id.pid,
        name: target.sample.name.clone(),
        rss: target.sample.rss,
        anon: target.sample.anon,
        shmem: target.sample.shmem,
        populated: geometry.bytes(populated),
        regions,
        huge: geometry.regions(huge),
        eligible: geometry.regions(eligible),
        utilization_percent: (possible > 0).then(|| 100.0 * base_pages as f64 / possible as f64),
        known_bloat: (target.pass_done.is_some() && (!nothing_known || bloat.known() > Bytes(0)))
            .then(|| bloat.known()),
        bloat,
        partially_mapped: partial.map(|n| geometry.regions(n)),
        scanned: target.pass_done.is_some() && target.refused.is_none(),
        refused: target.refused,
        not_promoted: reasons.not_promoted.clone(),
        not_split: reasons.not_split.clone(),
        limit: sources.limits.get(&target.sample.id).copied(),
        rate_bytes_per_s: target.rate.per_s(now).map(|rate| memory(geometry, rate)),
        left_s: target.rate.left_s(reasons.waiting(), now),
        promoted: target.totals.promoted,
        demoted: target.totals.demoted,
        freed: geometry.bytes(target.totals.freed_pages),
        cgroup: target.sample.cgroup.clone(),
        belongs_to: target.sample.belongs_to(),
        usage: usage(target, geometry, now),
        unfit: target.looks.unfit(now).collect(),
        guest: target.sample.monitor().map(|monitor| GuestStatus {
            monitor: monitor.to_owned(),
            memory: target.guest_memory(geometry),
        }),
        huge_by_us,
    }
}

/// All targets at `now`, the largest first.
pub fn targets(sources: Sources<'_>, now: Ns) -> Vec<TargetStatus> {
    let all = sources.state.programs.targets.values();
    let mut all: Vec<_> = all.map(|t| target(sources, t, now)).collect();
    all.sort_by_key(|t| std::cmp::Reverse((t.anon, t.pid)));
    all
}

/// cgroups of all targets, the one with the most known waste first.
pub fn cgroups(state: &State) -> Vec<CgroupStatus> {
    let mut all = BTreeMap::<&str, CgroupStatus>::new();
    for target in state.programs.targets.values() {
        let Some(path) = target.sample.cgroup.as_deref() else { continue };
        let cgroup = all.entry(path).or_default();
        cgroup.processes += 1;
        cgroup.belongs_to = target.sample.belongs_to();
        cgroup.anon += target.sample.anon;
        cgroup.huge += state.machine.geometry.regions(target.huge());
        cgroup.bloat += target.bloat(state.machine.geometry);
    }
    let complete = |(path, cgroup): (&str, CgroupStatus)| CgroupStatus {
        cgroup: path.to_owned(),
        memory: state.cgroups.memory.get(path).copied(),
        pressure: state.limits.pressure.on(path),
        ..cgroup
    };
    let mut all: Vec<_> = all.into_iter().map(complete).collect();
    all.sort_by(|a, b| b.bloat.known().cmp(&a.bloat.known()).then(a.cgroup.cmp(&b.cgroup)));
    all
}

fn faults(state: &State, plan: &Plan) -> FaultStatus {
    let bytes = |pages: f64| state.machine.geometry.bytes(saturating_u64(pages));
    let (size, huge) = (&state.limits.fault_size, &state.limits.huge_faults);
    let (wanted, size_reason) = size.wanted();
    FaultStatus {
        size: wanted,
        size_reason,
        size_changes: size.changes(),
        huge: huge.wanted().map(|(is_wanted, _)| is_wanted),
        huge_reason: huge.wanted().map(|(_, reason)| reason),
        huge_changes: huge.changes(),
        unwritten: plan.unwritten.map(|estimate| bytes(estimate.pages)),
        unwritten_error: plan.unwritten.map(|estimate| bytes(estimate.error())),
        sizes: state.machine.sample.as_ref().map_or(Vec::new(), |m| m.sizes.clone()),
    }
}

fn compaction(state: &State, plan: &Plan) -> CompactionStatus {
    let totals = state.account.totals.compaction.clone();
    let total = state.machine.sample.as_ref().and_then(|machine| machine.mem_total);
    let reserve = |total| state.limits.compaction.reserve(total, state.machine.geometry);
    CompactionStatus {
        reserve_blocks: total.map_or(0, reserve),
        wanted_blocks: plan.compaction.map_or(0, |wanted| wanted.blocks),
        expected_cpu: (totals.won > 0).then_some(plan.ledger.compaction),
        running: state.limits.compaction.is_running(),
        held_back: state.limits.compaction.held_back(),
        totals,
    }
}

/// A whole manager at `now`.
pub fn manager(manager: &Manager, dry_run: bool, now: Ns) -> ManagerStatus {
    let (config, state, plan) = (manager.config(), manager.state(), manager.plan());
    let sources = Sources { config, state, plan, limits: manager.limits() };
    let left_alone = state.programs.left_alone.iter().map(|l| LeftAloneStatus {
        pid: l.sample.id.pid,
        name: l.sample.name.clone(),
        anon: l.sample.anon,
        reason: l.reason,
    });
    let Totals { promoted, demoted, freed_pages, filled, warm_ups, withheld, .. } =
        state.account.totals;
    let bloat = state.bloat();
    ManagerStatus {
        schema: SCHEMA,
        age_ms: 0,
        abandoned_workers: state.machine.sample.as_ref().map_or(0, |m| m.abandoned_workers),
        mode: manager.mode().key().to_owned(),
        pids: manager.selection().named.as_ref().map(|ids| ids.iter().map(|id| id.pid).collect()),
        dry_run,
        policy: config.policy.active.key().to_owned(),
        trackers: state.machine.sample.as_ref().map_or(Vec::new(), |m| m.trackers.clone()),
        outlook: plan.ledger.outlook,
        paused: state.limits.paused,
        gate: gate::closed_for_all(config, state, now),
        allocation_backoff_s: state
            .limits
            .backoffs
            .allocation(now)
            .map(|until| until.since(now).as_s()),
        compaction: compaction(state, plan),
        faults: faults(state, plan),
        warming: state.limits.warm.wanted(config.promote.warm),
        own_cpu: state.account.own_cpu,
        warm_cpu: state.account.warm_cpu,
        bloat_budget: plan.bloat_budget,
        known_bloat: bloat.known(),
        bloat,
        giving_back: plan.giving_back,
        pressure: state.limits.pressure.on_machine(),
        frees_zeros: state.machine.sample.as_ref().and_then(|machine| machine.frees_zeros),
        frames_hidden: state.machine.frames_hidden,
        promoted,
        rate_bytes_per_s: state
            .account
            .rate
            .per_s(now)
            .map(|rate| memory(state.machine.geometry, rate)),
        left_s: state.account.rate.left_s(plan.waiting(), now),
        demoted,
        freed: state.machine.geometry.bytes(freed_pages),
        filled,
        warm_ups,
        withheld,
        failed: state.account.totals.failed.values().sum(),
        cgroups: cgroups(state),
        targets: targets(sources, now),
        left_alone: left_alone.collect(),
    }
}
