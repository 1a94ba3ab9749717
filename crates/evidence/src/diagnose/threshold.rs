//! The thresholds of the tree, all tunable: `data/thresholds.tsv` has their values and sources.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;

use crate::table::{named_enum, table};

/// What is said about a [`Threshold`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// Its name in `--set` and in the configuration; ends in its unit.
    pub key: &'static str,
    /// Its value unless set.
    pub default: f64,
    /// What it decides.
    pub help: &'static str,
    /// Where the value comes from.
    pub source: &'static str,
}

named_enum! {
    /// A number that decides between yes and no.
    Threshold {
        KernelHigh "kernel_high_percent",
        CloseShare "close_percent",
        KernelKeep "kernel_keep_percent",
        EpisodeMin "episode_min_s",
        EpisodeFull "episode_full_s",
        LateMin "late_min_s",
        KernelCritical "kernel_critical_percent",
        KernelCpuHigh "kernel_cpu_high_percent",
        RampPoints "ramp_points",
        RampSteadiness "ramp_steadiness_index",
        WatchJump "watch_jump_points",
        IowaitHigh "iowait_high_percent",
        InterruptHigh "interrupt_high_percent",
        InterruptCpuHigh "interrupt_cpu_high_percent",
        InterruptAlone "interrupt_alone_ratio",
        IrqStorm "irq_storm_per_s",
        ReceiveAlone "receive_alone_percent",
        StealHigh "steal_high_percent",
        UserHigh "user_high_percent",
        BusyHigh "busy_high_percent",
        IdleLow "balance_idle_busy_percent",
        HostIdle "host_idle_busy_percent",
        QueuePerCpu "queue_per_cpu",
        ExplainedShare "explained_share_percent",
        CountedShare "counted_share_percent",
        FutexShare "futex_share_percent",
        PagesPerFault "pages_per_fault",
        ThreadFull "thread_full_percent",
        CostFault "fault_cost_us",
        CostHugeFault "huge_fault_cost_us",
        CostFork "fork_cost_us",
        CostProcess "process_cost_us",
        ForkFaults "fork_faults_max",
        FreedShare "freed_share_percent",
        CostSwitch "switch_cost_us",
        CostPacket "packet_cost_us",
        CostDiskRequest "disk_request_cost_us",
        CostCompact "compact_stall_cost_us",
        FreeLow "free_low_percent",
        FreeSwing "free_swing_percent",
        FreeCorrelation "free_correlation_index",
        ReclaimScan "reclaim_scan_per_s",
        DirectScanHigh "direct_scan_high_per_s",
        SwapHigh "swap_high_bytes_per_s",
        PageTablesHigh "page_tables_high_percent",
        SlabHigh "slab_unreclaimable_high_percent",
        SlabCacheHigh "slab_cache_high_percent",
        MinFreeHigh "min_free_high_percent",
        HugetlbUnused "hugetlb_unused_high_percent",
        AvailableLow "available_low_percent",
        AvailableAmple "available_ample_percent",
        AvailableLowBytes "available_low_bytes",
        FmfiHigh "fmfi_high_index",
        BloatHigh "bloat_high_percent",
        ThpFallback "thp_fallback_high_percent",
        CompactHigh "compact_stalls_high_per_s",
        DaemonCpu "kernel_daemon_high_percent",
        DiskBusy "disk_busy_high_percent",
        DiskInUse "disk_in_use_percent",
        DiskQueue "disk_queue_high",
        DiskAwaitShort "disk_await_short_ms",
        DiskAwait "disk_await_high_ms",
        DiskAwaitLong "disk_await_long_ms",
        DiskSlow "disk_slow_requests_per_s",
        DiskSlowBytes "disk_slow_bytes_per_s",
        FlushBusy "flush_busy_percent",
        SequentialBlocks "sequential_blocks",
        RandomBlocks "random_blocks",
        SmallPacket "small_packet_bytes",
        PacketsHigh "packets_high_per_s",
        DropsHigh "drops_high_per_s",
        ListenOverflowsHigh "listen_overflows_high_count",
        TableFull "table_full_percent",
        FlushLong "flush_long_ms",
        ShootdownsHigh "shootdowns_high_per_s",
        LevelSpread "level_spread_percent",
        NamesCalls "names_calls_percent",
        RemoteQueue "remote_queue_factor",
        RemoteAwait "remote_await_high_ms",
        NodeLow "node_free_low_percent",
        NodeAmple "node_free_ample_percent",
        ShmemHigh "shared_memory_high_percent",
        HeapFull "heap_full_percent",
        SqueezeHigh "squeezes_high_per_s",
        LinkBusy "link_busy_high_percent",
        ReceiveQueueSockets "receive_queue_sockets",
        ReceiveQueueBytes "receive_queue_bytes",
        ReceiveQueueOneBytes "receive_queue_one_bytes",
        SendQueueBytes "send_queue_bytes",
        RetransmitShare "retransmit_high_percent",
        BlockedSame "blocked_same_tasks",
        DirtyTasks "dirty_tasks_high",
        DirtyNear "dirty_near_percent",
        EntropyLow "entropy_low_bits",
        LogOld "log_old_hours",
        HeatEvents "heat_events_high",
        ClockLow "clock_low_percent",
        LinkFlaps "link_flaps_high",
        CgroupHits "cgroup_hits_high_per_s",
        CgroupHitsEver "cgroup_hits_ever_high",
        PortsNear "ports_near_percent",
        BlockedTasks "blocked_tasks_per_cpu",
        PsiHigh "psi_high_percent",
        GcPause "gc_pause_high_ms",
        GcShare "gc_share_high_percent",
        ThrottledHigh "throttled_high_percent",
        WhoShare "who_share_percent",
        FsFull "filesystem_full_percent",
        WayShare "way_share_percent",
        CommandShare "command_share_high_percent",
        CommandLong "command_long_ms",
        CommandBusy "command_busy_high_percent",
        SlowCommand "slow_command_high_ms",
        SlowCommands "slow_commands_high_count",
        ServerFull "server_thread_full_percent",
        ForkHigh "fork_high_ms",
        ForkFelt "fork_felt_ms",
        ForkSlow "fork_slow_ms_per_gib",
        CowHigh "copy_on_write_high_percent",
        DataLarge "server_data_large_bytes",
        RssRatio "rss_high_ratio",
        LimitNear "memory_limit_near_percent",
        CacheHits "cache_hits_low_percent",
        FsyncDelays "fsync_delays_high_per_s",
        SessionsWaiting "sessions_waiting_high",
        LockShare "sessions_lock_share_percent",
        WaitShare "sessions_wait_share_percent",
        IdleInTransaction "idle_in_transaction_high_ms",
        IdleSessions "idle_in_transaction_high",
        StatementLong "statement_long_ms",
        CheckpointShare "checkpoints_requested_high_percent",
        PoolQueue "pool_queue_high",
        ThreadsWaiting "threads_waiting_high",
        ThreadsShare "threads_share_percent",
        ThreadsShareOnce "threads_share_once_percent",
        WorkersMin "workers_min",
        DelayPerCpu "run_delay_per_cpu",
        ConnectionsDropped "connections_dropped_high_count",
    }
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    table!("thresholds.tsv").about(Threshold::ALL, Threshold::key, |row, _| {
        let [key, default, help, source] = row.fields();
        Entry { key, default: row.number(default), help, source }
    })
});

impl Threshold {
    /// What is said about it.
    pub fn entry(self) -> Entry {
        ENTRIES[self as usize]
    }
}

/// The thresholds in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Thresholds {
    /// Those that differ from their default, by key.
    changed: BTreeMap<&'static str, f64>,
}

impl Thresholds {
    /// The value in force.
    pub fn get(&self, threshold: Threshold) -> f64 {
        self.changed.get(threshold.key()).copied().unwrap_or_else(|| threshold.entry().default)
    }

    /// Sets the threshold of that name.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what was wanted.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let Some(threshold) = Threshold::ALL.iter().find(|t| t.key() == key) else {
            let near = Threshold::ALL
                .iter()
                .map(|t| t.key())
                .filter(|known| key.split('_').any(|word| word.len() > 3 && known.contains(word)));
            let near: Vec<&str> = near.take(3).collect();
            let hint = match near.join(", ") {
                near if near.is_empty() => near,
                near => format!(" ({near}?)"),
            };
            return Err(format!(
                "no threshold is called '{key}'{hint}; `hugewise diagnose --rules` lists \
                them"
            ));
        };
        let number = value.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let number =
            number.ok_or_else(|| format!("{key}: found '{value}', wanted a number >= 0"))?;
        self.changed.insert(threshold.key(), number);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_values_settable() {
        let mut all = Thresholds::default();
        for threshold in Threshold::ALL {
            let key = threshold.key();
            all.set(key, "7.5").expect("known");
            assert!((all.get(*threshold) - 7.5).abs() < f64::EPSILON, "{key}");
        }
        assert_eq!(all.changed.len(), Threshold::ALL.len());
    }

    #[test]
    fn wrong_ones_are_named() {
        let mut all = Thresholds::default();
        let error = all.set("kernel_percent", "3").expect_err("unknown");
        assert!(error.contains("kernel_high_percent"), "{error}");
        for wrong in ["", "x", "-1", "nan", "inf"] {
            assert!(all.set("kernel_high_percent", wrong).is_err(), "{wrong}");
        }
    }
}
