//! What is measured: each metric once, with unit, good direction and meaning.
//!
//! A key is the name of a metric, with the phase of the run before it where there are several:
//! `rss_mib`, `deleted.rss_mib`.

use serde::{Deserialize, Serialize};

/// Which direction is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither: it explains, and a difference is just one.
    #[default]
    Neither,
}

/// A metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name, unit last.
    pub name: &'static str,
    /// Unit as printed.
    pub unit: &'static str,
    /// Good direction.
    pub better: Better,
    /// Digits after the point that are worth printing.
    pub digits: usize,
    /// Meaning.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($name:literal $unit:literal $better:ident $digits:literal: $help:literal;)*) => {
        /// All metrics that workloads of hugewise measure.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: $name,
            unit: $unit,
            better: Better::$better,
            digits: $digits,
            help: $help,
        }),*];
    };
}

metrics! {
    "rss_mib" "MiB" Lower 0: "Resident memory of the workload.";
    "cgroup_mib" "MiB" Lower 0: "Memory charged to the workload's cgroup, also what splits free.";
    "mem_available_less_mib" "MiB" Lower 0: "By how much the machine's MemAvailable fell.";
    "huge_mib" "MiB" Neither 0: "Memory of the workload in huge pages.";
    "merged_mib" "MiB" Neither 0: "Memory of the workload in pages that KSM has merged.";
    "text_huge_mib" "MiB" Neither 0: "Program text that is mapped by huge pages.";
    "compactions" "" Lower 0: "Times that the workload itself had to compact memory.";
    "compacting_ms" "ms" Lower 1: "How long it waited for that.";
    "reclaims" "" Lower 0: "Times that the workload itself had to reclaim memory.";
    "reclaiming_ms" "ms" Lower 1: "How long it waited for that.";
    "page_tables_mib" "MiB" Lower 1: "Page tables of the workload's processes.";
    "ops_per_s" "1/s" Higher 0: "Operations a second.";
    "offered_per_s" "1/s" Neither 0: "Requests a second whose time came, whatever the server did.";
    "achieved_per_s" "1/s" Higher 0: "Requests a second that were answered in time and well.";
    "failed_share_percent" "%" Lower 3: "Share of the requests that failed.";
    "bend_per_s" "1/s" Higher 0: "Rate at which the latency of stairs bends most (Kneedle).";
    "knee_per_s" "1/s" Higher 0: "Highest rate of the stairs up to which all were served.";
    "p50_us" "us" Lower 1: "Median latency.";
    "p99_us" "us" Lower 1: "Latency that 1 % exceed.";
    "p999_us" "us" Lower 1: "Latency that 0.1 % exceed.";
    "worst_us" "us" Lower 0: "Largest latency.";
    "wall_s" "s" Lower 2: "Time from start to end.";
    "fill_s" "s" Lower 2: "Time to write all memory for the first time.";
    "user_cpu_s" "s" Lower 2: "CPU time of the workload in user mode.";
    "kernel_cpu_s" "s" Lower 2: "CPU time of the workload in the kernel.";
    "kernel_cpu_percent" "%" Lower 1: "Share of the machine's CPU time spent in the kernel.";
    "machine_user_percent" "%" Neither 1: "Share of the machine's CPU time spent in programs.";
    "machine_idle_percent" "%" Neither 1: "Share of the machine's CPU time that nobody used.";
    "machine_stolen_percent" "%" Lower 1: "Share of the CPU time that the hypervisor took.";
    "machine_faults" "" Lower 0: "Page faults of the whole machine meanwhile.";
    "machine_huge_faults" "" Neither 0: "Those of them that got a huge page.";
    "machine_huge_fallbacks" "" Lower 0: "Those that wanted a huge page and got base pages.";
    "machine_compact_stalls" "" Lower 0: "Times that a program itself had to compact memory.";
    "machine_collapses" "" Neither 0: "Regions that became huge, whatever made them so.";
    "machine_splits" "" Neither 0: "Huge pages that were split, whatever split them.";
    "manager_cpu_s" "s" Lower 2: "CPU time of hugewise's manager.";
    "manager_cpu_percent" "%" Lower 2: "CPU time of hugewise's manager, of one core.";
    "manager_rss_mib" "MiB" Lower 1: "Resident memory of hugewise's manager.";
    "promoted" "" Neither 0: "Regions that the manager made huge.";
    "demoted" "" Neither 0: "Regions that the manager split.";
    "failed" "" Lower 0: "Calls of the manager that failed.";
    "freed_mib" "MiB" Neither 0: "Memory that the manager's splits gave back.";
    "fmfi" "" Neither 2: "Unusable free space index at the huge page's order; 0 good, 1 bad.";
    "huge_mib_per_s" "MiB/s" Higher 1: "Memory that became huge a second.";
    "all_huge_s" "s" Lower 1: "Time until 99 % were huge.";
    "times_base" "x" Higher 2: "Operations a second, in multiples of those on base pages.";
    "finish_s" "s" Lower 2: "Time that the last program needs for its work, once all are filled.";
    "solve_s" "s" Lower 2: "Time from the start of the first program to the end of that work.";
    "jain" "" Higher 3: "Jain's index of who has huge pages, while they become more; 1 is fair.";
    "reach_s" "s" Lower 1: "Time until 80 % of what the run gained in speed was there.";
    "reach_huge_percent" "%" Lower 0: "Memory that was huge by then, of what was at the end.";
    "huge_percent" "%" Neither 0: "Share of a part of the memory that is in huge pages.";
    "promoting_s" "s" Lower 1: "Time until the manager promoted nothing more.";
    "settle_s" "s" Lower 1: "Time from the end of freeing until memory stood still.";
    "verified_words" "" Neither 0: "Words that were compared with what was written.";
    "kept_mib" "MiB" Neither 0: "Memory that huge pages kept though the program dropped it.";
    "back_s" "s" Lower 2: "Time until 95 % of the kept memory were back.";
    "gib_per_s" "GiB/s" Higher 3: "Kept memory that came back a second.";
    "tick_ms" "ms" Lower 2: "Own time of a turn of the manager's loop (median).";
    "worst_tick_ms" "ms" Lower 2: "Longest own time of a turn of the manager's loop.";
    "state_mib" "MiB" Lower 1: "Memory that the manager took for what it knows.";
    "first_pass_s" "s" Lower 2: "Own time of the manager until it knew everything.";
    "cpu_ms_per_gib" "ms/GiB" Lower 2: "CPU time to learn how well memory is used.";
    "access_ns" "ns" Lower 0: "Mean time of a random read.";
    "read_s" "s" Lower 3: "Time to read a recording.";
    "recording_mib" "MiB" Neither 1: "Size of the recording as text.";
    "call_p50_us" "us" Lower 0: "Median time of the manager's calls that act on memory.";
    "call_p99_us" "us" Lower 0: "Time that 1 % of these calls exceed.";
    "ns_per_step" "ns" Lower 1: "Time of one dependent read.";
    "ns_per_call" "ns" Lower 1: "Time of one call of a function.";
    "edges_per_s" "1/s" Higher 0: "Edges of the graph visited per second.";
    "touch_s" "s" Lower 3: "Time to touch all memory of a round for the first time.";
    "touched_mib" "MiB" Neither 0: "Base pages that the workload uses.";
    "live_mib" "MiB" Neither 0: "Memory that the program asked for and has not freed.";
    "overhead_percent" "%" Lower 1: "Resident memory beyond what the program asked for.";
    "fork_ms" "ms" Lower 2: "Time of a fork.";
    "extra_mib" "MiB" Lower 1: "Memory that a snapshot by fork cost, at most.";
    "free_blocks" "" Neither 0:
        "Free blocks of a huge page when a fragmenter has done its work.";
    "held_mib" "MiB" Neither 0: "Memory that a fragmenter holds.";
    "pinned_mib" "MiB" Neither 0: "Memory of it that the kernel cannot move.";
    "hugetlb_mib" "MiB" Neither 0: "Memory of the workload in HugeTLB pages.";
    "mean_us" "us" Lower 1: "Mean latency.";
    "save_s" "s" Lower 2: "Time to save all data in the background.";
    "copied_mib" "MiB" Lower 0: "Memory copied because parent and child wrote to shared pages.";
    "survived" "" Higher 0: "1 where the workload was not killed for want of memory, else 0.";
    "large_mib" "MiB" Higher 0: "Large values that found room.";
    "peak_cgroup_mib" "MiB" Lower 0: "Most memory seen charged to the workload's cgroup.";
    "peak_rss_mib" "MiB" Lower 0: "Most resident memory, as last seen before the program's end.";
    "allocated_mib_per_s" "MiB/s" Higher 0: "Memory allocated a second.";
    "gc_count" "" Neither 0: "Garbage collections.";
    "gc_ms" "ms" Lower 0: "Time of garbage collections in all.";
}

/// What is known of a key, without its phase.
pub fn find(key: &str) -> Option<&'static Metric> {
    let name = key.rsplit_once('.').map_or(key, |(_, name)| name);
    METRICS.iter().find(|metric| metric.name == name)
}

/// Whether a metric is of a manager, which a variant may not have.
pub fn of_manager(key: &str) -> bool {
    let own = ["promoted", "demoted", "failed", "freed_mib", "call_p50_us", "call_p99_us"];
    let (phase, name) = key.rsplit_once('.').unwrap_or(("", key));
    let timed = phase.starts_with("promoting") || ["promoting_s", "settle_s"].contains(&name);
    name.starts_with("manager_") || own.contains(&key) || timed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_a_phase_changes_nothing() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        assert_eq!(find("deleted.rss_mib"), find("rss_mib"));
        assert_eq!(find("rss"), None);
        for key in ["promoted", "demoted.manager_cpu_s", "promoting.map.p999_us", "settle_s"] {
            assert!(of_manager(key), "{key}");
        }
        assert!(!of_manager("map.p999_us") && !of_manager("settled.cgroup_mib"));
    }
}
