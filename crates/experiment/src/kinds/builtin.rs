//! Workloads that are part of hugewise: small, and they verify their data.

use super::groups::{BUILT_IN, CPU, FILLED, REACH, WAITS, holds, joined, latencies, memory};
use crate::kind::{Demand, Kind, More, count, no_demands, params, word, words};
use crate::machine::MACHINE;

/// Metrics that whoever starts a workload measures from outside; a workload itself never says
/// them. Every other metric of a built-in kind is in what the workload says when it is ready or
/// has measured; those of the phase [`AFTER`] in what it says when it is measured once more.
pub const PARENT_METRICS: &[&str] =
    joined![holds!(""), REACH, CPU, WAITS, memory!("after."), MACHINE];

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

words! {
    /// When a prefork server forks its workers.
    Forks { Filled = "filled", Settled = "settled" }
}

params! {
    /// Parameters of `prefork`.
    Prefork {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        workers: usize = count(8, 1, 256), "Workers, which are asked in turn.";
        forks: Forks = word(),
            "When they are forked: once memory is filled, or after the time of a manager.";
        reads: u64 = count(256, 1, 1 << 20), "Random words that a request reads.";
        writes: u64 = count(1, 0, 1 << 20), "Pages that a request writes to.";
        every: u64 = count(64, 1, 1 << 20), "Of so many pages one is ever written to.";
    }
}

params! {
    /// Parameters of `merge`.
    Merge {
        mib: usize = count(256, 4, 1 << 20), "Memory, MiB.";
        hot_percent: usize = count(50, 1, 99),
            "Share that is in use and that no other memory equals, at its end, percent.";
        copies: usize = count(16, 1, 1 << 20), "Pages of the rest that hold the same.";
    }
}

params! {
    /// Parameters of `text`.
    Text {
        mib: usize = count(32, 2, 1024), "Size of the program's text, MiB.";
    }
}

params! {
    /// Parameters of `requests`.
    Requests {
        mib: usize = count(16, 1, 1 << 20), "Memory that each request maps and fills, MiB.";
        per_s: u64 = count(10, 1, 10_000), "Requests that are due each second.";
    }
}

params! {
    /// Parameters of `stride`.
    Stride {
        mib: usize = count(256, 2, 1 << 20), "Memory, MiB.";
        stride_kib: usize = count(50, 1, 1 << 20), "Distance of two touches, KiB.";
    }
}

no_demands! { FaultLatency Requests
SparseTouch Gups HashJoin Size SharedSegment Stride Graph Merge }

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

impl Demand for Prefork {
    /// Each worker keeps copies of the pages that it writes to.
    fn memory_mib(&self) -> Option<u64> {
        let all = self.mib as u64;
        let written = (all / self.every).saturating_mul(self.workers as u64);
        Some(if self.writes == 0 { all } else { all.saturating_add(written) })
    }
}

impl Demand for Text {
    /// Its file, which is memory, and what is known of the path through it.
    fn memory_mib(&self) -> Option<u64> {
        Some(self.mib as u64 * 2)
    }
}

pub(super) const FAULT_LATENCY: Kind = Kind {
    name: "fault-latency",
    about: "Touches fresh memory, unmaps it and starts again; times every first touch.",
    params: FaultLatency::PARAMS,
    metrics: joined![latencies!(""), &["touch_s"], FILLED, MACHINE],
    ..BUILT_IN
};

pub(super) const REQUESTS: Kind = Kind {
    name: "requests",
    about: "A server of which each request maps memory, fills it and gives it back.",
    params: Requests::PARAMS,
    metrics: joined![latencies!(""), &["ops_per_s"], WAITS, FILLED, MACHINE],
    ..BUILT_IN
};

pub(super) const SPARSE_TOUCH: Kind = Kind {
    name: "sparse-touch",
    about: "Uses a few base pages of each huge page; the second phase gives some of them back.",
    more: More::Change,
    params: SparseTouch::PARAMS,
    metrics: joined![
        &["touched_mib", "ops_per_s"],
        FILLED,
        &["after.touched_mib", "after.ops_per_s"],
        memory!("after.")
    ],
    ..BUILT_IN
};

pub(super) const GUPS: Kind = Kind {
    name: "gups",
    about: "Updates random words of one large table, or of its last part.",
    params: Gups::PARAMS,
    metrics: joined![&["ops_per_s", "times_base"], REACH, FILLED],
    ..BUILT_IN
};

pub(super) const POINTER_CHASE: Kind = Kind {
    name: "pointer-chase",
    about: "Follows one random cycle through all cache lines of its memory.",
    params: Size::PARAMS,
    metrics: joined![&["ns_per_step"], FILLED],
    ..BUILT_IN
};

pub(super) const BTREE: Kind = Kind {
    name: "btree",
    about: "Looks up random keys of a packed B+ tree.",
    params: Size::PARAMS,
    metrics: joined![&["ops_per_s"], latencies!(""), REACH, FILLED],
    ..BUILT_IN
};

pub(super) const HASH_JOIN: Kind = Kind {
    name: "hash-join",
    about: "Rows, read in their order, look random partners up in a hash table at the end.",
    params: HashJoin::PARAMS,
    metrics: joined![&["ops_per_s"], REACH, FILLED],
    ..BUILT_IN
};

pub(super) const GRAPH: Kind = Kind {
    name: "graph",
    about: "Breadth-first search or PageRank on a generated graph with skewed degrees.",
    params: Graph::PARAMS,
    metrics: joined![&["edges_per_s"], REACH, FILLED],
    ..BUILT_IN
};

pub(super) const ALLOCATOR_CHURN: Kind = Kind {
    name: "allocator-churn",
    about: "Allocates and frees blocks of mixed sizes; the second phase frees some for good.",
    more: More::Change,
    params: AllocatorChurn::PARAMS,
    metrics: joined![
        &["ops_per_s"],
        latencies!(""),
        &["live_mib", "overhead_percent"],
        FILLED,
        &["after.ops_per_s"],
        latencies!("after."),
        &["after.live_mib", "after.overhead_percent"],
        memory!("after.")
    ],
    ..BUILT_IN
};

pub(super) const SHARED_SEGMENT: Kind = Kind {
    name: "shared-segment",
    about: "Processes that all map and touch one shared memory segment, as a database's do.",
    params: SharedSegment::PARAMS,
    metrics: joined![&["page_tables_mib", "ops_per_s"], FILLED],
    ..BUILT_IN
};

pub(super) const FORK_COW: Kind = Kind {
    name: "fork-cow",
    about: "Rewrites memory while a forked child holds its snapshot, as a database saves itself.",
    params: ForkCow::PARAMS,
    metrics: joined![&["fork_ms"], latencies!(""), &["extra_mib"], FILLED],
    ..BUILT_IN
};

pub(super) const PREFORK: Kind = Kind {
    name: "prefork",
    about: "A server whose workers share the memory that it filled before it forked them.",
    params: Prefork::PARAMS,
    metrics: joined![&["ops_per_s"], latencies!(""), &["fork_ms"], FILLED],
    ..BUILT_IN
};

pub(super) const MERGE: Kind = Kind {
    name: "merge",
    about: "Memory of which one part is in use and the other holds the same again and again, and \
            that the kernel may merge (KSM).",
    params: Merge::PARAMS,
    metrics: joined![&["ops_per_s", "merged_mib"], FILLED],
    ..BUILT_IN
};

pub(super) const TEXT: Kind = Kind {
    name: "text",
    about: "Calls functions all over a large program text, in a file in memory (x86-64).",
    params: Text::PARAMS,
    metrics: joined![&["ns_per_call", "text_huge_mib"], FILLED],
    ..BUILT_IN
};

pub(super) const STRIDE: Kind = Kind {
    name: "stride",
    about: "Touches one byte each stride, again and again: huge pages hold much more than that.",
    params: Stride::PARAMS,
    metrics: joined![&["ops_per_s", "touched_mib"], FILLED],
    ..BUILT_IN
};
