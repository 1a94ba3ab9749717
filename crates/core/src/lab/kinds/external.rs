//! Workloads that are programs of others: servers, databases, a virtual machine, or any command.

use crate::lab::kind::{Default, Kind, Param, Params, Program};

const fn count(name: &'static str, default: [u64; 3], help: &'static str) -> Param {
    Param { name, default: Default::Count(default[0], default[1], default[2]), help }
}

const fn word(name: &'static str, words: &'static [&'static str], help: &'static str) -> Param {
    Param { name, default: Default::Word(words), help }
}

const fn flag(name: &'static str, default: bool, help: &'static str) -> Param {
    Param { name, default: Default::Flag(default), help }
}

/// What a workload needs of its experiment and has not got.
pub(super) fn fault(kind: &str, params: &Params, memory_limit_mib: Option<u64>) -> Option<String> {
    match kind {
        "redis" if params.text("scenario") == "timeline" && memory_limit_mib.is_none() => {
            Some("the scenario 'timeline' of redis fills memory: it needs memory_limit_mib".into())
        }
        // The rest of the heap is for garbage.
        "java" if params.count("live_mib") * 4 > params.count("heap_mib") * 3 => {
            Some("live_mib of java must be at most three quarters of heap_mib".into())
        }
        _ => None,
    }
}

/// See the module's text.
pub(super) const KINDS: &[Kind] = &[REDIS, MEMCACHED, POSTGRES, JAVA, COMMAND, STRESS];

const WATCH_S: Param = count(
    "watch_s",
    [45, 0, 3600],
    "How long memory is watched, the same for all variants, seconds.",
);

/// Name of the kind that runs beside a workload only.
pub const STRESS_NG: &str = "stress-ng";

const STRESS: Kind = Kind {
    name: STRESS_NG,
    about: "Any stressor of stress-ng, beside a workload ([[beside]]); its own figures are not \
            looked at.",
    params: &[Param {
        name: "args",
        default: Default::Texts,
        help: "Its arguments, as in [\"--vm\", \"2\", \"--vm-bytes\", \"256M\"].",
    }],
    metrics: &[],
    programs: &[Program { name: STRESS_NG, package: STRESS_NG }],
};

const REDIS: Kind = Kind {
    name: "redis",
    about: "A Redis server and one client, which compares every answer, or under an open load.",
    params: &[
        word(
            "scenario",
            &["bloat", "serve", "bgsave", "timeline", "load"],
            "What is done: most keys deleted; a mix of GET and SET; saving in the background \
             meanwhile; small values, most of them deleted, then large ones; the requests of \
             [load], which also says how many keys there are.",
        ),
        word("socket", &["unix", "tcp"], "How the client reaches the server."),
        count("keys", [60_000, 100, 100_000_000], "Number of keys."),
        count("value_bytes", [8192, 8, 1 << 20], "Size of a value, random bytes."),
        count("delete_percent", [70, 1, 99], "Share of the keys that are deleted, at random."),
        count("set_percent", [10, 0, 100], "Share of SET among the requests; the rest is GET."),
        count(
            "save_requests",
            [10_000, 1, 1_000_000_000],
            "Requests while a child saves (bgsave), the same ones for every variant. Without \
             'copied_mib' where the save is over before them.",
        ),
        count("large_mib", [256, 2, 1 << 20], "Values of 2 MiB, in all, MiB (timeline)."),
        WATCH_S,
    ],
    metrics: &[
        "ops_per_s",
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "offered_per_s",
        "achieved_per_s",
        "failed_share_percent",
        "service.p50_us",
        "service.p99_us",
        "knee_per_s",
        "bend_per_s",
        "kernel_cpu_percent",
        "user_cpu_s",
        "kernel_cpu_s",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
        "full.rss_mib",
        "full.cgroup_mib",
        "full.mem_available_less_mib",
        "full.huge_mib",
        "full.ops_per_s",
        "full.p50_us",
        "full.p99_us",
        "full.p999_us",
        "deleted.rss_mib",
        "deleted.cgroup_mib",
        "deleted.mem_available_less_mib",
        "deleted.huge_mib",
        "deleted.ops_per_s",
        "deleted.p50_us",
        "deleted.p99_us",
        "deleted.p999_us",
        "before.ops_per_s",
        "before.p50_us",
        "before.p99_us",
        "before.p999_us",
        "during.ops_per_s",
        "during.p50_us",
        "during.p99_us",
        "during.p999_us",
        "save_s",
        "fork_ms",
        "copied_mib",
        "survived",
        "large_mib",
        "peak_cgroup_mib",
        "manager_cpu_s",
        "promoted",
        "demoted",
        "failed",
        "freed_mib",
    ],
    programs: &[Program { name: "redis-server", package: "redis-server" }],
};

const MEMCACHED: Kind = Kind {
    name: "memcached",
    about: "memcached with few keys in a large hash table; every answer is compared.",
    params: &[
        count("hashpower", [26, 16, 32], "The table has 2 to the power of this many entries."),
        count("keys", [20_000, 100, 100_000_000], "Number of keys."),
        count("value_bytes", [200, 16, 1 << 19], "Size of a value."),
        count("memory_mib", [1024, 64, 1 << 20], "Limit of its items, MiB."),
        count("threads", [2, 1, 64], "Threads of the server."),
        WATCH_S,
    ],
    metrics: &[
        "at_once.rss_mib",
        "at_once.cgroup_mib",
        "at_once.mem_available_less_mib",
        "at_once.huge_mib",
        "later.rss_mib",
        "later.cgroup_mib",
        "later.mem_available_less_mib",
        "later.huge_mib",
        "ops_per_s",
        "p50_us",
        "p99_us",
        "p999_us",
        "manager_cpu_s",
        "promoted",
        "demoted",
        "failed",
        "freed_mib",
    ],
    programs: &[Program { name: "memcached", package: "memcached" }],
};

const POSTGRES: Kind = Kind {
    name: "postgres",
    about: "A PostgreSQL server under pgbench. It does not wait for the disk: fsync is off.",
    params: &[
        count("scale", [10, 1, 100_000], "Scale of pgbench's tables: about 15 MiB each."),
        count("clients", [4, 1, 1000], "Connections, of which each has a process of its own."),
        count("threads", [1, 1, 64], "Threads of pgbench."),
        count("rate", [0, 0, 10_000_000], "Transactions a second, scheduled; 0: as many as go."),
        count("shared_buffers_mib", [128, 1, 1 << 20], "Its buffer pool, MiB."),
        word(
            "hugetlb",
            &["off", "try", "on"],
            "Its setting huge_pages: the pool in HugeTLB pages.",
        ),
        flag("select_only", true, "Only reads; else pgbench's mix of reads and writes."),
        count("warm_s", [2, 0, 600], "The load runs for so long before it is measured, seconds."),
    ],
    metrics: &[
        "ops_per_s",
        "mean_us",
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "page_tables_mib",
        "rss_mib",
        "cgroup_mib",
        "hugetlb_mib",
        "user_cpu_s",
        "kernel_cpu_s",
    ],
    programs: &[
        Program { name: "initdb", package: "postgresql" },
        Program { name: "postgres", package: "postgresql" },
        Program { name: "pgbench", package: "postgresql" },
        Program { name: "setpriv", package: "util-linux" },
    ],
};

const JAVA: Kind = Kind {
    name: "java",
    about: "A JVM that allocates as fast as it can beside a live set, whose checksums it compares.",
    params: &[
        word("gc", &["g1", "serial", "parallel"], "Garbage collector."),
        count("heap_mib", [512, 32, 1 << 20], "Size of the heap, first and last, MiB."),
        count("live_mib", [192, 1, 1 << 20], "Data that stay alive, MiB."),
        count("survive_percent", [5, 0, 100], "Share of new arrays that replace an old one."),
        count("object_bytes", [1024, 64, 1 << 20], "Size of an array."),
        flag("large_pages", false, "-XX:+UseLargePages: the heap in HugeTLB pages."),
    ],
    metrics: &[
        "allocated_mib_per_s",
        "p50_us",
        "p99_us",
        "p999_us",
        "worst_us",
        "gc_count",
        "gc_ms",
        "rss_mib",
        "cgroup_mib",
        "huge_mib",
        "hugetlb_mib",
        "user_cpu_s",
        "kernel_cpu_s",
        "manager_cpu_s",
        "promoted",
        "failed",
    ],
    programs: &[
        Program { name: "java", package: "default-jdk-headless" },
        Program { name: "javac", package: "default-jdk-headless" },
    ],
};

const COMMAND: Kind = Kind {
    name: "command",
    about: "Any program, run to its end.",
    params: &[
        Param { name: "program", default: Default::Text("true"), help: "The program." },
        Param {
            name: "args",
            default: Default::Texts,
            help: "Its arguments. {seed}, {measure_s} and {dir} stand for a number that differs \
                   between repetitions, the length of a measurement, and an empty directory.",
        },
        Param {
            name: "ok_codes",
            default: Default::Texts,
            help: "Exit codes that count as success; without any only \"0\".",
        },
        word(
            "read",
            &["nothing", "json"],
            "json: the last line of its output is an object of numbers, which become metrics.",
        ),
        count("limit_s", [3600, 1, 86_400], "It is ended after this time, seconds: a failure."),
    ],
    metrics: &["wall_s", "user_cpu_s", "kernel_cpu_s", "peak_rss_mib"],
    programs: &[],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::kind::Value;
    use std::collections::BTreeMap;

    #[test]
    fn what_an_experiment_lacks_is_said() {
        let with = |kind: &Kind, name: &str, value: Value| {
            kind.params(&BTreeMap::from([(name.to_owned(), value)])).expect("allowed")
        };
        let timeline = with(&REDIS, "scenario", Value::Text("timeline".into()));
        assert!(fault("redis", &timeline, None).is_some_and(|f| f.contains("memory_limit_mib")));
        assert_eq!(fault("redis", &timeline, Some(640)), None);
        let serve = with(&REDIS, "scenario", Value::Text("serve".into()));
        assert_eq!(fault("redis", &serve, None), None);
        let full = with(&JAVA, "live_mib", Value::Count(385));
        assert!(fault("java", &full, None).is_some_and(|fault| fault.contains("heap_mib")));
        assert_eq!(fault("java", &with(&JAVA, "live_mib", Value::Count(384)), None), None);
    }
}
