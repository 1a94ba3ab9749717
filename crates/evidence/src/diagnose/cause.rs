//! Causes: what a yes means, and how bad it is.

use serde::{Deserialize, Serialize};

use super::remedy::Remedy;
use crate::table::named_enum;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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

/// The causes that questions of the tree name, and those with an explanation of their own.
macro_rules! causes {
    ($($($file:ident).+ $variant:ident $key:literal,)+) => {
        named_enum! {
            /// Why a machine suffers.
            Cause {
                KernelTime "kernel_time",
                Reclaim "reclaim",
                PageTables "page_tables",
                Slab "slab",
                SlabCache "slab_cache",
                HugetlbUnused "hugetlb_unused",
                NameCache "name_cache",
                Swapping "swapping",
                Compaction "compaction",
                HighOrder "high_order",
                Khugepaged "khugepaged",
                HugeFaults "huge_faults",
                Faults "page_faults",
                Churn "allocation_churn",
                Forks "forks",
                Shootdowns "tlb_shootdowns",
                SlowClock "slow_clock",
                Futex "futex",
                Switches "context_switches",
                NetworkStack "network_stack",
                PacketFilter "packet_filter",
                DiskRequests "disk_requests",
                Locks "kernel_locks",
                SystemCalls "system_calls",
                Iowait "iowait",
                DiskSaturated "disk_saturated",
                DiskBandwidth "disk_bandwidth",
                DiskLatency "disk_latency",
                NetworkStorage "network_storage",
                DiskRandom "disk_random",
                StorageFails "storage_fails",
                DiskFlush "disk_flush",
                DiskCapped "disk_capped",
                WriteCacheOff "write_cache_off",
                CacheDropped "cache_dropped",
                DirtyLimit "dirty_limit",
                FilesystemErrors "filesystem_errors",
                Lockups "lockups",
                Heat "heat",
                AuditBacklog "audit_backlog",
                NeighbourTable "neighbour_table",
                CardHangs "network_card",
                TcpMemory "tcp_memory",
                HardwareErrors "hardware_errors",
                KernelBug "kernel_bug",
                LogErrors "log_errors",
                Entropy "entropy",
                CgroupMemory "cgroup_memory",
                PortsExhausted "ports_exhausted",
                OpenFiles "open_files",
                CommitLimit "commit_limit",
                TaskLimit "task_limit",
                MapLimit "map_limit",
                LowMemory "low_memory",
                RealTime "real_time_thread",
                NfsQueue "nfs_queue",
                LinkErrors "link_errors",
                NodeShort "numa_node_short",
                SharedMemory "shared_memory",
                ArrayWork "array",
                SlowCpus "slow_cpus",
                SamePages "same_pages",
                Interrupts "interrupts",
                SmallPackets "small_packets",
                InterruptsOneCpu "interrupts_one_cpu",
                IrqStorm "irq_storm",
                Backlog "backlog",
                Steal "steal",
                Throttled "throttled",
                CpuSaturated "cpu_saturated",
                Load "load",
                Blocked "blocked_tasks",
                MemoryPressure "memory_pressure",
                IoPressure "io_pressure",
                GcPauses "gc_pauses",
                HeapFull "java_heap_full",
                GcKernel "gc_kernel",
                GcWaits "gc_waits",
                SafepointReach "safepoint_reach",
                SlowReader "slow_reader",
                SlowPeer "slow_peer",
                ListenOverflow "listen_overflow",
                Retransmits "retransmits",
                Drops "drops",
                ConntrackFull "conntrack_full",
                LinkFull "link_full",
                FilesystemFull "filesystem_full",
                MemoryShort "memory_short",
                OomKills "oom_kills",
                Fragmentation "fragmentation",
                Bloat "bloat",
                OneCpu "one_cpu",
                OneDisk "one_disk",
                OneHost "one_host",
                ThpAlways "thp_always",
                DefragAlways "thp_defrag_always",
                MaxPtesNone "max_ptes_none",
                ZoneReclaim "zone_reclaim",
                MinFree "min_free",
                Somaxconn "somaxconn",
                SlowCommands "slow_commands",
                ServerFull "server_thread_full",
                RedisFork "redis_fork",
                RedisCow "redis_copy_on_write",
                RedisEvictions "redis_evictions",
                RedisFragmentation "redis_fragmentation",
                RedisFsync "redis_fsync",
                PgLocks "postgres_locks",
                PgLwlocks "postgres_lwlocks",
                PgIo "postgres_io",
                PgIdle "postgres_idle_in_transaction",
                PgStatement "postgres_statement",
                PgCheckpoints "postgres_checkpoints",
                Deadlock "deadlock",
                ServiceWait "service_wait",
                ThreadLock "thread_lock",
                PoolLimit "pool_limit",
                WorkersFull "workers_full",
                FpmFull "php_fpm_full",
                NginxDrops "nginx_drops",
                $($variant $key,)+
            }
        }
    };
}
super::explain::explained!(causes);

impl Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}
