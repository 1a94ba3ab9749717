//! The manager's configuration: every key, its default and where the default comes from.
//!
//! The file format (TOML, drop-ins, origins) is the app's business; this is the meaning.

mod checks;
mod promote;

use super::bounds::bytes_or_text;
use crate::access::Tracker;
use crate::hints::Hint;
use hugewise_base::units::Bytes;
use serde::{Deserialize, Serialize};

pub use self::promote::{Burst, MakeBlocks, Promote, Warm};
pub use super::bounds::ConfigError;

/// What the manager does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Faults hand out small pages, hugewise promotes in the background.
    #[default]
    Ingens,
    /// The machine keeps THP as it is (`always`) for cheap faults; hugewise takes back what that
    /// wastes and fills gaps.
    Guard,
    /// Faults hand out huge pages while memory is whole and there is enough of it; otherwise as
    /// `ingens`.
    Auto,
    /// Decides and journals like `ingens`, and has no actuator at all.
    Observe,
}

impl Mode {
    /// The word used in configuration, journal and views.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Ingens => "ingens",
            Self::Guard => "guard",
            Self::Auto => "auto",
            Self::Observe => "observe",
        }
    }
}

/// The whole configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Mode of `hugewise manage` where no `--mode` is given.
    pub mode: Mode,
    /// Which policy decides.
    pub policy: PolicyChoice,
    /// When a region is worth a huge page.
    pub promote: Promote,
    /// When a huge page's waste is taken back.
    pub demote: Demote,
    /// Closed-loop limits.
    pub controller: Controller,
    /// Fixed limits.
    pub quota: Quota,
    /// When memory is too short to promote.
    pub watermark: Watermark,
    /// Which processes are managed.
    pub select: Select,
    /// How often address spaces are read.
    pub scan: Scan,
    /// How the use of memory is tracked.
    pub track: Track,
    /// When memory is compacted.
    pub compact: Compaction,
    /// Which kernel settings hugewise may own.
    pub settings: Settings,
    /// The journal.
    pub journal: Journal,
    /// Rules per process; the first that matches decides.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// What is known beforehand of how programs use their memory.
    #[serde(rename = "hint", skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
}

/// A way to decide what becomes huge, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyKind {
    /// What is accessed most comes first; the bloat budget goes where a wasted byte gains most.
    /// Where nothing is known of accesses, the same as `utilization`.
    Worth,
    /// The fullest regions come first.
    Utilization,
    /// Ingens as published: by address, from 90 % utilization on; everything that is touched while
    /// FMFI is below `watermark.fmfi_high`. It bounds no bloat then: for comparisons.
    Paper,
}

impl PolicyKind {
    /// The word used in configuration, journal and views.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Worth => "worth",
            Self::Utilization => "utilization",
            Self::Paper => "paper",
        }
    }
}

/// Which policy decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyChoice {
    /// The policy in force. Default worth.
    pub active: PolicyKind,
    /// Share of its CPU time that a program saves when all that it uses is huge, and far more than
    /// the TLB covers. Default 20: between the 9 and the 41 % of walk cycles that servers and
    /// simulations had (`docs/measurements.md#value-of-huge-pages`). `hugewise lab run calibrate`
    /// measures it here.
    pub walk_percent: f64,
    /// What holding one MiB of memory for nothing costs, in CPU time, while memory is plenty; more
    /// as it gets short. Default 5000 (`docs/measurements.md#defaults-by-choice`).
    pub waste_ns_per_s_per_mib: u64,
}

impl Default for PolicyChoice {
    fn default() -> Self {
        Self { active: PolicyKind::Worth, walk_percent: 20.0, waste_ns_per_s_per_mib: 5_000 }
    }
}

/// When a huge page's waste is taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Demote {
    /// Take waste back at all. Default true.
    pub enabled: bool,
    /// While bloat is above its budget, huge regions whose utilization is known to be below this
    /// are split, the emptiest first. Default 80: ten below the promotion threshold, so that
    /// nothing flaps between the two; a value above that threshold counts as the threshold.
    pub utilization_percent: f64,
    /// Read 32 of a region's 512 base pages, to find out how many hold only zeros; nothing else of
    /// them is kept (`docs/security.md`). Without it bloat is known for regions that were seen
    /// before they became huge, and for partially mapped ones, and faults hand out base pages.
    /// Default true.
    pub sample: bool,
    /// A huge region's contents are sampled again after this time, or later where there are many.
    /// Default 60000.
    pub sample_interval_ms: u64,
    /// A block of which pieces were dropped is split this long after that was first seen. Default
    /// 500: allocators drop the pages of one region within milliseconds, and a block of which all
    /// pages go needs no split (`docs/measurements.md#defaults-by-choice`).
    pub settle_ms: u64,
}

impl Default for Demote {
    fn default() -> Self {
        Self {
            enabled: true,
            utilization_percent: 80.0,
            sample: true,
            sample_interval_ms: 60_000,
            settle_ms: 500,
        }
    }
}

/// Closed-loop limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Controller {
    /// Share of wall time in which one target's mm lock may be write-held by us, estimated as
    /// call time x rate. Default 1.5 (`docs/measurements.md#defaults-by-choice`).
    pub lock_share_percent: f64,
    /// Own CPU while promoting, in percent of one core. A fifth of it comes on top for listing and
    /// planning. Default 5.
    pub cpu_percent: f64,
    /// This many seconds' worth of it may be used at once, after as long without any: a program is
    /// huge at once that starts on a quiet machine. Half of what lies beyond one second is kept for
    /// users on which little was spent lately. Default 10, at which 500 ms make 2 GiB of base pages
    /// huge (`docs/measurements.md#defaults-by-choice`).
    pub cpu_burst_s: f64,
    /// CPU time that nobody else wants, in percent of one core, for warming destinations ahead.
    /// 0: each is warmed when it is needed, out of `cpu_percent`. Default 25.
    pub warm_cpu_percent: f64,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            lock_share_percent: 1.5,
            cpu_percent: 5.0,
            cpu_burst_s: 10.0,
            warm_cpu_percent: 25.0,
        }
    }
}

/// Fixed limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Bytes promoted and bytes split per second, all targets together. Default 1 GiB: more
    /// than limits of CPU and lock time let through, a backstop only.
    #[serde(deserialize_with = "bytes_or_text")]
    pub bytes_per_s: Bytes,
}

/// More than any machine moves.
const BYTES_PER_S_MAX: Bytes = Bytes(1 << 44);

impl Default for Quota {
    fn default() -> Self {
        Self { bytes_per_s: Bytes::mib(1024) }
    }
}

/// When memory is short: then nothing is promoted, and all waste is taken back. Each pair has
/// hysteresis: short beyond the first, well again beyond the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watermark {
    /// Memory is short when MemAvailable falls below this share of MemTotal. Default 5.
    pub mem_available_low_percent: f64,
    /// ... until it is above this one. Default 8.
    pub mem_available_high_percent: f64,
    /// A cgroup's memory is short when its usage (or an ancestor's) is above this share of its
    /// limit. Default 95: a collapse at the limit reclaims for up to 6 ms
    /// (`docs/measurements.md#collapse-at-a-cgroup-limit`).
    pub cgroup_usage_high_percent: f64,
    /// ... until it is below this one. Default 90.
    pub cgroup_usage_low_percent: f64,
    /// Programs stall for memory when some of them wait for it for this share of time (PSI, for
    /// the machine and for each cgroup). Default 10: the example of the kernel's documentation
    /// reacts at 15 (`Documentation/accounting/psi.rst`), and hugewise acts before an OOM killer.
    pub stall_percent: f64,
    /// While programs stall, memory is short below this share of MemTotal already. Default 15.
    /// Above it they wait for something else: for free blocks, or at the limit of a cgroup.
    pub mem_available_stalled_percent: f64,
    /// While the programs of a cgroup stall, its memory is short above this share of its limit
    /// already. Default 75.
    pub cgroup_usage_stalled_percent: f64,
    /// FMFI from which on nothing is spent from the bloat budget. Default 0.5: the value at which
    /// Ingens is said to turn conservative (`docs/measurements.md#ingens`).
    pub fmfi_high: f64,
}

impl Default for Watermark {
    fn default() -> Self {
        Self {
            mem_available_low_percent: 5.0,
            mem_available_high_percent: 8.0,
            cgroup_usage_high_percent: 95.0,
            cgroup_usage_low_percent: 90.0,
            stall_percent: 10.0,
            mem_available_stalled_percent: 15.0,
            cgroup_usage_stalled_percent: 75.0,
            fmfi_high: 0.5,
        }
    }
}

/// Which processes are managed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Select {
    /// Processes with less anonymous memory are left alone. Default 32 MiB: 16 huge pages.
    #[serde(deserialize_with = "bytes_or_text")]
    pub min_anon_bytes: Bytes,
    /// What happens to a process that no rule matches. Default manage.
    pub default: RuleAction,
    /// At most this many processes are managed at once: one user after the other gets a place, for
    /// the largest program first. Default 256: the daemon keeps up to three files open for each.
    pub max_targets: usize,
}

impl Default for Select {
    fn default() -> Self {
        Self { min_anon_bytes: Bytes::mib(32), default: RuleAction::Manage, max_targets: 256 }
    }
}

/// How often address spaces are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scan {
    /// A target that grew or shrank is scanned again after this time, one that only had page faults
    /// after five times as long. Default 1000.
    pub interval_ms: u64,
    /// A target that looks unchanged is scanned again after this time. Default 30000.
    pub idle_interval_ms: u64,
    /// All processes are listed anew after this time. Default 1000.
    pub list_interval_ms: u64,
    /// Own CPU for scans, in percent of one core. Default 0.5: half of the budget at rest.
    pub cpu_percent: f64,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            interval_ms: 1_000,
            idle_interval_ms: 30_000,
            list_interval_ms: 1_000,
            cpu_percent: 0.5,
        }
    }
}

/// How the use of memory is tracked: at which regions programs look, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Track {
    /// Trackers that may be used, the best first (`hugewise doctor` says which of them work here);
    /// none: `[]`. Default `["damon", "idle_pages", "damon_frames", "referenced"]`.
    pub by: Vec<Tracker>,
    /// Each program is looked at again after this time. Default 30000, as in HawkEye.
    pub interval_ms: u64,
    /// What is accessed within this time counts. Default 1000, as in HawkEye.
    pub window_ms: u64,
    /// Own CPU for tracking, in percent of one core. Default 0.5: what Ingens and HawkEye have at
    /// most (`docs/measurements.md#access-tracking`).
    pub cpu_percent: f64,
    /// A look may hold the lock of a program's address space for this long in one piece. Default
    /// 2800: as long as a burst of promotions. What it took counts as lock time of the program, so
    /// promotions wait for it (`docs/how-to/hot-first.md`).
    pub longest_lock_us: u64,
}

impl Default for Track {
    fn default() -> Self {
        use Tracker::{Damon, DamonFrames, IdlePages, Referenced};
        let by = vec![Damon, IdlePages, DamonFrames, Referenced];
        Self { by, interval_ms: 30_000, window_ms: 1_000, cpu_percent: 0.5, longest_lock_us: 2_800 }
    }
}

/// Whether memory is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactMode {
    /// Never.
    Off,
    /// While promotions wait for free blocks and for nothing else, or fewer are free than were
    /// wanted at once in the last minutes, and memory is not short.
    On,
}

/// When memory is compacted: the kernel moves pages together, so that there are free blocks for
/// promotions and faults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compaction {
    /// Whether it is. Default off: the kernel moves pages of all programs, also of those that are
    /// left alone for being real-time or on isolated CPUs.
    pub mode: CompactMode,
    /// CPU time that it may take, in percent of one core. It works in runs of at most ten seconds'
    /// worth of it: on machines of many GiB a run must be long enough to see all memory
    /// (`docs/measurements.md#compaction`). Default 5, as much as promotions have.
    pub cpu_percent: f64,
    /// Free blocks that are kept ready for faults and promotions, at most, in percent of the
    /// machine's memory: as many as were wanted within ten seconds in the last five minutes. 0:
    /// none are. Default 2 (`docs/measurements.md#defaults-by-choice`).
    pub reserve_percent: f64,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { mode: CompactMode::Off, cpu_percent: 5.0, reserve_percent: 2.0 }
    }
}

/// Which kernel settings hugewise may own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Change the files that the mode owns (`docs/how-to/give-back.md#choose-a-mode`), through the
    /// trail. Default true.
    pub own: bool,
    /// `khugepaged/max_ptes_none` in mode `ingens`, where it is higher, of 512 base pages: where a
    /// huge page has more, as many times more. Default 51 = 512 x (1 - 0.90). Where khugepaged
    /// makes smaller sizes, too (Linux 7.3), 0 is written, unless this is 511.
    pub max_ptes_none: u32,
    /// `khugepaged/max_ptes_none` in mode `guard`, where it is higher. Default 51, so that
    /// khugepaged does not refill what is given back: with 409, as others recommend
    /// (`docs/measurements.md#thp-shrinker`), Redis stayed at 1.9 times its size after a deletion.
    /// Any value below 511 also arms the kernel's own shrinker for huge pages with more zero pages
    /// than that (Linux 6.12).
    pub guard_max_ptes_none: u32,
    /// Park khugepaged (scan sleep at its maximum) in mode `ingens`. Default true.
    pub park_khugepaged: bool,
    /// Park khugepaged in mode `guard`, too, but only while memory is short on the machine: what it
    /// fills then has to be given back. Default true.
    pub guard_parks_khugepaged: bool,
    /// Write `advise` to `shmem_enabled` where that says `never`: new shared mappings are placed so
    /// that huge pages fit. Programs that run have to be restarted. Default false.
    pub shmem: bool,
    /// Write `defer` to `defrag` in modes `ingens` and `auto` wherever page faults may compact
    /// memory, also those of programs that ask for huge pages: a fault then takes a free block or
    /// base pages, which are promoted later. Where it is false, `always` becomes `madvise`, in mode
    /// `auto` `defer+madvise`. Default true (`docs/measurements.md#faults-that-compact`).
    pub defer_compaction: bool,
    /// Choose the size of folio that faults hand out, in modes `ingens` and `auto`, where the
    /// kernel has multi-size THP (Linux 6.8) and nobody has chosen one. Default all.
    pub fault_sizes: FaultSizes,
}

/// Whose faults are given folios of the size that hugewise chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultSizes {
    /// Nobody's: sizes stay as they are.
    Off,
    /// Those of memory for which its program asked with `MADV_HUGEPAGE`.
    Advised,
    /// Everybody's.
    All,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            own: true,
            max_ptes_none: 51,
            guard_max_ptes_none: 51,
            park_khugepaged: true,
            guard_parks_khugepaged: true,
            shmem: false,
            defer_compaction: true,
            fault_sizes: FaultSizes::All,
        }
    }
}

/// The journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Journal {
    /// The file is rotated once (to `.1`) when it would grow past this. Default 64 MiB.
    #[serde(deserialize_with = "bytes_or_text")]
    pub max_bytes: Bytes,
}

impl Default for Journal {
    fn default() -> Self {
        Self { max_bytes: Bytes::mib(64) }
    }
}

/// What a rule does with a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// Manage it. A rule does so even if it is excluded otherwise (real-time, isolated CPUs).
    Manage,
    /// Leave it alone.
    Exclude,
}

/// One rule. Every condition that is given must hold; text conditions may end in `*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What to do.
    pub action: RuleAction,
    /// Path of the executable, as `/proc/PID/exe` gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exe: Option<String>,
    /// cgroup path; also matches everything below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// systemd unit, as the system's systemd names it: whatever a user's own systemd starts is in
    /// `user@UID.service`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// User name, or `#` and a numeric uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Claim of a matching process on huge pages, relative to the others, times the CPU weight of
    /// its cgroup. Default 1.
    #[serde(default = "one")]
    pub share: f64,
}

fn one() -> f64 {
    1.0
}

impl Config {
    /// What is in force: while promotions go in a burst (`once`: `manage --once`), a whole core
    /// and all bytes, and a quarter of a core for scans.
    pub fn in_force(mut self, once: bool) -> Self {
        let bursts = match self.promote.burst {
            Burst::Never => false,
            Burst::Once => once,
            Burst::Always => true,
        };
        if bursts {
            self.controller.cpu_percent = 100.0;
            if self.controller.warm_cpu_percent > 0.0 {
                self.controller.warm_cpu_percent = 100.0;
            }
            self.scan.cpu_percent = self.scan.cpu_percent.max(25.0);
            self.quota.bytes_per_s = BYTES_PER_S_MAX;
        }
        self
    }
}

#[cfg(test)]
mod tests;
