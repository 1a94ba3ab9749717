//! Workloads that are part of hugewise: small, and they verify their data.

use crate::lab::kind::{Default, Kind, Param};

/// Metrics that whoever starts a workload measures from outside; a workload itself never says
/// them. Every other metric of a built-in kind is in what the workload says when it is ready or
/// has measured; those of the phase [`AFTER`] in what it says when it is measured once more.
pub const PARENT_METRICS: &[&str] = &[
    "rss_mib",
    "cgroup_mib",
    "mem_available_less_mib",
    "huge_mib",
    "user_cpu_s",
    "kernel_cpu_s",
    "after.rss_mib",
    "after.cgroup_mib",
    "after.huge_mib",
];

/// The phase of [`WITH_CHANGE`] after memory was given back.
pub const AFTER: &str = "after";

/// Kinds that know a second phase: they give a part of their memory back, and are measured again
/// ([`AFTER`]).
pub const WITH_CHANGE: &[&str] = &["sparse-touch", "allocator-churn"];

const MIB: Param =
    Param { name: "mib", default: Default::Count(256, 2, 1 << 20), help: "Memory, MiB." };

const ORDER: Param = Param {
    name: "order",
    default: Default::Word(&["sequential", "random"]),
    help: "In which order memory is touched.",
};

const PURGE_PERCENT: Param = Param {
    name: "purge_percent",
    default: Default::Count(50, 0, 100),
    help: "Share that is given back before it is measured again, percent.",
};

const fn param(name: &'static str, default: Default, help: &'static str) -> Param {
    Param { name, default, help }
}

/// See the module's text.
pub(super) const KINDS: &[Kind] = &[
    FAULT_LATENCY,
    SPARSE_TOUCH,
    GUPS,
    POINTER_CHASE,
    HASH_JOIN,
    BTREE,
    GRAPH,
    ALLOCATOR_CHURN,
    SHARED_SEGMENT,
    FORK_COW,
    MERGEABLE,
    STRIDE,
];

const FAULT_LATENCY: Kind = Kind {
    name: "fault-latency",
    about: "Touches fresh memory, unmaps it and starts again; times every first touch.",
    params: &[
        MIB,
        ORDER,
        param("step_kib", Default::Count(4, 4, 2048), "Distance of two touches, KiB."),
        param("threads", Default::Count(1, 1, 8), "Threads, each with its part of the memory."),
    ],
    metrics: &[
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

const SPARSE_TOUCH: Kind = Kind {
    name: "sparse-touch",
    about: "Uses a few base pages of each huge page; the second phase gives some of them back.",
    params: &[
        MIB,
        param(
            "pages_per_region",
            Default::Count(32, 1, 512),
            "Base pages in use, of the 512 of a huge page.",
        ),
        PURGE_PERCENT,
    ],
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

const GUPS: Kind = Kind {
    name: "gups",
    about: "Updates random words of one large table.",
    params: &[MIB],
    metrics: &["ops_per_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

const POINTER_CHASE: Kind = Kind {
    name: "pointer-chase",
    about: "Follows one random cycle through all cache lines of its memory.",
    params: &[MIB],
    metrics: &["ns_per_step", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

const HASH_JOIN: Kind = Kind {
    name: "hash-join",
    about: "Builds a hash table and probes it at random, as a database joins two tables.",
    params: &[
        MIB,
        param(
            "match_percent",
            Default::Count(50, 0, 100),
            "Share of the probes that find a row, percent.",
        ),
    ],
    metrics: &["ops_per_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

const BTREE: Kind = Kind {
    name: "btree",
    about: "Looks up random keys of a packed B+ tree.",
    params: &[MIB],
    metrics: &[
        "ops_per_s",
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "fill_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
    ],
    programs: &[],
};

const GRAPH: Kind = Kind {
    name: "graph",
    about: "Breadth-first search or PageRank on a generated graph with skewed degrees.",
    params: &[
        param(
            "algorithm",
            Default::Word(&["bfs", "pagerank"]),
            "Search from random vertices, or rank all of them.",
        ),
        param("scale", Default::Count(20, 4, 32), "The graph has 2 to this power vertices."),
        param("degree", Default::Count(8, 1, 64), "Edges generated for each vertex."),
    ],
    metrics: &["edges_per_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

const ALLOCATOR_CHURN: Kind = Kind {
    name: "allocator-churn",
    about: "Allocates and frees blocks of mixed sizes; the second phase frees some for good.",
    params: &[
        param("live_mib", Default::Count(256, 1, 1 << 20), "Memory that is in use, MiB."),
        param("largest_kib", Default::Count(64, 1, 1024), "Size of the largest blocks, KiB."),
        PURGE_PERCENT,
    ],
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

const SHARED_SEGMENT: Kind = Kind {
    name: "shared-segment",
    about: "Processes that all map and touch one shared memory segment, as a database's do.",
    params: &[
        MIB,
        param("processes", Default::Count(8, 1, 256), "Processes that attach the segment."),
        param("pages", Default::Word(&["base", "hugetlb"]), "On which pages the segment is."),
    ],
    metrics: &["page_tables_mib", "ops_per_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

const FORK_COW: Kind = Kind {
    name: "fork-cow",
    about: "Rewrites memory while a forked child holds its snapshot, as a database saves itself.",
    params: &[
        MIB,
        param(
            "rewrite_percent",
            Default::Count(50, 1, 100),
            "Rewritten pages during a snapshot, percent of all.",
        ),
    ],
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

const MERGEABLE: Kind = Kind {
    name: "mergeable",
    about: "Memory with many equal pages that the kernel may merge (KSM, where it is on).",
    params: &[
        MIB,
        param(
            "duplicate_percent",
            Default::Count(50, 0, 100),
            "Share of the pages that are all equal, percent.",
        ),
    ],
    metrics: &["merged_mib", "ops_per_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

const STRIDE: Kind = Kind {
    name: "stride",
    about: "Touches one byte each stride, again and again: huge pages hold much more than that.",
    params: &[
        MIB,
        param("stride_kib", Default::Count(50, 1, 1 << 20), "Distance of two touches, KiB."),
    ],
    metrics: &["ops_per_s", "touched_mib", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};
