//! Machine-wide values.

use crate::root::Root;
use hugewise_base::parse;
use hugewise_base::parse::buddyinfo::ZoneFree;
use hugewise_base::units::{Bytes, Geometry};
use hugewise_manager::limits::fault_size;
use hugewise_manager::ownership::{THP_DIR, ThpFiles};
use hugewise_manager::snapshot::{MachineSample, NodeFree, SizeCollapses, SizeSample, ThpMode};
use std::collections::BTreeSet;

/// Reads everything machine-wide that the policy uses. What cannot be read is `None`.
pub fn sample(root: &Root, geometry: Geometry) -> MachineSample {
    let memory = root.read_text("proc/meminfo").map(|t| parse::meminfo::parse(&t).value);
    let memory = memory.unwrap_or_default();
    let order = usize::try_from(geometry.huge_order()).unwrap_or(9);
    let zones = root.read_text("proc/buddyinfo").ok().map(|t| parse::buddyinfo::parse(&t).value);
    let zones = zones.filter(|zones| !zones.is_empty());
    let pressure = root.read_text("proc/pressure/memory").ok();
    let stalls = pressure.and_then(|t| parse::pressure::parse(&t).value.some);
    let vmstat = root.read_text("proc/vmstat").map(|t| parse::vmstat::parse(&t).value.0);
    let mut vmstat = vmstat.unwrap_or_default();
    vmstat.retain(|name, _| {
        name.starts_with("thp_") || name.starts_with("compact_") || name.starts_with("pgfault")
    });
    MachineSample {
        geometry,
        thp: thp_mode(root, geometry),
        mem_total: memory.mem_total_bytes.map(Bytes),
        mem_available: memory.mem_available_bytes.map(Bytes),
        mem_free: memory.mem_free_bytes.map(Bytes),
        fmfi: zones.as_ref().and_then(|z| parse::buddyinfo::fmfi_total(z, order)),
        free_huge: zones.as_ref().map(|z| parse::buddyinfo::free_blocks_at_or_above(z, order)),
        khugepaged_defrag: khugepaged_defrag(root),
        nodes: zones.as_ref().map(|z| nodes(z, geometry)).unwrap_or_default(),
        sizes: sizes(root, geometry, zones.as_deref()),
        frees_zeros: None,
        trackers: Vec::new(),
        abandoned_workers: 0,
        psi_some_avg10: stalls.map(|stall| stall.avg10),
        stalled_us: stalls.map(|stall| stall.total_us),
        vmstat,
    }
}

/// Free memory of each NUMA node.
fn nodes(zones: &[ZoneFree], geometry: Geometry) -> Vec<NodeFree> {
    let numbers: BTreeSet<_> = zones.iter().map(|zone| zone.node).collect();
    numbers.into_iter().map(|node| node_free(zones, node, geometry)).collect()
}

/// What these zones have free of one NUMA node.
pub(crate) fn node_free(zones: &[ZoneFree], node: u32, geometry: Geometry) -> NodeFree {
    let order = usize::try_from(geometry.huge_order()).unwrap_or(9);
    let own: Vec<_> = zones.iter().filter(|zone| zone.node == node).cloned().collect();
    let free_huge = parse::buddyinfo::free_blocks_at_or_above(&own, order);
    let whole = geometry.regions(free_huge);
    let all = geometry.bytes(parse::buddyinfo::free_blocks_at_or_above(&own, 0));
    NodeFree { node, free_huge, pieces: all.saturating_sub(whole) }
}

/// Sizes of multi-size THP that faults may hand out.
fn sizes(root: &Root, geometry: Geometry, zones: Option<&[ZoneFree]>) -> Vec<SizeSample> {
    let top = thp_choice(root, "enabled");
    let mut all = Vec::new();
    for size in fault_size::sizes(geometry.base).into_iter().filter(|s| *s < geometry.huge) {
        let dir = format!("hugepages-{}kB", size.0 >> 10);
        let own = thp_choice(root, &format!("{dir}/enabled"));
        let files = ThpFiles { top: top.clone(), per_size: own, ..ThpFiles::default() };
        let mode = files.per_size.as_ref().and_then(|_| files.effective());
        let Some((mode, _)) = mode else { continue };
        let count = |name: &str| {
            let text = root.read_line(format!("{THP_DIR}/{dir}/stats/{name}")).ok();
            text.and_then(|text| text.trim().parse().ok())
        };
        let order = usize::try_from((size.0 / geometry.base.0).ilog2()).unwrap_or(0);
        all.push(SizeSample {
            size,
            mode,
            folios: count("nr_anon"),
            partially_mapped: count("nr_anon_partially_mapped"),
            faults: count("anon_fault_alloc"),
            fallbacks: count("anon_fault_fallback"),
            splits: count("split"),
            fmfi: zones.and_then(|zones| parse::buddyinfo::fmfi_total(zones, order)),
            collapses: collapses(count),
        });
    }
    all
}

/// What the kernel counts of collapses to a size; `None` where it does not.
fn collapses(count: impl Fn(&str) -> Option<u64>) -> Option<SizeCollapses> {
    Some(SizeCollapses {
        made: count("collapse_alloc")?,
        failed: count("collapse_alloc_failed")?,
        over_none: count("collapse_exceed_none_pte")?,
        over_swap: count("collapse_exceed_swap_pte")?,
        over_shared: count("collapse_exceed_shared_pte")?,
    })
}

/// NUMA nodes that have memory; `None` where the kernel does not say, as without NUMA.
pub fn nodes_with_memory(root: &Root) -> Option<BTreeSet<u32>> {
    let list = root.read_line("sys/devices/system/node/has_memory").ok()?;
    parse::cpulist::parse(&list).ok()
}

/// Whether khugepaged may reclaim and compact for a huge page.
pub(crate) fn khugepaged_defrag(root: &Root) -> Option<bool> {
    let text = root.read_line(format!("{THP_DIR}/khugepaged/defrag")).ok()?;
    Some(text.trim().parse::<u64>().ok()? > 0)
}

/// Free blocks of huge-page size, counted in huge pages; `None` where `/proc/buddyinfo` cannot be
/// read.
pub fn free_huge(root: &Root, geometry: Geometry) -> Option<u64> {
    free_of(root, geometry, None).huge
}

/// How much of the free memory a huge page finds room in.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FreeBlocks {
    /// Free blocks of huge-page size, counted in huge pages; `None` where they cannot be read.
    pub huge: Option<u64>,
    /// FMFI at huge-page order; `None` where nothing is free, or it cannot be read.
    pub fmfi: Option<f64>,
}

/// Free blocks of one NUMA node, or of all of them.
pub fn free_of(root: &Root, geometry: Geometry, node: Option<u32>) -> FreeBlocks {
    let order = usize::try_from(geometry.huge_order()).unwrap_or(9);
    let text = root.read_text("proc/buddyinfo").unwrap_or_default();
    let mut zones = parse::buddyinfo::parse(&text).value;
    zones.retain(|zone| node.is_none_or(|node| zone.node == node));
    if zones.is_empty() {
        return FreeBlocks::default();
    }
    FreeBlocks {
        huge: Some(parse::buddyinfo::free_blocks_at_or_above(&zones, order)),
        fmfi: parse::buddyinfo::fmfi_total(&zones, order),
    }
}

/// Huge pages that could not be allocated for a collapse since boot, by anybody:
/// `thp_collapse_alloc_failed` of `/proc/vmstat`.
pub fn failed_allocations(root: &Root) -> Option<u64> {
    let text = root.read_text("proc/vmstat").ok()?;
    parse::vmstat::parse(&text).value.0.get("thp_collapse_alloc_failed").copied()
}

/// Huge pages split since boot, on the whole machine: from the size's own counter where the kernel
/// has one (6.10), else `thp_split_page` of `/proc/vmstat`; `None` where neither can be read.
pub fn splits(root: &Root, geometry: Geometry) -> Option<u64> {
    let file = format!("{THP_DIR}/hugepages-{}kB/stats/split", geometry.huge.0 >> 10);
    let own = root.read_line(file).ok().and_then(|text| text.trim().parse().ok());
    let vmstat = || root.read_text("proc/vmstat").map(|t| parse::vmstat::parse(&t).value.0).ok();
    own.or_else(|| vmstat()?.get("thp_split_page").copied())
}

/// Folios of multi-size THP, of all sizes that faults may hand out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Folios {
    /// Split since boot.
    pub splits: u64,
    /// Memory of those of which pieces were dropped.
    pub in_pieces: Bytes,
    /// The largest size among these.
    pub largest: Bytes,
}

/// What the kernel counts of folios of multi-size THP; 0 where it does not.
pub fn folios(root: &Root) -> Folios {
    let mut all = Folios::default();
    for size in fault_size::sizes(geometry(root).base) {
        let count = |name: &str| {
            let file = format!("{THP_DIR}/hugepages-{}kB/stats/{name}", size.0 >> 10);
            root.read_line(file).ok().and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        all.splits += count("split");
        let pieces = count("nr_anon_partially_mapped");
        all.in_pieces += Bytes(pieces.saturating_mul(size.0));
        all.largest = if pieces > 0 { all.largest.max(size) } else { all.largest };
    }
    all
}

/// Page sizes of the root: `hpage_pmd_size`, and the running system's base page. A root without
/// the file (no THP in the kernel) gets the usual 2 MiB, so that sizes can still be shown.
pub fn geometry(root: &Root) -> Geometry {
    let base = Bytes(rustix::param::page_size() as u64);
    let huge = root.read_line(format!("{THP_DIR}/hpage_pmd_size")).ok();
    let huge = huge.and_then(|text| text.parse().ok()).filter(|h: &u64| h.is_power_of_two());
    Geometry { base, huge: huge.map_or(Geometry::X86_64.huge, Bytes) }
}

/// The effective value of the anonymous switch: two small files.
pub fn thp_mode(root: &Root, geometry: Geometry) -> Option<ThpMode> {
    let per_size_dir = format!("hugepages-{}kB", geometry.huge.0 >> 10);
    let per_size = thp_choice(root, &format!("{per_size_dir}/enabled"));
    let top = thp_choice(root, "enabled");
    let files = ThpFiles { top, per_size, per_size_dir, ..ThpFiles::default() };
    files.effective().map(|(mode, _)| mode)
}

fn thp_choice(root: &Root, file: &str) -> Option<String> {
    let text = root.read_line(format!("{THP_DIR}/{file}")).ok()?;
    parse::thp_choice::parse(&text).ok().map(|choice| choice.selected)
}

/// Whether `shmem_enabled` forbids what is asked for, too: `deny`, or `never` for the size of huge
/// pages (`shmem_allowable_huge_orders`, `mm/shmem.c` of Linux 6.18).
pub(crate) fn denies_shmem(root: &Root) -> bool {
    let per_size = format!("hugepages-{}kB/shmem_enabled", geometry(root).huge.0 >> 10);
    let is = |file: &str, word: &str| thp_choice(root, file).is_some_and(|mode| mode == word);
    is("shmem_enabled", "deny") || is(&per_size, "never")
}

/// The switches that modes own, as they stand.
pub fn thp_files(root: &Root, geometry: Geometry) -> ThpFiles {
    let per_size_dir = format!("hugepages-{}kB", geometry.huge.0 >> 10);
    let choice = |file: &str| thp_choice(root, file);
    ThpFiles {
        top: choice("enabled"),
        per_size: choice(&format!("{per_size_dir}/enabled")),
        defrag: choice("defrag"),
        shmem: choice("shmem_enabled"),
        max_ptes_none: root
            .read_line(format!("{THP_DIR}/khugepaged/max_ptes_none"))
            .ok()
            .and_then(|text| text.trim().parse().ok()),
        per_size_dir,
        pages_per_huge: geometry.pages_per_huge(),
        collapses_to_sizes: collapses_to_sizes(root, geometry),
    }
}

/// Whether khugepaged makes folios smaller than a huge page: kernels that do count them.
pub fn collapses_to_sizes(root: &Root, geometry: Geometry) -> bool {
    let mut sizes = fault_size::sizes(geometry.base).into_iter().filter(|s| *s < geometry.huge);
    sizes.any(|size| {
        root.has(format!("{THP_DIR}/hugepages-{}kB/stats/collapse_alloc", size.0 >> 10))
    })
}

/// Identity of this boot.
pub fn boot_id(root: &Root) -> Option<String> {
    root.read_line("proc/sys/kernel/random/boot_id").ok().filter(|id| !id.is_empty())
}

/// `uname -r`.
pub fn kernel_release(root: &Root) -> Option<String> {
    root.read_line("proc/sys/kernel/osrelease").ok()
}
