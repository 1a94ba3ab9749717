//! Workloads that show what hugewise costs and gains: its scans, its promotions, its splits, its
//! rest, and how fast it reads recordings.

use super::groups::{EXECUTABLE, FILLED, MEASUREMENT, joined, latencies};
use crate::kind::{
    Demand, Kind, Part, Program, Source, Times, count, no_demands, params, text, word, words,
};

/// Longest that something may be waited for, seconds.
const WAIT_MAX_S: u64 = 86_400;
/// How long a recording is read, seconds: guessed.
const READ_S: u64 = 2;

words! {
    /// When a program advises huge pages.
    Later { None = "none", Later = "later" }
}

words! {
    /// Whether a program works meanwhile.
    Meanwhile { Asleep = "asleep", Awake = "awake" }
}

words! {
    /// Whether a program asks for huge pages before its fill.
    Advise { None = "none", Huge = "huge" }
}

words! {
    /// Which pages of a program hold data.
    Fill { Dense = "dense", Sparse = "sparse", Huge = "huge" }
}

words! {
    /// How page tables are read.
    Method { Hugewise = "hugewise", Pagemap = "pagemap", Smaps = "smaps" }
}

words! {
    /// What a made-up program does with its memory.
    Shape { Arena = "arena", Table = "table", Purge = "purge" }
}

words! {
    /// What the program of `hugewise try` goes through.
    DemoScenario { Tail = "tail", Trial = "trial" }
}

/// Freed memory is waited for no longer than a trial waits for it, seconds.
const TRIAL_SETTLES_S: u64 = 20;

words! {
    /// Which program reads a recording.
    Tool { Sadf = "sadf", Hugewise = "hugewise" }
}

params! {
    /// Parameters of `promote`.
    Promote {
        mib: u64 = count(2048, 4, 1 << 20), "Memory, MiB; even.";
        advise: Later = word(),
            "'later' advises huge pages after the fill: khugepaged then serves the program.";
        meanwhile: Meanwhile = word(),
            "'awake' works for a millisecond of every five: calls count in full.";
        limit_s: u64 = count(300, 1, WAIT_MAX_S),
            "The rate is that of so many seconds where not all is huge by then.";
    }
}

params! {
    /// Parameters of `rest`.
    Rest {
        mib: u64 = count(16 << 10, 4, 1 << 20), "Memory, MiB; even.";
        advise: Advise = word(),
            "'huge' fills huge pages where the machine gives them, 'none' base pages.";
    }
}

params! {
    /// Parameters of `scan`.
    Scan {
        mib: u64 = count(1024, 4, 1 << 20), "Memory, MiB; even.";
        fill: Fill = word(), "All base pages, 51 of each 512, or huge pages.";
        method: Method = word(), "hugewise's scan, or reading a file of the kernel.";
        passes: u64 = count(9, 1, 10_000), "Passes over all memory, whose median counts.";
    }
}

params! {
    /// Parameters of `scale`.
    Scale {
        gib: u64 = count(1024, 1, 16 << 10), "Simulated memory, GiB.";
        processes: u64 = count(10_000, 1, 100_000), "Simulated processes that share it evenly.";
        ticks: u64 = count(30, 1, 10_000), "Quiet ticks, whose median counts.";
    }
}

params! {
    /// Parameters of `recover`.
    Recover {
        mib: u64 = count(1024, 4, 1 << 20), "Memory, MiB; even.";
        drop_kib: u64 = count(1128, 4, 2044), "Dropped of every 2 MiB, KiB: whole base pages.";
        limit_s: u64 = count(300, 1, WAIT_MAX_S), "Waited no longer than this, seconds.";
    }
}

params! {
    /// Parameters of `demo`.
    Demo {
        mib: u64 = count(512, 4, 1 << 20), "Memory, MiB; even.";
        scenario: DemoScenario = word(),
            "'tail' times it alone and then beside the manager, 'trial' while a manager promotes \
             (for manage_s at most) and then at rest.";
        free_percent: u64 = count(70, 1, 95),
            "A trial frees so much of the memory at its end, in random pieces, percent.";
    }
}

params! {
    /// Parameters of `bloat`.
    Bloat {
        mib: u64 = count(1024, 4, 1 << 20), "Memory, MiB; even.";
        shape: Shape = word(),
            "Arenas used at their start, a table allocated as zeros, or a purged heap.";
        watch_s: u64 = count(45, 1, WAIT_MAX_S),
            "How long its memory is watched, the same for all variants, seconds.";
    }
}

params! {
    /// Parameters of `numpy` and `node`.
    Zeros {
        mib: u64 = count(1024, 4, 1 << 20), "Memory, MiB; even.";
        watch_s: u64 = count(45, 1, WAIT_MAX_S),
            "How long its memory is watched, the same for all variants, seconds.";
    }
}

params! {
    /// Parameters of `diagnose`.
    Diagnose {
        tool: Tool = word(), "Who reads it.";
        file: String = text(""),
            "Binary file of sysstat, as /var/log/sysstat/sa22; without it one is recorded.";
        record_s: u64 = count(120, 2, WAIT_MAX_S),
            "Length of that recording, a sample a second, made once for all runs.";
    }
}

macro_rules! takes {
    ($($name:ident, |$this:ident, $times:ident| $seconds:expr;)*) => {$(
        impl Demand for $name {
            fn seconds(&self, $times: Times) -> u64 {
                let $this = self;
                $seconds
            }
        }
    )*};
}

takes! {
    Promote, |this, _times| this.limit_s;
    Recover, |this, _times| this.limit_s;
    Scan, |_this, _times| READ_S;
    Diagnose, |_this, _times| READ_S;
    Demo, |this, times| match this.scenario {
        DemoScenario::Tail => times.measure_s.saturating_mul(2),
        DemoScenario::Trial => times.and(TRIAL_SETTLES_S),
    };
    Bloat, |this, times| times.and(this.watch_s);
    Zeros, |this, times| times.and(this.watch_s);
}

no_demands! { Rest }

impl Demand for Scale {
    fn memory_mib(&self) -> Option<u64> {
        Some(self.gib / 2 + 64)
    }

    fn seconds(&self, _times: Times) -> u64 {
        READ_S
    }
}

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

pub(super) const PROMOTE: Kind = Kind {
    name: "promote",
    about: "Holds well-used base pages until somebody has made them huge.",
    params: Promote::PARAMS,
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
    ..MEASUREMENT
};

pub(super) const REST: Kind = Kind {
    name: "rest",
    about: "Holds memory that never changes: what a manager costs once all is done.",
    params: Rest::PARAMS,
    metrics: &["rest.manager_cpu_percent", "rest.manager_rss_mib", "rss_mib", "huge_mib"],
    ..MEASUREMENT
};

pub(super) const SCAN: Kind = Kind {
    name: "scan",
    about: "Holds memory of which is found out how well it is used, in one of three ways.",
    params: Scan::PARAMS,
    metrics: &["cpu_ms_per_gib", "rss_mib", "huge_mib"],
    ..MEASUREMENT
};

pub(super) const SCALE: Kind = Kind {
    name: "scale",
    about: "A simulated machine on which nothing changes: what the loop itself takes.",
    params: Scale::PARAMS,
    metrics: &["quiet.tick_ms", "quiet.worst_tick_ms", "state_mib", "first_pass_s"],
    ..MEASUREMENT
};

pub(super) const RECOVER: Kind = Kind {
    name: "recover",
    about: "Holds huge pages, drops a part of each, and waits until the manager got it back.",
    params: Recover::PARAMS,
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
    ..MEASUREMENT
};

pub(super) const DEMO: Kind = Kind {
    name: "demo",
    about: "The program of 'hugewise try', timed alone and then beside the manager, if any.",
    params: Demo::PARAMS,
    metrics: joined![
        &["access_ns", "access.p99_us", "access.p999_us", "access.worst_us"],
        latencies!("fault."),
        latencies!("map."),
        &[
            "alone.access_ns",
            "alone.access.p999_us",
            "alone.fault.p999_us",
            "alone.map.p999_us",
            "promoting.access.p999_us",
            "promoting.fault.p999_us",
            "promoting.map.p999_us",
            "first_touch.p999_us"
        ],
        FILLED,
        &[
            "dense.huge_percent",
            "sparse.huge_percent",
            "idle.huge_percent",
            "freed.cgroup_mib",
            "settled.cgroup_mib",
            "settle_s",
            "promoting_s",
            "promoted",
            "demoted",
            "promoted.manager_cpu_s",
            "demoted.manager_cpu_s",
            "verified_words"
        ]
    ],
    ..EXECUTABLE
};

pub(super) const BLOAT: Kind = Kind {
    name: "bloat",
    about: "A made-up program that uses little of what it touched.",
    params: Bloat::PARAMS,
    metrics: BLOAT_METRICS,
    ..EXECUTABLE
};

pub(super) const NUMPY: Kind = Kind {
    name: "numpy",
    about: "An array of zeros in Python, of which few elements are in use.",
    huge_pages: Source::Variant,
    params: Zeros::PARAMS,
    metrics: BLOAT_METRICS,
    // The system's own: a further Python does not find Debian's packages.
    programs: &[Program {
        name: "/usr/bin/python3",
        package: "python3-numpy",
        part: Some(Part { name: "numpy", tried_with: &["-c", "import numpy"] }),
    }],
    ..EXECUTABLE
};

pub(super) const NODE: Kind = Kind {
    name: "node",
    about: "A typed array in JavaScript, of which few elements are in use.",
    huge_pages: Source::Variant,
    params: Zeros::PARAMS,
    metrics: BLOAT_METRICS,
    programs: &[Program::of("node", "nodejs")],
    ..EXECUTABLE
};

pub(super) const DIAGNOSE: Kind = Kind {
    name: "diagnose",
    about: "A recording of sar, read by 'hugewise diagnose' as text or by 'sadf -j' as it is.",
    params: Diagnose::PARAMS,
    metrics: &["read_s", "recording_mib"],
    programs: &[Program::of("sadf", "sysstat"), Program::of("sar", "sysstat")],
    ..MEASUREMENT
};
