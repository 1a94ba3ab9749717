//! What is promoted, and what for.

use serde::{Deserialize, Serialize};

/// When a region is worth a huge page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Promote {
    /// Promote at all; without it waste is given back, and no more. Default true.
    pub enabled: bool,
    /// From this utilization on a region is promoted before any other, and also where free memory
    /// is in pieces. Default 90, Ingens' util_threshold.
    pub utilization_percent: f64,
    /// The bloat budget covers what regions from `utilization_percent` on waste, too. Default true;
    /// false: those are always promoted, as with Ingens, and what they waste is not bounded.
    pub budget_covers_full: bool,
    /// Below this utilization a region is never promoted, whatever the budget. Default 50: more
    /// than half of a promoted page would be waste.
    pub min_utilization_percent: f64,
    /// Memory that may be held without use, in percent of the managed footprint. Default 3
    /// (`docs/measurements.md#defaults-by-choice`).
    pub bloat_budget_percent: f64,
    /// Up to so much the budget grows while memory is free and unfragmented: all of it where half
    /// of the machine is available. Default 0: it does not grow, nor does it where this is less
    /// than `bloat_budget_percent`.
    pub bloat_budget_most_percent: f64,
    /// A program that shrinks is promoted again when it has kept its size for so long, and one that
    /// was there before the manager when a second list shows that it does: what is about to be
    /// freed is not promoted. 0: at once. Default 3000 (`docs/measurements.md#defaults-by-choice`).
    pub watch_ms: u64,
    /// Promote although the operator set THP to `never`. Default false.
    pub allow_under_never: bool,
    /// Nothing is made huge where one call is expected to hold a program's lock for longer: where a
    /// huge page has 512 MiB, as on arm64 with pages of 64 KiB. Default 50: one of 32 MiB takes
    /// 11 ms, one of 512 MiB 180 ms (`docs/measurements.md#remote-collapse`).
    pub call_most_ms: u64,
    /// Promote regions whose pages lie on several NUMA nodes, too: the huge page lies on the node
    /// of most of them. Default false. Meant for memory that is spread over nodes on purpose.
    pub mixed_nodes: bool,
    /// Promote shared memory, too (shared anonymous mappings, System V segments, memfds, files of
    /// tmpfs), where all of a region's pages are there: nothing grows by it. Default true.
    pub shared_memory: bool,
    /// Promote program text (executable mappings of files), too, for programs that are managed. It
    /// stays the file's, and shared. What is missing of it is read. Default false.
    pub text: bool,
    /// Ask for a huge page although no block is free: the kernel then gives up page cache and moves
    /// pages, before it takes the program's lock. Default auto; always with `manage --guarantee`.
    pub make_blocks: MakeBlocks,
    /// Touch the destination block before a collapse, so that a host that backs memory lazily
    /// takes its fault outside the target's lock (`docs/measurements.md#lazily-backed-memory`).
    pub warm: Warm,
    /// When promotions go as fast as `controller.lock_share_percent` of each program allows, and
    /// nothing else holds them back: not `controller.cpu_percent`, `controller.warm_cpu_percent`,
    /// `scan.cpu_percent` or `quota.bytes_per_s`. Default once: with `manage --once`.
    pub burst: Burst,
}

impl Default for Promote {
    fn default() -> Self {
        Self {
            enabled: true,
            utilization_percent: 90.0,
            budget_covers_full: true,
            min_utilization_percent: 50.0,
            bloat_budget_percent: 3.0,
            bloat_budget_most_percent: 0.0,
            watch_ms: 3_000,
            allow_under_never: false,
            call_most_ms: 50,
            mixed_nodes: false,
            shared_memory: true,
            text: false,
            make_blocks: MakeBlocks::Auto,
            warm: Warm::Auto,
            burst: Burst::Once,
        }
    }
}

/// When only the programs' locks limit promotions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Burst {
    /// Never.
    Never,
    /// With `manage --once`.
    Once,
    /// Always.
    Always,
}
/// Whether destinations are warmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warm {
    /// Where calls or earlier warm-ups show that the host backs memory lazily.
    Auto,
    /// Before each collapse.
    Always,
    /// Never.
    Never,
}

/// Whether the kernel is asked for a huge page although no block is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MakeBlocks {
    /// Never.
    Never,
    /// Where khugepaged may do the same (`khugepaged/defrag` is 1, the kernel's default), while
    /// MemAvailable is above `watermark.mem_available_stalled_percent`.
    Auto,
    /// While MemAvailable is above `watermark.mem_available_low_percent`.
    Always,
}
