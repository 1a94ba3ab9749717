//! Every mechanism that is probed: one row each, in the order in which views list them.

use super::finding::Need;

/// What is known about a mechanism before it is probed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) key: &'static str,
    pub(super) need: Need,
    pub(super) used_for: &'static str,
    pub(super) without: &'static str,
}

const fn row(need: Need, key: &'static str, used_for: &'static str, without: &'static str) -> Row {
    Row { key, need, used_for, without }
}

const NOT_USED: &str = "nothing changes: this version does not use it";

/// Of what tracks accesses.
const OTHER_TRACKER: &str = "another tracker is used (below), or utilization alone";

use Need::{Required, Unused, Useful};

/// The table.
pub(super) const MECHANISMS: &[Row] = &[
    row(Required, "thp", "huge pages at all", "nothing can be promoted"),
    row(Required, "pidfd", "act on the process that was meant", "nothing is acted on"),
    row(Required, "process_madvise", "the call that promotes and demotes", "hugewise only reports"),
    row(Required, "remote_collapse", "promote: make a region huge", "hugewise only reports"),
    row(Useful, "remote_cold", "demote: split a huge page", "what is huge stays huge"),
    row(
        Useful,
        "split_frees_zero_pages",
        "give unused memory back",
        "a split makes room for nothing: bloat is only avoided",
    ),
    row(Required, "contents_unchanged", "proof that no data is lost", "do not use 'manage'"),
    row(
        Useful,
        "pagemap_scan",
        "count populated pages cheaply",
        "pagemap is read entry by entry: 3 to 4 times dearer",
    ),
    row(
        Required,
        "pagemap_exclusive_bit",
        "leave shared (forked) pages alone",
        "a promotion could copy memory that processes share",
    ),
    row(Required, "settings_writable", "take THP over from the kernel", "use --keep-settings"),
    row(
        Useful,
        "per_vma_lock",
        "faults go on during a promotion",
        "every fault of the target waits: lower the rate",
    ),
    row(
        Useful,
        "shrinker_underused",
        "the kernel's own fallback",
        "unused parts of huge pages stay until hugewise splits",
    ),
    row(
        Useful,
        "per_size_thp_files",
        "the setting that is in force",
        "the top file alone decides, as on all kernels before 6.8",
    ),
    row(Useful, "buddyinfo", "fragmentation before acting", "promotes without looking first"),
    row(
        Useful,
        "compaction",
        "free blocks where memory is fragmented (compact.mode)",
        "promotions wait until blocks come free by themselves",
    ),
    row(
        Useful,
        "defrag_mode",
        "the kernel keeps free blocks whole",
        "faults take blocks apart, and wait for compaction: set vm.defrag_mode=1 at boot",
    ),
    row(
        Useful,
        "numa_nodes",
        "leave regions on several nodes alone",
        "a huge page may take memory away from the node that uses it",
    ),
    row(Useful, "psi_memory", "pressure: back off in time", "pressure from MemAvailable alone"),
    row(Useful, "memcg", "who shares a memory limit", "limits are noticed only on failure"),
    row(
        Useful,
        "pagemap_pfn",
        "partially mapped huge pages",
        "'status --map' shows these as base pages",
    ),
    row(Unused, "kpageflags", "state of single page frames", NOT_USED),
    row(Unused, "per_size_thp_stats", "counters of each huge page size", NOT_USED),
    row(Unused, "thp_disable_except_advised", "huge pages for one program", NOT_USED),
    row(Useful, "damon", "hot memory first: tracking", OTHER_TRACKER),
    row(Useful, "idle_page_tracking", "hot memory first: tracking", OTHER_TRACKER),
    row(Unused, "mglru", "age of memory by cgroup", NOT_USED),
    row(Unused, "tracefs", "latency of single collapses", NOT_USED),
    row(Unused, "perf_counters", "TLB misses, page walks", NOT_USED),
    row(Unused, "swap", "context: where cold memory goes", NOT_USED),
    row(Unused, "zswap", "context: compressed swap", NOT_USED),
];
