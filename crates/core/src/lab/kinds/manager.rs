//! Workloads that show what hugewise costs and gains: its scans, its promotions, its splits, its
//! rest, and how fast it reads recordings.

use crate::lab::kind::{Default, Kind, Param, Program};

/// Most that a program of ours may take, MiB.
const MIB_MAX: u64 = 1 << 20;
/// Longest that something may be waited for, seconds.
const WAIT_MAX_S: u64 = 86_400;

const fn mib(default: u64) -> Param {
    Param { name: "mib", default: Default::Count(default, 4, MIB_MAX), help: "Memory, MiB; even." }
}

const fn limit_s(default: u64, help: &'static str) -> Param {
    Param { name: "limit_s", default: Default::Count(default, 1, WAIT_MAX_S), help }
}

const WATCH_S: Param = Param {
    name: "watch_s",
    default: Default::Count(45, 1, WAIT_MAX_S),
    help: "How long its memory is watched, the same for all variants, seconds.",
};

/// Kinds of this family whose program has no huge pages from faults where it is told so, and lets
/// a manager promote after its fill.
pub(super) const WITH_LATER: &[&str] = &["demo", "bloat"];

/// Kinds of this family that do not ask their variant where huge pages come from.
pub(super) const WITH_OWN_PAGES: &[&str] = &["promote", "rest", "scan", "recover", "diagnose"];

/// What a program holds right after its start and in the end.
const BLOAT_METRICS: &[&str] = &[
    "cgroup_mib",
    "rss_mib",
    "mem_available_less_mib",
    "huge_mib",
    "ops_per_s",
    "at_once.cgroup_mib",
    "at_once.rss_mib",
    "at_once.huge_mib",
    "manager_cpu_s",
    "promoted",
    "demoted",
    "failed",
    "freed_mib",
];

/// See the module's text.
pub(super) const KINDS: &[Kind] =
    &[PROMOTE, REST, SCAN, RECOVER, DEMO, BLOAT, NUMPY, NODE, DIAGNOSE];

const PROMOTE: Kind = Kind {
    name: "promote",
    about: "Holds well-used base pages until somebody has made them huge.",
    params: &[
        mib(2048),
        Param {
            name: "advise",
            default: Default::Word(&["none", "later"]),
            help: "'later' advises huge pages after the fill: khugepaged then serves the program.",
        },
        limit_s(300, "The rate is that of so many seconds where not all is huge by then."),
    ],
    metrics: &[
        "huge_mib_per_s",
        "all_huge_s",
        "huge_mib",
        "manager_cpu_s",
        "manager_cpu_percent",
        "promoted",
        "failed",
        "call_p50_us",
        "call_p99_us",
    ],
    programs: &[],
};

const REST: Kind = Kind {
    name: "rest",
    about: "Holds memory that never changes: what a manager costs once all is done.",
    params: &[
        mib(16 << 10),
        Param {
            name: "advise",
            default: Default::Word(&["none", "huge"]),
            help: "'huge' fills huge pages where the machine gives them, 'none' base pages.",
        },
    ],
    metrics: &["rest.manager_cpu_percent", "rest.manager_rss_mib", "rss_mib", "huge_mib"],
    programs: &[],
};

const SCAN: Kind = Kind {
    name: "scan",
    about: "Holds memory of which is found out how well it is used, in one of three ways.",
    params: &[
        mib(1024),
        Param {
            name: "fill",
            default: Default::Word(&["dense", "sparse", "huge"]),
            help: "All base pages, 51 of each 512, or huge pages.",
        },
        Param {
            name: "method",
            default: Default::Word(&["hugewise", "pagemap", "smaps"]),
            help: "hugewise's scan, or reading a file of the kernel.",
        },
        Param {
            name: "passes",
            default: Default::Count(9, 1, 10_000),
            help: "Passes over all memory, whose median counts.",
        },
    ],
    metrics: &["cpu_ms_per_gib", "rss_mib", "huge_mib"],
    programs: &[],
};

const RECOVER: Kind = Kind {
    name: "recover",
    about: "Holds huge pages, drops a part of each, and waits until the manager got it back.",
    params: &[
        mib(1024),
        Param {
            name: "drop_kib",
            default: Default::Count(1128, 4, 2044),
            help: "Dropped of every 2 MiB, KiB: whole base pages.",
        },
        limit_s(300, "Waited no longer than this, seconds."),
    ],
    metrics: &[
        "gib_per_s",
        "back_s",
        "kept_mib",
        "demoted",
        "failed",
        "manager_cpu_s",
        "call_p50_us",
        "call_p99_us",
    ],
    programs: &[],
};

const DEMO: Kind = Kind {
    name: "demo",
    about: "The program of 'hugewise try', timed alone and then beside the manager, if any.",
    params: &[mib(512)],
    metrics: &[
        "access_ns",
        "access.p99_us",
        "access.p999_us",
        "access.worst_us",
        "fault.p50_us",
        "fault.p99_us",
        "fault.p999_us",
        "fault.worst_us",
        "map.p50_us",
        "map.p99_us",
        "map.p999_us",
        "map.worst_us",
        "alone.access_ns",
        "alone.access.p999_us",
        "alone.fault.p999_us",
        "alone.map.p999_us",
        "first_touch.p999_us",
        "fill_s",
        "cgroup_mib",
        "huge_mib",
        "promoted",
        "demoted",
    ],
    programs: &[],
};

const BLOAT: Kind = Kind {
    name: "bloat",
    about: "A made-up program that uses little of what it touched.",
    params: &[
        mib(1024),
        Param {
            name: "shape",
            default: Default::Word(&["arena", "table", "purge"]),
            help: "Arenas used at their start, a table allocated as zeros, or a purged heap.",
        },
        WATCH_S,
    ],
    metrics: BLOAT_METRICS,
    programs: &[],
};

const NUMPY: Kind = Kind {
    name: "numpy",
    about: "An array of zeros in Python, of which few elements are in use.",
    params: &[mib(1024), WATCH_S],
    metrics: BLOAT_METRICS,
    // The system's own: a further Python does not find Debian's packages.
    programs: &[Program { name: "/usr/bin/python3", package: "python3-numpy" }],
};

const NODE: Kind = Kind {
    name: "node",
    about: "A typed array in JavaScript, of which few elements are in use.",
    params: &[mib(1024), WATCH_S],
    metrics: BLOAT_METRICS,
    programs: &[Program { name: "node", package: "nodejs" }],
};

const DIAGNOSE: Kind = Kind {
    name: "diagnose",
    about: "A recording of sar, read by 'hugewise diagnose' as text or by 'sadf -j' as it is.",
    params: &[
        Param {
            name: "tool",
            default: Default::Word(&["sadf", "hugewise"]),
            help: "Who reads it.",
        },
        Param {
            name: "file",
            default: Default::Text(""),
            help: "Binary file of sysstat, as /var/log/sysstat/sa22; without it one is recorded.",
        },
        Param {
            name: "record_s",
            default: Default::Count(120, 2, WAIT_MAX_S),
            help: "Length of that recording, a sample a second, made once for all runs.",
        },
    ],
    metrics: &["read_s", "recording_mib"],
    programs: &[
        Program { name: "sadf", package: "sysstat" },
        Program { name: "sar", package: "sysstat" },
    ],
};
