//! Causes: what a yes means, how bad it is, and what to do about it.

use serde::Serialize;

use super::remedy::{self, Remedy};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing suffers as far as these sources show.
    Note,
    /// Something suffers, or is about to.
    Warning,
    /// The machine is hardly usable, or has lost work.
    Critical,
}

impl Severity {
    /// In a word.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }

    /// The next milder one.
    pub(crate) const fn milder(self) -> Self {
        match self {
            Self::Critical => Self::Warning,
            Self::Warning | Self::Note => Self::Note,
        }
    }
}

/// What is said about a [`Cause`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// Its name in JSON.
    pub key: &'static str,
    /// How bad it is by itself.
    pub severity: Severity,
    /// The cause in one sentence.
    pub title: &'static str,
    /// What to do, the smallest reach first.
    pub remedies: &'static [Remedy],
}

macro_rules! causes {
    ($($variant:ident $key:literal $severity:ident $title:literal $remedies:ident;)*) => {
        /// Why a machine suffers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Cause {
            $(#[doc = $title] $variant,)*
        }

        impl Cause {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// What is said about it.
            pub const fn about(self) -> About {
                match self {
                    $(Self::$variant => About {
                        key: $key,
                        severity: Severity::$severity,
                        title: $title,
                        remedies: remedy::$remedies,
                    },)*
                }
            }
        }
    };
}

causes! {
    KernelTime "kernel_time" Warning
        "The kernel takes much CPU; these sources do not say what for" LOOK_CLOSER;
    Reclaim "reclaim" Warning
        "Memory runs out and the kernel reclaims it" RECLAIM;
    PageTables "page_tables" Warning
        "Page tables eat memory: many processes map the same memory in 4 KiB pages" PAGE_TABLES;
    Slab "slab" Warning
        "Kernel objects that cannot be reclaimed hold much memory" SLAB;
    SlabCache "slab_cache" Note
        "Caches of the kernel, mostly of file names, hold most of the memory" SLAB_CACHE;
    HugetlbUnused "hugetlb_unused" Warning
        "A HugeTLB pool lies idle: memory that nobody else can use" HUGETLB_UNUSED;
    NameCache "name_cache" Warning
        "Look-ups of file names take the kernel's time: its cache of them is huge" SLAB_CACHE;
    Swapping "swapping" Warning
        "The machine swaps: programs wait for their own memory" SWAPPING;
    Compaction "compaction" Warning
        "Compaction: programs wait while the kernel makes blocks of a huge page's size" COMPACTION;
    HighOrder "high_order" Warning
        "Free memory is in small pieces: the kernel looks for large blocks all the time" HIGH_ORDER;
    Khugepaged "khugepaged" Warning
        "khugepaged takes CPU to make huge pages" KHUGEPAGED;
    HugeFaults "huge_faults" Warning
        "Huge pages handed out, and cleared, in page faults" HUGE_FAULTS;
    Faults "page_faults" Warning
        "Page faults take the kernel's time" FAULTS;
    Churn "allocation_churn" Warning
        "Allocation churn: memory is taken from the kernel and given back all the time" CHURN;
    Forks "forks" Warning
        "New processes take the kernel's time" FORKS;
    Shootdowns "tlb_shootdowns" Warning
        "A program with many threads changes its mappings all the time: each change interrupts \
            the other CPUs (TLB shootdowns)" SHOOTDOWNS;
    SlowClock "slow_clock" Warning
        "Reading the time is slow: the kernel's clock is a device" SLOW_CLOCK;
    Futex "futex" Warning
        "Threads of a program wait for each other's locks (futex)" FUTEX;
    Switches "context_switches" Warning
        "Context switches take the kernel's time" SWITCHES;
    NetworkStack "network_stack" Warning
        "The network stack takes the kernel's time" NETWORK_STACK;
    PacketFilter "packet_filter" Warning
        "Each packet is compared with a long list of firewall rules" PACKET_FILTER;
    DiskRequests "disk_requests" Warning
        "Many small disk requests take the kernel's time" DISK_RANDOM;
    Locks "kernel_locks" Warning
        "Tasks spin for locks inside the kernel" LOCKS;
    SystemCalls "system_calls" Warning
        "System calls, or locks inside them, take the kernel's time" SYSTEM_CALLS;
    Iowait "iowait" Warning
        "CPUs are idle while disk requests are pending; no source says which disk" DISK_CLOSER;
    DiskSaturated "disk_saturated" Warning
        "A disk is saturated" DISK;
    DiskBandwidth "disk_bandwidth" Warning
        "A disk's bandwidth is used up by large, sequential requests" DISK;
    DiskLatency "disk_latency" Warning
        "Requests to a disk take long, and not because there are too many" DISK_LATENCY;
    NetworkStorage "network_storage" Warning
        "Programs wait for storage that is no local disk: NFS, or another file system over the \
            network" NETWORK_STORAGE;
    DiskRandom "disk_random" Warning
        "A disk's requests a second are used up by small, random requests" DISK_RANDOM;
    StorageFails "storage_fails" Warning
        "A storage device fails: requests to it end in errors, or do not end" STORAGE_FAILS;
    DiskFlush "disk_flush" Warning
        "Programs wait until a disk has emptied its cache: each flush takes long" DISK_FLUSH;
    DiskCapped "disk_capped" Warning
        "A limit holds a disk at one rate: that of a cloud volume, a cgroup or a host" DISK_CAPPED;
    WriteCacheOff "write_cache_off" Warning
        "The write cache of a disk controller is off: its battery failed" WRITE_CACHE_OFF;
    CacheDropped "cache_dropped" Warning
        "Somebody drops the page cache: everything is read from disks again" CACHE_DROPPED;
    DirtyLimit "dirty_limit" Warning
        "Writers stop at the limit of dirty memory: the disk does not keep up" DIRTY_LIMIT;
    FilesystemErrors "filesystem_errors" Warning
        "A file system is damaged, or was made read-only" FILESYSTEM_ERRORS;
    Lockups "lockups" Warning
        "CPUs stand still for seconds: stuck in the kernel, or stopped by the hypervisor" LOCKUPS;
    Heat "heat" Warning
        "The CPUs are too hot, and slow themselves down" HEAT;
    AuditBacklog "audit_backlog" Warning
        "The kernel's audit is behind: programs wait until a record finds a place" AUDIT_BACKLOG;
    NeighbourTable "neighbour_table" Warning
        "The kernel's table of neighbours is full: packets to new ones are dropped" NEIGHBOURS;
    CardHangs "network_card" Warning
        "A network card hangs, or loses its link" CARD_HANGS;
    TcpMemory "tcp_memory" Warning
        "TCP has used up its memory, or its orphaned sockets: connections are cut" TCP_MEMORY;
    HardwareErrors "hardware_errors" Warning
        "The hardware reports errors that it could not correct" HARDWARE_ERRORS;
    KernelBug "kernel_bug" Warning
        "The kernel itself failed" KERNEL_BUG;
    LogErrors "log_errors" Note
        "The kernel's log also has lines that may matter" LOG_ERRORS;
    Entropy "entropy" Warning
        "Programs wait for random numbers: the kernel has no entropy" ENTROPY;
    CgroupMemory "cgroup_memory" Warning
        "A cgroup is at its memory limit: its programs wait for memory, whatever the machine has"
            CGROUP_MEMORY;
    PortsExhausted "ports_exhausted" Warning
        "No port is free for another connection to a peer" PORTS_EXHAUSTED;
    OpenFiles "open_files" Warning
        "As many files are open as may be" OPEN_FILES;
    CommitLimit "commit_limit" Warning
        "The kernel promises no more memory: vm.overcommit_memory is 2 and the limit is reached"
            COMMIT_LIMIT;
    TaskLimit "task_limit" Warning
        "No more tasks can be started: a limit is reached" TASK_LIMIT;
    MapLimit "map_limit" Warning
        "A program has as many mappings as it may" MAP_LIMIT;
    LowMemory "low_memory" Warning
        "A 32-bit kernel has used up the memory that it reaches by itself, whatever is free above"
            LOW_MEMORY;
    RealTime "real_time_thread" Warning
        "A real-time thread keeps a CPU from everybody else, the kernel's own work among them"
            REAL_TIME;
    NfsQueue "nfs_queue" Warning
        "Requests to a file server queue on this machine before they are sent" NFS_QUEUE;
    LinkErrors "link_errors" Warning
        "Packets arrive damaged: a cable, plug, transceiver or port is bad" LINK_ERRORS;
    NodeShort "numa_node_short" Warning
        "One NUMA node has no free memory while another one has" NODE_SHORT;
    SharedMemory "shared_memory" Warning
        "Shared memory, or files in tmpfs, hold most of the memory" SHARED_MEMORY;
    ArrayWork "array" Warning
        "An array of disks lacks a disk, or is rebuilt or checked" ARRAY;
    SlowCpus "slow_cpus" Warning
        "The CPUs run far below their rated clock: power saving, or a limit" SLOW_CPUS;
    SamePages "same_pages" Warning
        "Merging equal pages (ksmd) takes CPU" SAME_PAGES;
    Interrupts "interrupts" Warning
        "Interrupts take the CPU; these sources do not say whose" INTERRUPTS;
    SmallPackets "small_packets" Warning
        "Many small packets: interrupts, not bandwidth, are the limit" SMALL_PACKETS;
    InterruptsOneCpu "interrupts_one_cpu" Warning
        "One CPU takes nearly all interrupts" INTERRUPTS_ONE_CPU;
    IrqStorm "irq_storm" Warning
        "A device interrupts without end" IRQ_STORM;
    Backlog "backlog" Warning
        "Receiving is cut short: more packets arrive than one round may process" BACKLOG;
    Steal "steal" Warning
        "The hypervisor gives the CPU to others" STEAL;
    Throttled "throttled" Warning
        "A cgroup's CPU quota is used up: its programs stop until the next period" THROTTLED;
    CpuSaturated "cpu_saturated" Warning
        "More tasks want to run than there are CPUs" CPU_SATURATED;
    Load "load" Note
        "The load average is far above the CPUs; these sources do not say what runs or waits" LOAD;
    Blocked "blocked_tasks" Warning
        "Tasks hang in uninterruptible wait" BLOCKED;
    MemoryPressure "memory_pressure" Warning
        "Tasks wait for memory" RECLAIM;
    IoPressure "io_pressure" Note
        "Tasks wait for I/O" DISK_CLOSER;
    GcPauses "gc_pauses" Warning
        "Java stops for long: garbage collection, or waiting for a safepoint" GC;
    HeapFull "java_heap_full" Warning
        "Java's heap is full: one long garbage collection follows another and frees little"
            HEAP_FULL;
    GcKernel "gc_kernel" Warning
        "Java's pauses are kernel time: its heap's memory is handed out, compacted or swapped"
            GC_KERNEL;
    SafepointReach "safepoint_reach" Warning
        "Java waits long until all its threads stop" SAFEPOINT;
    SlowReader "slow_reader" Warning
        "A program reads its connections too slowly: its queues fill" SLOW_READER;
    SlowPeer "slow_peer" Note
        "A peer, or the network to it, takes bytes too slowly" SLOW_PEER;
    ListenOverflow "listen_overflow" Warning
        "An accept queue is full: connections are refused or delayed" LISTEN;
    Retransmits "retransmits" Warning
        "TCP sends segments again: packets are lost on the way" RETRANSMITS;
    Drops "drops" Warning
        "Packets are dropped on this machine" BACKLOG;
    ConntrackFull "conntrack_full" Warning
        "The kernel's table of connections is full: packets of new ones are dropped" CONNTRACK;
    LinkFull "link_full" Warning
        "A network link is full" LINK;
    FilesystemFull "filesystem_full" Warning
        "A file system is full: writing to it fails" FILESYSTEM_FULL;
    MemoryShort "memory_short" Warning
        "Hardly any memory is available" RECLAIM;
    OomKills "oom_kills" Warning
        "The kernel killed programs for memory: the machine's, or their cgroup's limit" OOM;
    Fragmentation "fragmentation" Note
        "Free memory is in pieces smaller than a huge page" FRAGMENTATION;
    Bloat "bloat" Warning
        "Huge pages stay allocated although programs freed parts of them" BLOAT;
    OneCpu "one_cpu" Note
        "One CPU is exhausted beside idle ones" ONE_CPU;
    OneDisk "one_disk" Warning
        "One disk is saturated beside idle ones" ONE_DISK;
    OneHost "one_host" Warning
        "One machine is exhausted beside others that have room" ONE_HOST;
    ThpAlways "thp_always" Note
        "THP is 'always': every program gets huge pages in its page faults" THP_ALWAYS;
    DefragAlways "thp_defrag_always" Warning
        "THP and its defrag are 'always': any page fault may stop to reclaim and compact" DEFRAG;
    MaxPtesNone "max_ptes_none" Note
        "khugepaged makes a huge page where one of 512 pages is in use" MAX_PTES_NONE;
    ZoneReclaim "zone_reclaim" Warning
        "zone_reclaim_mode makes one NUMA node reclaim while others have memory" ZONE_RECLAIM;
    MinFree "min_free" Warning
        "vm.min_free_kbytes keeps much of the memory free: programs die beside it" MIN_FREE;
    Somaxconn "somaxconn" Warning
        "Accept queues hold 128 connections at most: net.core.somaxconn is a low default" LISTEN;
    SlowCommands "slow_commands" Warning
        "A slow command keeps all clients of a single-threaded server waiting" SLOW_COMMANDS;
    ServerFull "server_thread_full" Warning
        "A server's one thread is full" SERVER_FULL;
    RedisFork "redis_fork" Warning
        "Redis serves nobody while it forks to save its data" REDIS_FORK;
    RedisCow "redis_copy_on_write" Warning
        "While Redis saves, most of its memory is copied" REDIS_COW;
    RedisEvictions "redis_evictions" Warning
        "Redis is at its memory limit, and loses or refuses what is needed" REDIS_EVICTIONS;
    RedisFragmentation "redis_fragmentation" Warning
        "Redis holds far more memory than its data need" REDIS_FRAGMENTATION;
    RedisFsync "redis_fsync" Warning
        "Redis waits for the disk that keeps its log" REDIS_FSYNC;
    PgLocks "postgres_locks" Warning
        "Sessions of PostgreSQL wait for each other's locks" PG_LOCKS;
    PgLwlocks "postgres_lwlocks" Warning
        "Sessions of PostgreSQL wait for its internal locks" PG_LWLOCKS;
    PgIo "postgres_io" Warning
        "Sessions of PostgreSQL wait for storage" PG_IO;
    PgIdle "postgres_idle_in_transaction" Warning
        "A session of PostgreSQL does nothing and keeps its transaction open" PG_IDLE;
    PgStatement "postgres_statement" Warning
        "One slow statement takes most of PostgreSQL's time" PG_STATEMENT;
    PgCheckpoints "postgres_checkpoints" Warning
        "PostgreSQL writes checkpoints because its WAL is full, not by the clock" PG_CHECKPOINTS;
    Deadlock "deadlock" Warning
        "Threads of a program wait for each other's locks, for good: a deadlock" DEADLOCK;
    ServiceWait "service_wait" Warning
        "Threads of a program wait for another service, or database, that answers slowly"
            SERVICE_WAIT;
    ThreadLock "thread_lock" Warning
        "Many threads of a program wait for one of its locks" THREAD_LOCK;
    PoolLimit "pool_limit" Warning
        "A pool inside of a program is empty: threads wait until another one gives something back"
            POOL_LIMIT;
    WorkersFull "workers_full" Warning
        "All threads of a program for requests have work: new requests wait" WORKERS_FULL;
    FpmFull "php_fpm_full" Warning
        "All workers of php-fpm are at work: requests wait for one" FPM_FULL;
    NginxDrops "nginx_drops" Warning
        "nginx drops connections that it accepted: a limit of its own is reached" NGINX_DROPS;
}

impl Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.about().key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::nodes;

    #[test]
    fn every_cause_is_somebodys_and_has_remedies() {
        for cause in Cause::ALL {
            let about = cause.about();
            assert!(nodes::ALL.iter().any(|node| node.cause == Some(*cause)), "{}", about.key);
            assert!(!about.remedies.is_empty(), "{}", about.key);
            let reaches: Vec<_> = about.remedies.iter().map(|remedy| remedy.reach).collect();
            assert!(reaches.is_sorted(), "{}: the smallest reach comes first", about.key);
        }
        let mut keys: Vec<&str> = Cause::ALL.iter().map(|cause| cause.about().key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), Cause::ALL.len());
    }
}
