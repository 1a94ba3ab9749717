//! A small simulated machine: processes, regions, faults, frees, partial unmaps, forks,
//! fragmentation, and collapses that cost time and fail. Seeded, so that a failure repeats.
//!
//! It simulates what the policy can see and cause, not programs: a region is a populated count
//! and a few flags. Acting and scanning advance its clock by what the kernel would take
//! (`docs/measurements.md#remote-collapse`, `docs/measurements.md#page-scan-cost`). [`checks`]
//! watches every action.
//!
//! What becomes of programs' speed is a model of its own ([`tlb`]): a [`contest`] runs a policy, be
//! it ours, [`hawkeye`] or a kernel's ([`baseline`]), over a [`scenario`].

mod access;
pub mod activity;
pub mod baseline;
pub mod checks;
mod compaction;
pub mod contest;
mod faults;
mod folios;
pub mod hawkeye;
mod kernel;
pub mod neighbours;
pub mod scenario;
pub mod tlb;

use crate::access::Tracker;
use crate::compaction::Compact;
use crate::decision::{Decision, Outcome};
use crate::engine::{Wake, World};
use crate::reason::SkipReason;
use crate::snapshot::{
    Ask, CgroupSample, InspectAsk, InspectReport, MachineSample, Observation, ProcessSample,
    RegionSample, ScanAsk, ScanEnd, ScanReport, ThpMode,
};
use hugewise_base::rng::Rng;
use hugewise_base::units::{Addr, Bytes, Geometry, Ns};
use std::collections::{BTreeMap, BTreeSet};

pub use compaction::Pieces;
pub use folios::Folios;

const HUGE: u64 = Geometry::X86_64.huge.0;
const PAGES: u16 = 512;
/// The program that [`checks::config`] leaves alone.
const EXCLUDED: &str = "/excluded/program";

/// One simulated region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimRegion {
    /// Base pages that the program has touched and not freed.
    pub used: u16,
    /// Populated by faults that handed out several pages, and never written.
    pub unwritten: u16,
    /// Mapped huge: all pages are resident, `used` of them for a reason.
    pub huge: bool,
    /// Not huge any more, but its rest still holds the block.
    pub block: bool,
    /// Pages that a split replaced by the shared zero page.
    pub zero_page: u16,
    /// Shared with a forked child.
    pub shared: bool,
    /// The region with which its mapping begins.
    pub mapping: u64,
    /// The kernel refuses it (`MADV_NOHUGEPAGE` and the like).
    pub refusing: bool,
    /// What its program does to be refused, whatever is tried.
    pub trap: Option<Trap>,
    /// Times that all of it was freed: what comes after is another region at the same address.
    pub lives: u64,
    /// Pages in use when it was promoted, while it stays huge.
    pub promoted_from: Option<u16>,
    /// Base pages that its program accesses each second.
    pub accessed: u16,
    /// How often it accesses each of them in a second; 0 counts as 1.
    pub each: u32,
}

/// What a program can do so that promotions of its memory fail for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trap {
    /// Pinned pages: EAGAIN.
    Pinned,
    /// A hole under userfaultfd: EBUSY, as if the cgroup were at its limit.
    BusyHole,
    /// Its pages lie on several NUMA nodes.
    MixedNodes,
    /// They lie on a node without a free block.
    FullNode,
    /// They lie on a node whose free memory is in pieces: nothing that wastes memory is made huge.
    NodeInPieces,
}

/// One simulated process.
#[derive(Debug, Clone)]
pub struct SimProcess {
    /// As the policy sees it; sizes are filled in when it is observed.
    pub sample: ProcessSample,
    /// Its memory: region `i` starts at `BASE + i x 2 MiB`.
    pub regions: Vec<SimRegion>,
    /// It replaced its address space since it was last listed.
    pub execed: bool,
    /// Counts its address spaces.
    pub generation: u64,
    /// CPU time that it uses, in cores; `None`: nobody can tell.
    pub cores: Option<f64>,
}

impl SimProcess {
    /// A program with these regions.
    pub fn new(sample: ProcessSample, regions: Vec<SimRegion>) -> Self {
        Self { sample, regions, execed: false, generation: 0, cores: None }
    }
}

/// Where every simulated mapping starts.
pub const BASE: u64 = 0x7f00_0000_0000;

/// The simulated machine.
#[derive(Debug, Clone)]
pub struct Sim {
    /// All processes, by pid.
    pub processes: BTreeMap<u32, SimProcess>,
    /// Free blocks of huge-page size.
    pub free_huge: u64,
    /// Other free memory.
    pub pieces: Pieces,
    /// The switch.
    pub thp: ThpMode,
    /// Since when the switch stands as it does.
    pub thp_since: Ns,
    /// cgroups that are at their limit.
    pub full_cgroups: BTreeSet<String>,
    /// cgroups whose programs wait for memory for half of their time.
    pub stalled_cgroups: BTreeSet<String>,
    /// `khugepaged/max_ptes_none`; `None`: khugepaged is parked.
    pub max_ptes_none: Option<u16>,
    /// Splits give zero pages back (Linux 6.12).
    pub frees_zeros: bool,
    /// Page frames can be seen.
    pub shows_frames: bool,
    /// Memory in use by programs that are not simulated.
    pub others: Bytes,
    /// What faults hand out; `None`: base pages, on a kernel without multi-size THP.
    pub folios: Option<Folios>,
    /// How lively the programs are: events a second.
    pub events_per_s: u64,
    /// Trackers that its kernel offers: each shows what its kind shows on a real one.
    pub trackers: Vec<Tracker>,
    /// Trackers that refuse each program, and why.
    pub refusals: BTreeMap<Tracker, SkipReason>,
    /// CPU time of the manager for each list of processes.
    pub list_cost: Ns,
    /// Now and then a collapse or a split fails, or is slow, as on real machines. Without it runs
    /// can be compared.
    pub mishaps: bool,
    rng: Rng,
    now: Ns,
    next_event: Ns,
    /// Since when memory is short.
    short_since: Option<Ns>,
    end: Ns,
    cpu: Ns,
    next_pid: u32,
}

impl Sim {
    /// A machine with a few processes drawn from `seed`, running until `end`.
    pub fn new(seed: u64, end: Ns) -> Self {
        Self::on(seed, ThpMode::Madvise, end)
    }

    /// The same, with THP switched to `thp` before the processes start.
    pub fn on(seed: u64, thp: ThpMode, end: Ns) -> Self {
        let mut sim = Self {
            processes: BTreeMap::new(),
            free_huge: 200,
            pieces: Pieces::default(),
            thp,
            thp_since: Ns(0),
            full_cgroups: BTreeSet::new(),
            stalled_cgroups: BTreeSet::new(),
            max_ptes_none: None,
            frees_zeros: true,
            shows_frames: true,
            others: Bytes::mib(8 << 10),
            folios: None,
            events_per_s: 50,
            trackers: Vec::new(),
            refusals: BTreeMap::new(),
            list_cost: Ns(0),
            mishaps: true,
            rng: Rng::new(seed),
            now: Ns::s(1),
            next_event: Ns::s(1),
            short_since: None,
            end,
            cpu: Ns(0),
            next_pid: 100,
        };
        for _ in 0..3 + sim.rng.below(4) {
            sim.start_process();
        }
        sim
    }

    /// A quiet machine with one process of these regions: for demonstrations.
    pub fn with_regions(regions: Vec<SimRegion>, end: Ns) -> Self {
        let mut sim = Self { events_per_s: 0, ..Self::new(0, end) };
        sim.processes.clear();
        let sample = ProcessSample::example(100, Bytes(0));
        sim.free_huge = 2 * regions.len() as u64;
        sim.processes.insert(100, SimProcess::new(sample, regions));
        sim
    }

    /// A quiet machine of `processes` that have `regions` each: three of four are huge, the fourth
    /// is used too little to become so.
    pub fn quiet(processes: u32, regions: usize, end: Ns) -> Self {
        let mut sim = Self { events_per_s: 0, ..Self::new(0, end) };
        sim.processes.clear();
        let full = SimRegion { used: PAGES, huge: true, ..SimRegion::default() };
        let sparse = SimRegion { used: 100, ..SimRegion::default() };
        let all = (0..regions).map(|index| if index % 4 == 3 { sparse } else { full });
        let regions: Vec<_> = all.collect();
        for pid in (100..).take(processes as usize) {
            let sample = ProcessSample::example(pid, Bytes(0));
            let regions = regions.clone();
            let process = SimProcess::new(sample, regions);
            sim.processes.insert(pid, process);
        }
        sim
    }

    fn start_process(&mut self) {
        let pid = self.next_pid;
        self.next_pid += 1;
        let mut sample = ProcessSample::example(pid, Bytes(0));
        match self.rng.below(8) {
            0 => sample.thp_disabled = Some(true),
            1 => sample.real_time = true,
            2 => sample.exe = Some(EXCLUDED.into()),
            _ => {}
        }
        let dense = self.rng.percent(50);
        let count = 20 + self.rng.below(60);
        let regions: Vec<_> = (0..count).map(|_| self.new_region(dense)).collect();
        self.processes.insert(pid, SimProcess::new(sample, regions));
    }

    fn new_region(&mut self, dense: bool) -> SimRegion {
        let used = if dense { 505 + self.rng.below(8) } else { self.rng.below(513) };
        SimRegion {
            used: u16::try_from(used).unwrap_or(PAGES),
            huge: self.thp == ThpMode::Always && used > 0,
            refusing: self.rng.percent(2),
            ..SimRegion::default()
        }
    }

    /// Lets programs live until `to`.
    fn advance(&mut self, to: Ns) {
        while self.events_per_s > 0 && self.next_event <= to {
            self.event();
            self.next_event += Ns(1_000_000_000 / self.events_per_s);
        }
        self.now = self.now.max(to);
        self.compaction_works(self.now);
        self.short_since = self.is_short().then(|| self.short_since.unwrap_or(self.now));
    }

    fn event(&mut self) {
        match self.rng.below(1000) {
            0..5 => self.start_process(),
            5..8 => {
                if let Some(pid) = self.any_pid() {
                    self.processes.remove(&pid);
                }
            }
            8..12 => self.exec(),
            12..20 => self.free_huge = self.rng.below(40),
            20..40 => self.free_huge += 20,
            40..45 => {
                self.full_cgroups.insert(format!("/sim{}", self.rng.below(2)));
            }
            45..60 => {
                self.full_cgroups.clear();
                self.stalled_cgroups.clear();
                // Rarely: it counts for ten seconds.
                if self.rng.percent(1) {
                    self.stalled_cgroups.insert(format!("/sim{}", self.rng.below(2)));
                }
            }
            60..70 => self.fork_or_join(),
            72..75 => self.others = Bytes::mib((8 << 10) + self.rng.below(2) * 7800),
            75..155 => self.khugepaged(),
            // Rarely, and not where a test fixed it from the start.
            70..72 if self.thp_since > Ns(0) || self.thp == ThpMode::Madvise => {
                let never = self.thp == ThpMode::Never;
                self.thp = if never { ThpMode::Madvise } else { ThpMode::Never };
                self.thp_since = self.next_event;
            }
            _ => self.touch_region(),
        }
    }

    fn any_pid(&mut self) -> Option<u32> {
        let index = usize::try_from(self.rng.below(self.processes.len() as u64)).ok()?;
        self.processes.keys().nth(index).copied()
    }

    fn exec(&mut self) {
        let Some(pid) = self.any_pid() else { return };
        let count = 20 + self.rng.below(60);
        let regions: Vec<_> = (0..count).map(|_| self.new_region(true)).collect();
        if let Some(process) = self.processes.get_mut(&pid) {
            process.regions = regions;
            process.execed = true;
            process.generation += 1;
            process.sample.faults += count * 512;
        }
    }

    /// khugepaged makes one region huge, if it is full enough for its taste.
    fn khugepaged(&mut self) {
        let (pid, pick) = (self.any_pid(), self.rng.next());
        let Some(least) = self.max_ptes_none.map(|none| (PAGES - none).max(1)) else { return };
        let Some(process) = pid.and_then(|pid| self.processes.get_mut(&pid)) else { return };
        let count = process.regions.len() as u64;
        let index = usize::try_from(pick % count.max(1)).unwrap_or(0);
        let Some(region) = process.regions.get_mut(index) else { return };
        if !region.huge && !region.shared && region.used >= least {
            *region = SimRegion { huge: true, block: false, zero_page: 0, unwritten: 0, ..*region };
        }
    }

    /// A fork makes every page shared; the child's end makes them exclusive again.
    fn fork_or_join(&mut self) {
        let Some(pid) = self.any_pid() else { return };
        if let Some(process) = self.processes.get_mut(&pid) {
            let shared = !process.regions.first().is_some_and(|r| r.shared);
            for region in &mut process.regions {
                region.shared = shared;
            }
        }
    }

    /// Faults in, frees, or unmaps a part of one region; a partial unmap ends a huge mapping.
    fn touch_region(&mut self) {
        let Some(pid) = self.any_pid() else { return };
        let (pick, amount, kind) = (self.rng.next(), self.rng.below(513), self.rng.below(10));
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let count = process.regions.len() as u64;
        let index = usize::try_from(pick % count.max(1)).unwrap_or(0);
        let Some(region) = process.regions.get_mut(index) else {
            return;
        };
        let amount = u16::try_from(amount).unwrap_or(PAGES);
        let sparse = self.folios.is_some_and(|folios| pick % 100 < folios.sparse_percent);
        if kind < 8 {
            let first_touch = region.used == 0 && !region.huge;
            region.huge |= first_touch && self.thp == ThpMode::Always;
            let before = region.used;
            region.used = (region.used + amount / 4).min(PAGES);
            if let Some(folios) = self.folios.filter(|_| !region.huge) {
                region.faulted(region.used - before, folios, sparse);
            }
            region.zero_page = region.zero_page.min(PAGES - region.used - region.unwritten);
        } else {
            region.used = region.used.saturating_sub(amount);
            region.unwritten = if region.used == 0 { 0 } else { region.unwritten / 2 };
            region.zero_page = 0;
            region.block = (region.huge || region.block) && region.used > 0;
            region.huge = false;
            region.promoted_from = None;
            region.lives += u64::from(region.used == 0);
        }
        process.sample.faults += u64::from(amount);
    }

    fn machine_sample(&self) -> MachineSample {
        MachineSample {
            thp: Some(self.thp),
            mem_available: Some(
                MachineSample::example().mem_total.unwrap_or_default().saturating_sub(self.others),
            ),
            frees_zeros: Some(self.frees_zeros),
            fmfi: Some(self.fmfi()),
            free_huge: Some(self.free_huge),
            nodes: vec![self.node()],
            sizes: self.sizes(),
            trackers: self.offers(),
            ..MachineSample::example()
        }
    }

    fn list(&mut self) -> Vec<ProcessSample> {
        let now = self.now.as_s();
        let samples = self.processes.values_mut().map(|process| {
            process.execed = false;
            process.sample.cpu = process.cores.map(|cores| Ns::from_s(cores * now));
            let pages: u64 = process.regions.iter().map(|r| u64::from(r.resident())).sum();
            process.sample.anon = Geometry::X86_64.bytes(pages);
            process.sample.rss = process.sample.anon;
            process.sample.clone()
        });
        samples.collect()
    }

    fn scan(&mut self, ask: &ScanAsk) -> ScanReport {
        let Some(process) = self.processes.get(&ask.target.pid) else {
            return refused(ask, SkipReason::Gone);
        };
        if process.execed || process.sample.id != ask.target {
            return refused(ask, SkipReason::AddressSpaceChanged);
        }
        let (mut regions, mut cost, mut end) = (Vec::new(), Ns::us(50), ScanEnd::Complete);
        for (index, region) in process.regions.iter().enumerate() {
            let at = Addr(BASE + index as u64 * HUGE);
            if at < ask.from {
                continue;
            }
            if cost > ask.budget {
                end = ScanEnd::Partial(at);
                break;
            }
            // 5 ms/GiB of base pages in chunks; huge pages next to nothing
            // (docs/measurements.md#page-scan-cost).
            cost += if region.huge { Ns(100) } else { Ns::us(10) };
            let detail = ask.detail && self.shows_frames;
            regions.extend(region.sample(at, detail));
        }
        ScanReport {
            target: ask.target,
            from: ask.from,
            end,
            regions,
            excluded: BTreeMap::new(),
            cost,
        }
    }
}

impl SimRegion {
    /// Pages that count in RSS.
    const fn resident(&self) -> u16 {
        if self.huge { PAGES } else { self.used + self.unwritten }
    }

    /// Pages of memory that are gone for others.
    pub const fn physical(&self) -> u16 {
        if self.huge || self.block { PAGES } else { self.used + self.unwritten }
    }

    /// As a scan shows it; `None` when nothing is populated.
    fn sample(&self, at: Addr, frames: bool) -> Option<RegionSample> {
        (self.resident() > 0).then(|| RegionSample {
            at,
            populated: self.resident(),
            swapped: 0,
            zero_page: self.zero_page,
            huge: self.huge,
            mapping: Addr(BASE + self.mapping * HUGE),
            shared: frames.then_some(if self.shared { self.used } else { 0 }),
            held: frames.then_some(match self.block {
                true => PAGES - self.used - self.unwritten,
                false => 0,
            }),
            zeros: None,
            object: None,
        })
    }
}

fn refused(ask: &ScanAsk, reason: SkipReason) -> ScanReport {
    ScanReport {
        target: ask.target,
        from: ask.from,
        end: ScanEnd::Refused(reason),
        regions: Vec::new(),
        excluded: BTreeMap::new(),
        cost: Ns::us(5),
    }
}

impl Sim {
    fn inspect(&self, ask: &InspectAsk) -> InspectReport {
        let cost = Ns::us(if ask.sample { 70 } else { 30 });
        let at = ask.region;
        let report =
            |region, refused| InspectReport { target: ask.target, at, region, refused, cost };
        let Some(process) = self.processes.get(&ask.target.pid) else {
            return report(None, Some(SkipReason::Gone));
        };
        if process.execed || process.sample.id != ask.target {
            return report(None, Some(SkipReason::AddressSpaceChanged));
        }
        let index = usize::try_from((ask.region.0 - BASE) / HUGE).unwrap_or(usize::MAX);
        let Some(region) = process.regions.get(index) else { return report(None, None) };
        let zeros = if region.huge { PAGES - region.used } else { region.unwritten };
        let is_sampled = region.huge || self.folios.is_some();
        let zeros = (ask.sample && is_sampled).then_some(zeros);
        let sample = region.sample(ask.region, self.shows_frames);
        report(sample.map(|sample| RegionSample { zeros, ..sample }), None)
    }

    /// The cgroups whose usage was asked for: some way below the limit, or at it. Those of
    /// neighbours have none.
    fn cgroup_memory(&self, ask: &Ask) -> BTreeMap<String, CgroupSample> {
        let sample = |cgroup: &String| {
            let full = self.full_cgroups.contains(cgroup);
            let usage = Bytes::mib(if full { 1000 } else { 800 });
            // Since it was made; what it waited before it stalled does not matter.
            let stalls = self.stalled_cgroups.contains(cgroup);
            let stalled_us = Some(if stalls { self.now.0 / 2_000 } else { 0 });
            (
                cgroup.clone(),
                CgroupSample { usage, limit: Bytes::mib(1000), stalled_us, limit_hits: None },
            )
        };
        ask.cgroups.iter().filter(|cgroup| cgroup.starts_with("/sim")).map(sample).collect()
    }
}

impl World for Sim {
    fn observe(&mut self, ask: &Ask) -> Observation {
        self.advance(self.now);
        let machine = ask.machine.then(|| self.machine_sample());
        let processes = ask.processes.then(|| self.list());
        let scans: Vec<_> = ask.scans.iter().map(|scan| self.scan(scan)).collect();
        let inspections: Vec<_> = ask.inspections.iter().map(|ask| self.inspect(ask)).collect();
        let accesses: Vec<_> = ask.accesses.iter().map(|ask| self.access(ask)).collect();
        let cgroups = self.cgroup_memory(ask);
        let list_cost = processes.as_ref().map(|_| self.list_cost);
        let cost: u64 = list_cost.unwrap_or_default().0
            + scans.iter().map(|scan| scan.cost.0).sum::<u64>()
            + inspections.iter().map(|report| report.cost.0).sum::<u64>()
            + accesses.iter().map(|report| report.cost.0).sum::<u64>();
        self.cpu += Ns(cost);
        self.now += Ns(cost);
        let own_cpu = Some(self.cpu);
        Observation {
            at: self.now,
            machine,
            processes,
            list_cost,
            cgroups,
            scans,
            inspections,
            own_cpu,
            warm_cpu: None,
            warm_unused: None,
            accesses,
            compaction: ask.machine.then(|| self.compaction_report()).flatten(),
        }
    }

    fn act(&mut self, decision: &Decision) -> Outcome {
        let outcome = self.carry_out(decision);
        self.advance(self.now);
        outcome
    }

    fn compact(&mut self, order: &Compact) {
        self.order(order);
    }

    fn now(&mut self) -> Ns {
        self.now
    }

    fn wait_until(&mut self, at: Ns) -> Wake {
        self.advance(at);
        if self.now >= self.end { Wake::Stop } else { Wake::Reached }
    }
}
