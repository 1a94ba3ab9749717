//! Workloads that are programs of others: servers, databases, a virtual machine, or any command.

use super::groups::{
    CPU, EXECUTABLE, LOAD, MANAGER, SERVER, holds, joined, latencies, memory, serves,
};
use crate::kind::User;
use crate::kind::{
    Demand, Kind, More, Named, Program, Source, Start, Times, count, flag, no_demands, params,
    text, texts, word, words,
};
use crate::machine::MACHINE;
use hugewise_base::units::Bytes;

/// Bytes of an entry of memcached's hash table: a pointer.
const ENTRY: u64 = 8;

words! {
    /// What is done with Redis.
    Scenario {
        Bloat = "bloat",
        Serve = "serve",
        BgSave = "bgsave",
        Timeline = "timeline",
        Load = "load",
    }
}

words! {
    /// How a client reaches Redis.
    Socket { Unix = "unix", Tcp = "tcp" }
}

words! {
    /// PostgreSQL's setting `huge_pages`.
    PoolPages { Off = "off", Try = "try", On = "on" }
}

words! {
    /// Garbage collectors of the JVM.
    Collector { G1 = "g1", Serial = "serial", Parallel = "parallel" }
}

words! {
    /// What is read of a command's output.
    Output { Nothing = "nothing", Json = "json" }
}

params! {
    /// Parameters of `redis`.
    Redis {
        scenario: Scenario = word(),
            "What is done: most keys deleted; a mix of GET and SET; saving in the background \
             meanwhile; small values, most of them deleted, then large ones; the requests of \
             [load], which also says how many keys there are.";
        socket: Socket = word(), "How the client reaches the server.";
        keys: usize = count(60_000, 100, 100_000_000), "Number of keys.";
        value_bytes: usize = count(8192, 8, 1 << 20), "Size of a value, random bytes.";
        delete_percent: usize = count(70, 1, 99), "Share of the keys that are deleted, at random.";
        set_percent: u64 = count(10, 0, 100),
            "Share of SET among the requests; the rest is GET.";
        save_requests: u64 = count(10_000, 1, 1_000_000_000),
            "Requests while a child saves (bgsave), the same ones for every variant. Without \
             'copied_mib' where the save is over before them.";
        large_mib: usize = count(256, 2, 1 << 20),
            "Values of 2 MiB, in all, MiB (timeline).";
        watch_s: u64 = count(45, 0, 3600),
            "How long memory is watched, the same for all variants, seconds.";
    }
}

params! {
    /// Parameters of `memcached`.
    Memcached {
        hashpower: u32 = count(26, 16, 32),
            "The table has 2 to the power of this many entries.";
        keys: u64 = count(20_000, 100, 100_000_000), "Number of keys.";
        value_bytes: usize = count(200, 16, 1 << 19), "Size of a value.";
        memory_mib: u64 = count(1024, 64, 1 << 20), "Limit of its items, MiB.";
        threads: u64 = count(2, 1, 64), "Threads of the server.";
        watch_s: u64 = count(45, 0, 3600),
            "How long memory is watched, the same for all variants, seconds.";
    }
}

params! {
    /// Parameters of `postgres`.
    Postgres {
        scale: u64 = count(10, 1, 100_000), "Scale of pgbench's tables: about 15 MiB each.";
        clients: u64 = count(4, 1, 1000),
            "Connections, of which each has a process of its own.";
        threads: u64 = count(1, 1, 64), "Threads of pgbench.";
        rate: u64 = count(0, 0, 10_000_000),
            "Transactions a second, scheduled; 0: as many as go.";
        shared_buffers_mib: u64 = count(128, 1, 1 << 20), "Its buffer pool, MiB.";
        hugetlb: PoolPages = word(), "Its setting huge_pages: the pool in HugeTLB pages.";
        select_only: bool = flag(true), "Only reads; else pgbench's mix of reads and writes.";
        warm_s: u64 = count(2, 0, 600),
            "The load runs for so long before it is measured, seconds.";
    }
}

params! {
    /// Parameters of `java`.
    Java {
        gc: Collector = word(), "Garbage collector.";
        heap_mib: u64 = count(512, 32, 1 << 20), "Size of the heap, first and last, MiB.";
        live_mib: u64 = count(192, 1, 1 << 20), "Data that stay alive, MiB.";
        survive_percent: u64 = count(5, 0, 100), "Share of new arrays that replace an old one.";
        object_bytes: u64 = count(1024, 64, 1 << 20), "Size of an array.";
        lookups: u64 = count(0, 0, 1_000_000), "Random arrays that are read for each new one.";
        large_pages: bool = flag(false), "-XX:+UseLargePages: the heap in HugeTLB pages.";
    }
}

params! {
    /// Parameters of `command`.
    Command {
        program: String = text("true"), "The program.";
        args: Vec<String> = texts(),
            "Its arguments. {seed}, {measure_s} and {dir} stand for a number that differs \
             between repetitions, the length of a measurement, and an empty directory.";
        needs: Vec<String> = texts(),
            "Programs that its arguments name, as those of a script: where one is missing the \
             experiment is skipped.";
        ok_codes: Vec<String> = texts(),
            "Exit codes that count as success; without any only \"0\".";
        read: Output = word(),
            "json: the last line of its output is an object of numbers, which become metrics.";
        limit_s: u64 = count(3600, 1, 86_400),
            "It is ended after this time, seconds: a failure.";
        user: User = word(),
            "Who runs it where hugewise is root: a user of the experiment's own, without \
             privileges, or root, for a program that needs it and may do anything here.";
    }
}

params! {
    /// Parameters of `stress-ng`.
    StressNg {
        args: Vec<String> = texts(),
            "Its arguments, as in [\"--vm\", \"2\", \"--vm-bytes\", \"256M\"].";
        user: User = word(),
            "Who runs it where hugewise is root: a user of the experiment's own, without \
             privileges, or root, for a program that needs it and may do anything here.";
    }
}

impl Demand for Redis {
    fn memory_mib(&self) -> Option<u64> {
        let values = mib((self.keys as u64).saturating_mul(self.value_bytes as u64));
        let large = if self.scenario == Scenario::Timeline { self.large_mib as u64 } else { 0 };
        Some(values.saturating_add(large))
    }

    fn seconds(&self, times: Times) -> u64 {
        match self.scenario {
            Scenario::Bloat => times.and(times.measure_s).saturating_add(self.watch_s),
            Scenario::BgSave => times.and(times.measure_s),
            Scenario::Serve | Scenario::Timeline | Scenario::Load => times.and(self.watch_s),
        }
    }

    fn fault(&self, memory_limit_mib: Option<u64>) -> Option<String> {
        let fills = self.scenario == Scenario::Timeline && memory_limit_mib.is_none();
        let said = "the scenario 'timeline' of redis fills memory: it needs memory_limit_mib";
        fills.then(|| said.into())
    }

    fn takes_load(&self) -> bool {
        self.scenario == Scenario::Load
    }
}

impl Demand for Memcached {
    /// Its items have a limit; the table has not.
    fn memory_mib(&self) -> Option<u64> {
        let table = 1_u64.checked_shl(self.hashpower).unwrap_or(u64::MAX).saturating_mul(ENTRY);
        let items = mib(self.keys.saturating_mul(self.value_bytes as u64)).min(self.memory_mib);
        Some(mib(table).saturating_add(items))
    }

    fn seconds(&self, times: Times) -> u64 {
        times.and(self.watch_s)
    }
}

impl Demand for Postgres {
    fn memory_mib(&self) -> Option<u64> {
        Some(self.shared_buffers_mib)
    }

    fn seconds(&self, times: Times) -> u64 {
        times.and(self.warm_s)
    }
}

impl Demand for Java {
    fn memory_mib(&self) -> Option<u64> {
        Some(self.heap_mib)
    }

    fn fault(&self, _memory_limit_mib: Option<u64>) -> Option<String> {
        // The rest of the heap is for garbage.
        let full = self.live_mib * 4 > self.heap_mib * 3;
        full.then(|| "live_mib of java must be at most three quarters of heap_mib".into())
    }
}

impl Demand for Command {
    /// The program itself decides when it ends; a guess of the file is the best there is.
    fn seconds(&self, times: Times) -> u64 {
        times.measure_s
    }

    fn program(&self) -> Option<Named<'_>> {
        let Self { program, args, needs, user, .. } = self;
        Some(Named { program, args, needs, user: *user })
    }
}

no_demands! { StressNg }

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(Bytes::mib(1).0)
}

/// Name of the kind that runs beside a workload only.
pub const STRESS_NG: &str = "stress-ng";

pub(super) const STRESS: Kind = Kind {
    name: STRESS_NG,
    about: "Any stressor of stress-ng, beside a workload ([[beside]]); its own figures are not \
            evaluated.",
    start: Start::Beside,
    huge_pages: Source::Kind,
    more: More::Nothing,
    params: StressNg::PARAMS,
    metrics: &[],
    programs: &[Program::of(STRESS_NG, STRESS_NG)],
};

pub(super) const REDIS: Kind = Kind {
    name: "redis",
    about: "A Redis server and one client, which compares every answer, or under an open load.",
    params: Redis::PARAMS,
    metrics: joined![
        &["ops_per_s"],
        LOAD,
        CPU,
        memory!(""),
        holds!("full."),
        serves!("full."),
        holds!("deleted."),
        serves!("deleted."),
        serves!("before."),
        serves!("during."),
        &["save_s", "fork_ms", "copied_mib", "survived", "large_mib", "peak_cgroup_mib"],
        MANAGER,
        &["freed_mib"],
        MACHINE
    ],
    programs: &[Program::of("redis-server", "redis-server")],
    ..SERVER
};

pub(super) const MEMCACHED: Kind = Kind {
    name: "memcached",
    about: "memcached with few keys in a large hash table; every answer is compared.",
    params: Memcached::PARAMS,
    metrics: joined![holds!("at_once."), holds!("later."), serves!(""), MANAGER, &["freed_mib"]],
    programs: &[Program::of("memcached", "memcached")],
    ..SERVER
};

pub(super) const POSTGRES: Kind = Kind {
    name: "postgres",
    about: "A PostgreSQL server under pgbench. It does not wait for the disk: fsync is off.",
    params: Postgres::PARAMS,
    metrics: joined![
        &["ops_per_s", "mean_us"],
        latencies!(""),
        &["page_tables_mib", "rss_mib", "cgroup_mib", "hugetlb_mib"],
        CPU,
        MANAGER
    ],
    programs: &[
        Program::of("initdb", "postgresql"),
        Program::of("postgres", "postgresql"),
        Program::of("pgbench", "postgresql"),
    ],
    ..SERVER
};

pub(super) const JAVA: Kind = Kind {
    name: "java",
    about: "A JVM that allocates as fast as it can beside a live set, whose checksums it compares.",
    params: Java::PARAMS,
    metrics: joined![
        &["allocated_mib_per_s"],
        latencies!(""),
        &["gc_count", "gc_ms"],
        memory!(""),
        &["hugetlb_mib"],
        CPU,
        &["manager_cpu_s", "promoted", "failed"]
    ],
    programs: &[
        Program::of("java", "default-jdk-headless"),
        Program::of("javac", "default-jdk-headless"),
    ],
    ..SERVER
};

pub(super) const COMMAND: Kind = Kind {
    name: "command",
    about: "Any program, run to its end.",
    huge_pages: Source::Variant,
    params: Command::PARAMS,
    metrics: joined![&["wall_s"], CPU, &["peak_rss_mib"]],
    ..EXECUTABLE
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{Value, Values};

    fn with<T>(kind: &Kind, read: fn(&Values) -> Option<T>, name: &str, value: Value) -> T {
        let values = kind.values(&Values::from([(name.to_owned(), value)])).expect("allowed");
        read(&values).expect("all parameters")
    }

    #[test]
    fn what_an_experiment_lacks_is_said() {
        let redis =
            |scenario: &str| with(&REDIS, Redis::read, "scenario", Value::Text(scenario.into()));
        let said = redis("timeline").fault(None);
        assert!(said.is_some_and(|fault| fault.contains("memory_limit_mib")));
        assert_eq!(redis("timeline").fault(Some(640)), None);
        assert_eq!(redis("serve").fault(None), None);
        let java = |live| with(&JAVA, Java::read, "live_mib", Value::Count(live));
        assert!(java(385).fault(None).is_some_and(|fault| fault.contains("heap_mib")));
        assert_eq!(java(384).fault(None), None);
    }
}
