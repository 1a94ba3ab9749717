//! What a world (live, recorded or simulated) shows: plain values, no handles, no kernel text.
//!
//! `None` means unknown: the source is missing or refused. It is never written as 0.

use crate::access::{AccessAsk, AccessReport, Offer};
use crate::compaction::CompactReport;
use crate::monitors;
use crate::reason::SkipReason;
use hugewise_base::parse::cgroup;
use hugewise_base::units::{Addr, Bytes, Geometry, Ns, ProcId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the engine wants to see in one observation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Read the machine-wide counters.
    pub machine: bool,
    /// List every process (about 7 us each: `docs/measurements.md#listing-processes`).
    pub processes: bool,
    /// Which of them.
    #[serde(default)]
    pub list: ListAsk,
    /// Processes whose handles stay open; a world closes all others.
    pub targets: Vec<ProcId>,
    /// cgroups whose memory usage is wanted, as [`ProcessSample::cgroup`] names them.
    #[serde(default)]
    pub cgroups: Vec<String>,
    /// Address spaces to scan, in this order.
    pub scans: Vec<ScanAsk>,
    /// Single regions to inspect, after the scans.
    #[serde(default, rename = "looks")]
    pub inspections: Vec<InspectAsk>,
    /// How programs use their memory, after the inspections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<AccessAsk>,
}

/// Which processes are listed; all of them by default. Users decide how many there are: whoever
/// lists them again and again asks only for those that matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListAsk {
    /// Only these pids.
    pub only: Option<Vec<u32>>,
    /// Only those with at least so much anonymous memory.
    pub least_anon: Bytes,
    /// ... or with so much shared memory; `None`: that is no reason to list one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_shmem: Option<Bytes>,
    /// At most so many, the largest of each user in turn; 0: no bound.
    pub most: usize,
}

/// One address space to scan, from a cursor on, within a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanAsk {
    /// Whose memory.
    pub target: ProcId,
    /// Where the last scan stopped; `Addr(0)` starts a new pass.
    pub from: Addr,
    /// CPU time that this scan may take; at least one chunk is always read.
    pub budget: Ns,
    /// Also find shared and partially mapped pages: costs more, for views only.
    pub detail: bool,
    /// Also scan shared memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_memory: bool,
    /// Also scan program text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
}

/// An object that processes share: shared anonymous memory, a System V segment, a memfd, a file of
/// tmpfs, or a program's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectId {
    /// Device of its file system: major and minor number.
    pub device: (u32, u32),
    /// Its inode number.
    pub inode: u64,
}

/// One region to inspect: its page frames, and on demand its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectAsk {
    /// Whose memory.
    pub target: ProcId,
    /// Which region.
    pub region: Addr,
    /// Start of its mapping.
    pub mapping: Addr,
    /// Read samples of its contents: only where the configuration allows it (`demote.sample`).
    pub sample: bool,
}

/// The answer to a [`InspectAsk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectReport {
    /// Whose memory.
    pub target: ProcId,
    /// Which region.
    pub at: Addr,
    /// What was seen of it; `None`: nothing is populated, or nothing could be seen.
    pub region: Option<RegionSample>,
    /// Why nothing was seen, or nothing of its contents.
    pub refused: Option<SkipReason>,
    /// CPU time that it took.
    pub cost: Ns,
}

/// Memory of a cgroup: of it and its ancestors the one that is nearest to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupSample {
    /// Memory charged.
    pub usage: Bytes,
    /// Its limit.
    pub limit: Bytes,
    /// Time in which a process of the cgroup itself waited for memory, since it was made; `None`
    /// where its kernel does not count that (PSI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_us: Option<u64>,
    /// How often usage reached the limit, since it was made; `None` where that is not counted:
    /// in version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_hits: Option<u64>,
}

/// The answer to an [`Ask`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// When the observation was complete, on the world's monotonic clock.
    pub at: Ns,
    /// Machine-wide values, when asked for.
    pub machine: Option<MachineSample>,
    /// All visible processes, when asked for.
    pub processes: Option<Vec<ProcessSample>>,
    /// CPU time that listing them took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_cost: Option<Ns>,
    /// Memory of the cgroups asked for; one without any limit is left out.
    #[serde(default)]
    pub cgroups: BTreeMap<String, CgroupSample>,
    /// One report per scan asked for.
    pub scans: Vec<ScanReport>,
    /// One report per inspection asked for.
    #[serde(default, rename = "looks")]
    pub inspections: Vec<InspectReport>,
    /// One report per half of a look at how memory is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<AccessReport>,
    /// CPU time of the observer since it started, without that of warming ahead; the own-CPU
    /// budget is charged with what two observations differ by.
    pub own_cpu: Option<Ns>,
    /// CPU time of warming ahead, in a thread of the idle scheduling class with a budget of its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_cpu: Option<Ns>,
    /// Blocks that were warmed ahead and not wanted after all, since the observer started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_unused: Option<u64>,
    /// What became of the compaction that was begun last, once: with the first machine-wide values
    /// after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactReport>,
}

/// Effective value of the anonymous THP switch (kernel: `enabled`; from 6.8 on the per-size file
/// wins over the top one).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThpMode {
    /// Huge pages at fault time for everybody.
    Always,
    /// Only where the program asked with `MADV_HUGEPAGE`.
    Madvise,
    /// Switched off by the operator.
    Never,
}

impl ThpMode {
    /// As the kernel writes it; `None` for any other word, such as `inherit`.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Always, Self::Madvise, Self::Never].into_iter().find(|mode| mode.name() == word)
    }

    /// As the kernel writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Madvise => "madvise",
            Self::Never => "never",
        }
    }
}

/// Free memory of a NUMA node, in the zones that are a substantial part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFree {
    /// Its number.
    pub node: u32,
    /// Free blocks of at least huge-page order, counted in huge pages.
    pub free_huge: u64,
    /// Free memory in smaller pieces.
    pub pieces: Bytes,
}

impl NodeFree {
    /// The one of which compaction helps most: a node without free blocks before others, and of
    /// these the one with most free memory in small pieces, of which most blocks can be made.
    pub fn best<'a>(nodes: impl Iterator<Item = &'a Self>) -> Option<Self> {
        nodes.max_by_key(|node| (node.free_huge == 0, node.pieces)).copied()
    }
}

/// One size of multi-size THP: folios larger than a base page and smaller than a huge page
/// (`hugepages-*kB`, from Linux 6.8 on).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeSample {
    /// Bytes of one folio.
    pub size: Bytes,
    /// Whom faults give it to: its `enabled`, and the top file where that says `inherit`.
    pub mode: ThpMode,
    /// Folios of this size in anonymous memory (`stats/nr_anon`, from 6.12 on).
    pub folios: Option<u64>,
    /// ... of which some pages are not mapped any more, and still held.
    pub partially_mapped: Option<u64>,
    /// Faults that were given one since boot (`stats/anon_fault_alloc`, from 6.10 on).
    pub faults: Option<u64>,
    /// Faults that were not, as no block of the size was free.
    pub fallbacks: Option<u64>,
    /// Folios split since boot.
    pub splits: Option<u64>,
    /// The unusable free space index at this size: 0 good, 1 bad.
    pub fmfi: Option<f64>,
    /// What khugepaged made of this size; `None` before Linux 7.3, which made none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapses: Option<SizeCollapses>,
}

/// What the kernel counts since boot of collapses to a size below a huge page (Linux 7.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeCollapses {
    /// Folios that were taken for one (`stats/collapse_alloc`).
    pub made: u64,
    /// Collapses that found no block of the size (`stats/collapse_alloc_failed`).
    pub failed: u64,
    /// ... that `max_ptes_none` stopped (`stats/collapse_exceed_none_pte`),
    pub over_none: u64,
    /// ... pages that are swapped out (`stats/collapse_exceed_swap_pte`),
    pub over_swap: u64,
    /// ... and pages that others share (`stats/collapse_exceed_shared_pte`).
    pub over_shared: u64,
}

/// Fewer folios on the whole machine hold too little that nobody wrote for regions to be left alone
/// for it: two huge pages' worth (`docs/measurements.md#defaults-by-choice`).
const FEW_FOLIOS: Bytes = Bytes::mib(4);

/// Machine-wide values that policy and views use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineSample {
    /// Page sizes.
    pub geometry: Geometry,
    /// Effective THP mode; `None` where the kernel has no THP or the file cannot be read.
    pub thp: Option<ThpMode>,
    /// `MemTotal`.
    pub mem_total: Option<Bytes>,
    /// `MemAvailable`.
    pub mem_available: Option<Bytes>,
    /// `MemFree`.
    pub mem_free: Option<Bytes>,
    /// FMFI at huge-page order (`docs/measurements.md#fmfi`): 0 good, 1 bad.
    pub fmfi: Option<f64>,
    /// Free blocks of at least huge-page order, counted in huge pages.
    pub free_huge: Option<u64>,
    /// Whether khugepaged may reclaim and compact for a huge page (`khugepaged/defrag`); `None`:
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub khugepaged_defrag: Option<bool>,
    /// Free memory of each NUMA node; none where that is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeFree>,
    /// Sizes of multi-size THP that faults may hand out, ascending; none before Linux 6.8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeSample>,
    /// Whether splitting a huge page gives its zero pages back (Linux 6.12): proven on a child's
    /// memory; `None` where that could not be found out.
    #[serde(default)]
    pub frees_zeros: Option<bool>,
    /// Trackers of memory's use, and whether they work here; none where that was not found out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trackers: Vec<Offer>,
    /// Workers of the observer that were given up and have not ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub abandoned_workers: u64,
    /// Memory pressure: PSI `some avg10`, percent of wall time.
    pub psi_some_avg10: Option<f64>,
    /// Time in which some process waited for memory, since boot (PSI `some total`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_us: Option<u64>,
    /// `/proc/vmstat` counters whose names start with `thp_` or `compact_`, and the fault counters.
    pub vmstat: BTreeMap<String, u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl MachineSample {
    /// Whether a region that is not huge may hold pages that no program wrote: faults hand out
    /// several pages at a time, or did, and more than a few of these folios are left.
    pub fn has_multi_size_folios(&self) -> bool {
        let bytes = |size: &SizeSample| size.folios.unwrap_or(0).saturating_mul(size.size.0);
        let left: u64 = self.sizes.iter().map(bytes).fold(0, u64::saturating_add);
        left >= FEW_FOLIOS.0 || self.sizes.iter().any(|size| size.mode != ThpMode::Never)
    }

    /// A machine for simulations and tests: 16 GiB, half free, no fragmentation.
    pub fn example() -> Self {
        Self {
            geometry: Geometry::X86_64,
            thp: Some(ThpMode::Madvise),
            mem_total: Some(Bytes::mib(16 << 10)),
            mem_available: Some(Bytes::mib(8 << 10)),
            mem_free: Some(Bytes::mib(8 << 10)),
            fmfi: Some(0.0),
            free_huge: Some(4096),
            khugepaged_defrag: None,
            nodes: Vec::new(),
            sizes: Vec::new(),
            frees_zeros: Some(true),
            trackers: Vec::new(),
            abandoned_workers: 0,
            psi_some_avg10: Some(0.0),
            stalled_us: Some(0),
            vmstat: BTreeMap::new(),
        }
    }
}

/// One process as the cheap files show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessSample {
    /// Identity.
    pub id: ProcId,
    /// Command name, at most 15 bytes, chosen by the program: untrusted text.
    pub name: String,
    /// Path of the executable; `None` where it cannot be read.
    pub exe: Option<String>,
    /// Owner.
    pub uid: Option<u32>,
    /// The user that stands for the owner where that is an id which was lent to him; `None`: the
    /// owner himself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_uid: Option<u32>,
    /// Owner's name from the root's passwd file.
    pub user: Option<String>,
    /// cgroup path (the memory controller's on v1, the unified one on v2).
    pub cgroup: Option<String>,
    /// systemd unit, from the cgroup path.
    pub unit: Option<String>,
    /// CPU weight of its cgroup, in percent of the default; `None` where it has none, or somebody
    /// else than root may set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_weight_percent: Option<u32>,
    /// Resident memory.
    pub rss: Bytes,
    /// Resident anonymous memory, as resident minus shared pages.
    pub anon: Bytes,
    /// Shared memory that it maps and has touched; `None` where that was not read: it has too
    /// little of it to matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shmem: Option<Bytes>,
    /// Minor and major faults since start: a cheap sign that memory changed.
    pub faults: u64,
    /// CPU time since start, user and kernel; `None` where it was not read.
    #[serde(default, rename = "cpu_ns", skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Ns>,
    /// A kernel thread has no memory of its own.
    pub kernel_thread: bool,
    /// Scheduled real-time or deadline.
    pub real_time: bool,
    /// Runs on isolated CPUs only.
    pub isolated: bool,
    /// `THP_enabled: 0` in its status: it called `PR_SET_THP_DISABLE`.
    pub thp_disabled: Option<bool>,
    /// Set on the observer itself.
    pub is_self: bool,
    /// It has `/dev/kvm` open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kvm: bool,
}

impl ProcessSample {
    /// Its largest kind of memory that can become huge.
    pub fn largest(&self) -> Bytes {
        self.anon.max(self.shmem.unwrap_or_default())
    }

    /// Id of the user whose share it takes.
    pub fn account(&self) -> Option<u32> {
        self.account_uid.or(self.uid)
    }

    /// What shares a memory limit with it: its cgroup; where that is unknown, itself alone.
    pub fn cgroup_key(&self) -> Cow<'_, str> {
        match &self.cgroup {
            Some(cgroup) => Cow::Borrowed(cgroup),
            None => Cow::Owned(format!("pid {}", self.id)),
        }
    }

    /// The machine monitor that it is; `None`: it runs no virtual machine.
    pub fn monitor(&self) -> Option<&'static str> {
        monitors::monitor(self.exe.as_deref(), self.kvm)
    }

    /// What its cgroup belongs to ([`cgroup::belongs_to`]); else its unit.
    pub fn belongs_to(&self) -> Option<String> {
        self.cgroup.as_deref().and_then(cgroup::belongs_to).or_else(|| self.unit.clone())
    }

    /// A process for simulations and tests: of an ordinary user, in cgroup `/sim0` or `/sim1`.
    pub fn example(pid: u32, anon: Bytes) -> Self {
        Self {
            id: ProcId { pid, start_ticks: u64::from(pid) * 100 },
            name: format!("sim{pid}"),
            exe: None,
            uid: Some(1000),
            account_uid: None,
            user: None,
            cgroup: Some(format!("/sim{}", pid % 2)),
            unit: None,
            cpu_weight_percent: None,
            rss: anon,
            anon,
            shmem: None,
            faults: 0,
            cpu: None,
            kernel_thread: false,
            real_time: false,
            isolated: false,
            thp_disabled: Some(false),
            is_self: false,
            kvm: false,
        }
    }
}

/// What a scan found out about one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionSample {
    /// Where it starts; a multiple of the huge page size.
    pub at: Addr,
    /// Populated base pages: present or swapped, the shared zero page not counted.
    pub populated: u16,
    /// Base pages in swap (or under a migration entry), part of `populated`.
    pub swapped: u16,
    /// Base pages mapped to the shared zero page: they cost nothing and are not in `populated`.
    #[serde(default)]
    pub zero_page: u16,
    /// Mapped by one PMD entry.
    pub huge: bool,
    /// Start of the mapping it lies in: tells when the mapping was replaced.
    pub mapping: Addr,
    /// Base pages shared with another process; known only from a detailed scan.
    pub shared: Option<u16>,
    /// Base pages of a huge page's block that are not mapped here any more and still held; 0: no
    /// such block. Known only from a detailed scan or an inspection, by a reader who may see page
    /// frames.
    #[serde(default)]
    pub held: Option<u16>,
    /// Populated base pages that hold only zeros, estimated from a sample of the region's contents;
    /// known only where reading them was asked for.
    #[serde(default)]
    pub zeros: Option<u16>,
    /// The object whose memory it is; `None`: it is private. Of shared memory `populated` counts
    /// the pages that the object has, whoever touched them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectId>,
}

impl RegionSample {
    /// Whether it maps pieces of a huge page whose rest is still held.
    pub fn partially_mapped(&self) -> Option<bool> {
        self.held.map(|held| held > 0)
    }
}

/// Why a scan gave nothing, or stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanEnd {
    /// The whole address space was seen.
    Complete,
    /// The budget ran out; go on from here.
    Partial(Addr),
    /// The process cannot be scanned, for this reason.
    Refused(SkipReason),
}

/// One scan of one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScanReport {
    /// Whose memory.
    pub target: ProcId,
    /// Where this scan began (the ask's cursor).
    pub from: Addr,
    /// How it ended.
    pub end: ScanEnd,
    /// Eligible mappings' regions, ascending.
    pub regions: Vec<RegionSample>,
    /// Regions in mappings that are not candidates at all, by reason. Filled when a pass starts.
    pub excluded: BTreeMap<SkipReason, u64>,
    /// CPU time that it took.
    pub cost: Ns,
}

#[cfg(test)]
impl ScanReport {
    /// A whole pass that saw these regions, all of them huge.
    pub(crate) fn huge(target: ProcId, regions: impl IntoIterator<Item = Addr>) -> Self {
        let region = |at| RegionSample {
            at,
            populated: 512,
            swapped: 0,
            zero_page: 0,
            huge: true,
            mapping: Addr(0),
            shared: None,
            held: None,
            zeros: None,
            object: None,
        };
        Self {
            target,
            from: Addr(0),
            end: ScanEnd::Complete,
            regions: regions.into_iter().map(region).collect(),
            excluded: BTreeMap::new(),
            cost: Ns(0),
        }
    }
}
