//! Every "no" has a name.
//!
//! A region that stays small, a process that is left alone and an action that waits each carry
//! one of these reasons; they are counted, journaled and shown. One table ([`SkipReason::text`])
//! says what each means and what an operator can do about it.

use hugewise_base::named;
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// Why something was left alone.
    SkipReason,
    // Whole processes.
    KernelThread = "kernel_thread": "a kernel thread has no memory of its own", "";
    Itself = "itself": "hugewise does not manage itself", "";
    InitProcess = "init_process": "PID 1 is never managed", "";
    RealTime = "real_time": "scheduled real-time or deadline: no stall is acceptable",
        "write a rule with action 'manage' for it if a stall of 1 ms is";
    IsolatedCpu = "isolated_cpu": "runs on isolated CPUs only",
        "write a rule with action 'manage' for it if interrupts are acceptable";
    ExcludedByRule = "excluded_by_rule": "a rule in the configuration excludes it",
        "see 'hugewise manage config show'";
    NotSelected = "not_selected": "neither '--pid' nor a rule selects it", "";
    TooSmall = "too_small":
        "less anonymous memory than select.min_anon_bytes, and less shared memory", "";
    NoSlot = "no_slot": "all select.max_targets places are taken",
        "raise select.max_targets, or exclude programs with a rule";
    ThpDisabledByProgram = "thp_disabled_by_program":
        "the program switched huge pages off for itself (PR_SET_THP_DISABLE)",
        "change the program's own switch; Redis and Valkey: 'disable-thp no', then restart it";
    OperatorNever = "operator_never": "transparent_hugepage/enabled is 'never'",
        "set 'madvise', or allow_under_never = true in the configuration";
    NoThp = "no_thp": "this kernel has no transparent huge pages",
        "needs a kernel with CONFIG_TRANSPARENT_HUGEPAGE";
    HugePageTooLarge = "huge_page_too_large":
        "one huge page is so large here that making it would hold the program up for too long",
        "faults may hand out smaller ones: settings.fault_sizes; or raise promote.call_most_ms";
    NoPermission = "no_permission": "reading or advising this process is not allowed",
        "run as root, or with CAP_SYS_NICE, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH";
    NoMechanism = "no_mechanism": "this kernel cannot do that from outside a process",
        "see 'hugewise doctor'";
    Gone = "gone": "the process ended", "";
    AddressSpaceChanged = "address_space_changed":
        "the process replaced its address space (exec), or the pid was reused", "";
    NotAnswering = "not_answering":
        "a call into a process of its user did not return in time: left alone for a while",
        "see which file server or tracer it waits for: 'cat /proc/PID/stack'";
    MapsFuse = "maps_fuse":
        "it maps a file of FUSE, whose server can hold up every process that inspects it",
        "unmap it, or copy what it holds to a local file system";
    Unreadable = "unreadable": "the kernel's answer could not be understood",
        "please report it together with the journal line";
    // Mappings.
    SharedMapping = "shared_mapping": "shared memory that is not managed",
        "promote.shared_memory = true manages what is no file on a disk";
    SharedElsewhere = "shared_elsewhere":
        "shared memory that is made huge in another process: this one maps it as huge when it next \
         touches it",
        "";
    SharedHoles = "shared_holes":
        "shared memory of which some pages are not there: filling them could not be taken back", "";
    Misaligned = "misaligned":
        "mapped at another offset within a huge page than in its object or file",
        "settings.shmem = true has the kernel place it well: then restart the program; QEMU: \
         memory-backend-file with align=2M";
    ShmemDenied = "shmem_denied": "shmem_enabled forbids huge pages for shared memory",
        "set it to 'advise': 'hugewise thp set shmem_enabled=advise'";
    FileMapping = "file_mapping": "memory of a file",
        "promote.text = true manages program text, where the kernel can";
    TextRefused = "text_refused": "the kernel makes no huge pages of text on this file system",
        "a copy of the program on tmpfs, or Linux 7.2";
    NotWritable = "not_writable": "the mapping is not writable", "";
    SpecialMapping = "special_mapping": "a stack or a mapping made by the kernel", "";
    // Regions.
    AlreadyHuge = "already_huge": "somebody else made it huge meanwhile", "";
    Empty = "empty": "no base page is populated", "";
    BelowThreshold = "below_threshold": "utilization is below promote.min_utilization_percent", "";
    NotRemembered = "not_remembered":
        "below the threshold, and its program has more such regions than are remembered", "";
    OverBloatBudget = "over_bloat_budget":
        "utilization is below the threshold and the bloat budget is spent",
        "raise promote.bloat_budget_percent if the memory is there";
    NotInspected = "not_inspected":
        "not inspected yet: whether a part of it is unmapped, holds only zeros or is not used",
        "";
    PartiallyMapped = "partially_mapped":
        "below the threshold, and holds pieces of a huge page: that is split first", "";
    Swapped = "swapped": "some of its pages are in swap", "";
    SharedPages = "shared_pages":
        "some of its pages are shared with another process, as after a fork", "";
    MixedNodes = "mixed_nodes":
        "its pages lie on several NUMA nodes, and a huge page lies on one",
        "set promote.mixed_nodes to true where that is meant, as with 'numactl --interleave'";
    WriteProtected = "write_protected": "userfaultfd write protection is active on it", "";
    Shrunk = "shrunk": "fewer pages are populated than when it was chosen", "";
    Unwritten = "unwritten":
        "too few of its populated pages were ever written: faults hand out several at a time", "";
    Shrinking = "shrinking":
        "its program has just begun to give memory back, or was not watched for long enough", "";
    AdvisedAgainst = "advised_against": "the program said MADV_NOHUGEPAGE for it", "";
    RefusedByKernel = "refused_by_kernel": "the kernel refused this region (EINVAL)", "";
    Hole = "hole": "a part of it is not mapped any more", "";
    Cooldown = "cooldown": "it lost a huge page a moment ago: no flapping", "";
    GivenBack = "given_back":
        "its bloat was given back: promoted again later, if it is full enough", "";
    RetryLater = "retry_later": "the kernel could not do it just now (EAGAIN)", "";
    // Regions that hold waste, or may, and stay as they are.
    MadeHugeAgain = "made_huge_again":
        "its waste was given back before, and somebody made it huge again: split later",
        "where that is khugepaged, lower its max_ptes_none: 'hugewise thp set'";
    DemotionOff = "demotion_off": "demote.enabled is false", "set it to true to get bloat back";
    Settling = "settling": "pieces of it were dropped a moment ago, more may follow", "";
    WithinBloatBudget = "within_bloat_budget": "its bloat is within the budget", "";
    UnknownUse = "unknown_use":
        "huge, and how much of it is used is unknown: made full, or not made by hugewise",
        "demote.sample = true reads samples of the program's memory to find out";
    KeepsZeroPages = "keeps_zero_pages":
        "a split gives back nothing that is still mapped: before Linux 6.12, or not proven here",
        "see 'hugewise doctor'";
    NotSplit = "not_split":
        "the kernel reported success and did not split it: shared, pinned or locked just then", "";
    NoLongerHuge = "no_longer_huge": "somebody else split or freed it meanwhile", "";
    NothingHeld = "nothing_held": "the block is no longer allocated", "";
    NotWorthIt = "not_worth_it":
        "so rarely used that being huge would cost more than it gains, and below the threshold, or \
         free huge pages are too few for all",
        "";
    // Looks at how memory is used.
    TrackerBusy = "tracker_busy":
        "in use by somebody else, and never taken over", "";
    TrackingTooExpensive = "tracking_too_expensive":
        "a look would take more CPU time, or hold the program's lock longer, than it may",
        "raise track.cpu_percent or track.longest_lock_us, or use another tracker (track.by)";
    // Actions that wait.
    Scheduled = "scheduled": "chosen, and waiting", "";
    Unmanaged = "unmanaged": "could be huge, or be split, and no manager serves this program",
        "run 'hugewise manage'; one that runs with '--pid' serves those processes only";
    WithheldByMode = "withheld_by_mode":
        "would be promoted or split; this mode or '--dry-run' does not act", "";
    NoFreeHugePage = "no_free_huge_page": "no free block of huge page size",
        "free memory: blocks are made while enough is available (promote.make_blocks)";
    NoFreeHugePageOnNode = "no_free_huge_page_on_node":
        "no free block of huge page size on the NUMA node of its pages",
        "free memory there: blocks are made while enough is available (promote.make_blocks)";
    NodeInPieces = "node_in_pieces":
        "would waste memory, and the free memory of its NUMA node is in pieces",
        "free memory there, or raise watermark.fmfi_high";
    AllocationBackoff = "allocation_backoff":
        "waiting after a failed huge page allocation (ENOMEM)", "";
    CgroupBackoff = "cgroup_backoff": "waiting: the target's cgroup is at its limit (EBUSY)",
        "raise the cgroup's memory limit";
    LowMemory = "low_memory": "little memory is left on this machine", "";
    CgroupLowMemory = "cgroup_low_memory": "its cgroup is near its memory limit",
        "raise the cgroup's memory limit, or watermark.cgroup_usage_high_percent";
    PromotionOff = "promotion_off": "promote.enabled is false: waste is given back, and no more",
        "set it to true, or run 'hugewise manage' without '--give-back'";
    Paused = "paused": "'hugewise manage pause' is in force", "run 'hugewise manage resume'";
    // Compaction that does not begin, or ends early.
    CompactionOff = "compaction_off": "compact.mode is 'off'",
        "set it to 'on' to have the kernel make free blocks while promotions wait for them";
    NothingWaits = "nothing_waits": "no promotion waits for a free block any more", "";
    BlocksMayCome = "blocks_may_come":
        "promotions have waited for free blocks for a moment only: some may come by themselves",
        "";
    LittleFree = "little_free": "too little memory is free in small pieces to make blocks of it",
        "free memory";
    CompactionBudget = "compaction_budget": "compaction had its share of CPU time",
        "raise compact.cpu_percent";
    CompactionSlow = "compaction_slow": "compaction made too few blocks for its CPU time", "";
    UnmovableMemory = "unmovable_memory":
        "too much of the memory is the kernel's own, which cannot be moved",
        "a reboot spreads it less; see 'Number of blocks' in /proc/pagetypeinfo";
}

impl SkipReason {
    /// Whether the region or its program is why an attempt came to nothing, and not the state of
    /// the machine or of a cgroup.
    pub const fn lies_in_region(self) -> bool {
        matches!(
            self,
            Self::SharedPages
                | Self::SharedMapping
                | Self::SharedHoles
                | Self::Misaligned
                | Self::ShmemDenied
                | Self::TextRefused
                | Self::MixedNodes
                | Self::WriteProtected
                | Self::Swapped
                | Self::Shrunk
                | Self::Unwritten
                | Self::Hole
                | Self::RetryLater
                | Self::RefusedByKernel
        )
    }

    /// Whether further attempts on the same program would come to nothing as well, for a while.
    pub const fn lies_in_program(self) -> bool {
        self.lies_in_region() || matches!(self, Self::NoFreeHugePageOnNode | Self::NodeInPieces)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

/// What holds a target's promotion rate down right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// controller.lock_share_percent: share of wall time in which we hold the target's mm lock.
    LockShare,
    /// controller.cpu_percent: our own CPU time.
    OwnCpu,
    /// quota.bytes_per_s over all targets.
    QuotaBytes,
}

impl Limit {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::LockShare, Self::OwnCpu, Self::QuotaBytes];

    /// What it means, for users.
    pub const fn text(self) -> &'static str {
        match self {
            Self::LockShare => "at its share of the program's lock",
            Self::OwnCpu => "at hugewise's own CPU budget",
            Self::QuotaBytes => "at the bytes per second that all programs share",
        }
    }

    /// The configuration key that sets it.
    pub const fn config_key(self) -> &'static str {
        match self {
            Self::LockShare => "controller.lock_share_percent",
            Self::OwnCpu => "controller.cpu_percent",
            Self::QuotaBytes => "quota.bytes_per_s",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_explained() {
        let mut keys: Vec<_> = SkipReason::ALL.iter().map(|r| r.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), SkipReason::ALL.len());
        for reason in SkipReason::ALL {
            assert!(!reason.text().0.is_empty(), "{reason} has no meaning");
        }
    }

    #[test]
    fn the_key_is_the_variant_in_small_letters() {
        for reason in SkipReason::ALL {
            let mut snake = String::new();
            for letter in format!("{reason:?}").chars() {
                if letter.is_uppercase() && !snake.is_empty() {
                    snake.push('_');
                }
                snake.extend(letter.to_lowercase());
            }
            assert_eq!(reason.key(), snake);
        }
    }

    #[test]
    fn the_journal_key_is_the_serde_name() {
        for reason in SkipReason::ALL {
            let json = serde_json::to_string(reason).expect("serialises");
            assert_eq!(json, format!("\"{}\"", reason.key()));
        }
    }
}
