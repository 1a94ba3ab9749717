//! Workloads that are part of hugewise: small, and they verify their data.

use crate::kind::{Demand, Kind, More, Source, Start, count, params, word, words};
use crate::machine::with_machine;

/// Metrics that whoever starts a workload measures from outside; a workload itself never says
/// them. Every other metric of a built-in kind is in what the workload says when it is ready or
/// has measured; those of the phase [`AFTER`] in what it says when it is measured once more.
pub const PARENT_METRICS: &[&str] = with_machine![
    "rss_mib",
    "cgroup_mib",
    "mem_available_less_mib",
    "huge_mib",
    "reach_s",
    "reach_huge_percent",
    "user_cpu_s",
    "kernel_cpu_s",
    "after.rss_mib",
    "after.cgroup_mib",
    "after.huge_mib",
];

/// The phase of kinds with [`More::Change`] after memory was given back.
pub const AFTER: &str = "after";

words! {
    /// Order of first touches.
    Order { Sequential = "sequential", Random = "random" }
}

words! {
    /// Where the hot part of a table lies.
    HotPart { Within = "within", Apart = "apart" }
}

words! {
    /// What is updated.
    Updates { Words = "words", Pages = "pages" }
}

words! {
    /// What updates are compared with while they run.
    Yardstick { Nothing = "nothing", BasePages = "base_pages" }
}

words! {
    /// What is computed on a graph.
    Algorithm { Bfs = "bfs", PageRank = "pagerank" }
}

words! {
    /// Pages of a shared segment.
    SegmentPages { Base = "base", HugeTlb = "hugetlb" }
}

params! {
    /// Parameters of `fault-latency`.
    FaultLatency {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        order: Order = word(), "In which order memory is touched.";
        step_kib: usize = count(4, 4, 2048), "Distance of two touches, KiB.";
        threads: usize = count(1, 1, 8), "Threads, each with its part of the memory.";
    }
}

params! {
    /// Parameters of `sparse-touch`.
    SparseTouch {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        pages_per_region: usize = count(32, 1, 512),
            "Base pages in use, of the 512 of a huge page.";
        purge_percent: u64 = count(50, 0, 100),
            "Share that is given back before it is measured again, percent.";
    }
}

params! {
    /// Parameters of `gups`.
    Gups {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        hot_percent: usize = count(100, 1, 100),
            "Updates go to this share of the table, at its end, percent.";
        hot: HotPart = word(), "Where that part lies.";
        updates: Updates = word(),
            "Any words, many at a time; or one word of any page, each after the other.";
        beside: Yardstick = word(),
            "In turn the same on base pages, which a busy host slows as much.";
    }
}

params! {
    /// Parameters of `pointer-chase` and `btree`.
    Size {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
    }
}

params! {
    /// Parameters of `hash-join`.
    HashJoin {
        mib: usize = count(256, 4, 1 << 20), "Memory of both tables, MiB.";
        table_percent: usize = count(12, 1, 90), "Share of the hash table, percent.";
    }
}

params! {
    /// Parameters of `graph`.
    Graph {
        algorithm: Algorithm = word(), "Search from random vertices, or rank all of them.";
        scale: usize = count(20, 4, 32), "The graph has 2 to this power vertices.";
        degree: usize = count(8, 1, 64), "Edges generated for each vertex.";
    }
}

params! {
    /// Parameters of `allocator-churn`.
    AllocatorChurn {
        live_mib: usize = count(256, 1, 1 << 20), "Memory that is in use, MiB.";
        largest_kib: u64 = count(64, 1, 1024), "Size of the largest blocks, KiB.";
        purge_percent: u64 = count(50, 0, 100),
            "Share that is given back before it is measured again, percent.";
    }
}

params! {
    /// Parameters of `shared-segment`.
    SharedSegment {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        processes: usize = count(8, 1, 256), "Processes that attach the segment.";
        pages: SegmentPages = word(), "On which pages the segment is.";
    }
}

params! {
    /// Parameters of `fork-cow`.
    ForkCow {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        rewrite_percent: usize = count(50, 1, 100),
            "Rewritten pages during a snapshot, percent of all.";
    }
}

params! {
    /// Parameters of `stride`.
    Stride {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        stride_kib: usize = count(50, 1, 1 << 20), "Distance of two touches, KiB.";
    }
}

macro_rules! takes_its_size {
    ($($name:ident)*) => {$(
        impl Demand for $name {
            fn memory_mib(&self) -> Option<u64> {
                Some(self.mib as u64)
            }
        }
    )*};
}

takes_its_size! { FaultLatency SparseTouch Gups HashJoin Size SharedSegment Stride }

impl Demand for Graph {
    /// Not known: it depends on what is drawn.
    fn memory_mib(&self) -> Option<u64> {
        None
    }
}

impl Demand for AllocatorChurn {
    fn memory_mib(&self) -> Option<u64> {
        Some(self.live_mib as u64)
    }
}

impl Demand for ForkCow {
    /// The child keeps what the parent rewrites.
    fn memory_mib(&self) -> Option<u64> {
        Some((self.mib + self.mib * self.rewrite_percent / 100) as u64)
    }
}

pub(super) const FAULT_LATENCY: Kind = Kind {
    name: "fault-latency",
    about: "Touches fresh memory, unmaps it and starts again; times every first touch.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: FaultLatency::PARAMS,
    metrics: with_machine![
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "touch_s",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
    ],
    programs: &[],
};

pub(super) const SPARSE_TOUCH: Kind = Kind {
    name: "sparse-touch",
    about: "Uses a few base pages of each huge page; the second phase gives some of them back.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Change,
    params: SparseTouch::PARAMS,
    metrics: &[
        "touched_mib",
        "ops_per_s",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
        "after.touched_mib",
        "after.ops_per_s",
        "after.rss_mib",
        "after.cgroup_mib",
        "after.huge_mib",
    ],
    programs: &[],
};

pub(super) const GUPS: Kind = Kind {
    name: "gups",
    about: "Updates random words of one large table, or of its last part.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: Gups::PARAMS,
    metrics: &[
        "ops_per_s",
        "times_base",
        "reach_s",
        "reach_huge_percent",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
    ],
    programs: &[],
};

pub(super) const POINTER_CHASE: Kind = Kind {
    name: "pointer-chase",
    about: "Follows one random cycle through all cache lines of its memory.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: Size::PARAMS,
    metrics: &["ns_per_step", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const BTREE: Kind = Kind {
    name: "btree",
    about: "Looks up random keys of a packed B+ tree.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: Size::PARAMS,
    metrics: &[
        "ops_per_s",
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "reach_s",
        "reach_huge_percent",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
    ],
    programs: &[],
};

pub(super) const HASH_JOIN: Kind = Kind {
    name: "hash-join",
    about: "Rows, read in their order, look random partners up in a hash table at the end.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: HashJoin::PARAMS,
    metrics: &[
        "ops_per_s",
        "reach_s",
        "reach_huge_percent",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
    ],
    programs: &[],
};

pub(super) const GRAPH: Kind = Kind {
    name: "graph",
    about: "Breadth-first search or PageRank on a generated graph with skewed degrees.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: Graph::PARAMS,
    metrics: &[
        "edges_per_s",
        "reach_s",
        "reach_huge_percent",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
    ],
    programs: &[],
};

pub(super) const ALLOCATOR_CHURN: Kind = Kind {
    name: "allocator-churn",
    about: "Allocates and frees blocks of mixed sizes; the second phase frees some for good.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Change,
    params: AllocatorChurn::PARAMS,
    metrics: &[
        "ops_per_s",
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "live_mib",
        "overhead_percent",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
        "after.ops_per_s",
        "after.p50_us",
        "after.p99_us",
        "after.p999_us",
        "after.worst_us",
        "after.live_mib",
        "after.overhead_percent",
        "after.rss_mib",
        "after.cgroup_mib",
        "after.huge_mib",
    ],
    programs: &[],
};

pub(super) const SHARED_SEGMENT: Kind = Kind {
    name: "shared-segment",
    about: "Processes that all map and touch one shared memory segment, as a database's do.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: SharedSegment::PARAMS,
    metrics: &["page_tables_mib", "ops_per_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const FORK_COW: Kind = Kind {
    name: "fork-cow",
    about: "Rewrites memory while a forked child holds its snapshot, as a database saves itself.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: ForkCow::PARAMS,
    metrics: &[
        "fork_ms",
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "extra_mib",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
    ],
    programs: &[],
};

pub(super) const STRIDE: Kind = Kind {
    name: "stride",
    about: "Touches one byte each stride, again and again: huge pages hold much more than that.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: Stride::PARAMS,
    metrics: &["ops_per_s", "touched_mib", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};
