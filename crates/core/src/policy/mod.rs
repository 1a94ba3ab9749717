//! What to promote, what to split, what to leave alone, and why. Pure: state in, plan out.
//!
//! The steps, each in its own module:
//!
//! 1. [`select`]: which processes are looked at (rules, exclusions, size);
//! 2. [`scan`]: which address spaces are read now, within the scan budget;
//! 3. [`eligible`]: what each region is: wanted always, wanted if the bloat budget allows, or
//!    skipped for a named reason;
//! 4. [`bloat`]: how much waste is known, and how much more may be caused; [`look`]: which regions
//!    are looked at closely to find out; [`pressure`]: whether memory is short;
//! 5. [`giveback`]: which huge pages are split, and why the others are not; [`plan`]: both wishes
//!    as one queue per target;
//! 6. [`pace`]: who is served next and when ([`fair`] between processes; [`bucket`]s for lock
//!    share, own CPU and bytes; [`backoff`] after failures; [`warm`] for lazily backed memory).
//!
//! Properties that hold, checked by the simulator over thousands of seeds: nothing outside a
//! quota, nothing on an excluded or refusing target, waste within the budget, no flapping, and
//! every region that stays small has a reason.

pub mod backoff;
pub mod bloat;
pub mod bucket;
pub mod eligible;
pub mod fair;
pub mod giveback;
pub mod look;
pub mod pace;
pub mod plan;
pub mod pressure;
pub mod scan;
pub mod select;
pub mod warm;

use crate::reason::SkipReason;
use crate::units::{Addr, Ns, ProcId};
use serde::{Deserialize, Serialize};

/// What can be done to a region from outside its process. Remotely the kernel accepts only
/// `MADV_COLLAPSE`, `MADV_COLD`, `MADV_PAGEOUT` and `MADV_WILLNEED` (kernel.md 1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Make the region one huge page.
    Promote,
    /// Split the huge page, or the block whose pieces the region still maps.
    Demote,
}

/// Why an action is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Motive {
    /// Utilization is at or above the threshold.
    Utilization,
    /// Below the threshold, paid out of the bloat budget.
    BloatBudget,
    /// Pages of a huge page's block were dropped, and the block is still held for the rest.
    PartiallyMapped,
    /// Huge, badly used, and bloat is above its budget.
    OverBloatBudget,
    /// Huge, badly used, and memory is short.
    Pressure,
}

/// One wanted action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Whose memory.
    pub target: ProcId,
    /// Which region.
    pub region: Addr,
    /// Start of its mapping, so that views can show an offset instead of an address.
    pub mapping: Addr,
    /// What to do.
    pub action: Action,
    /// Why.
    pub motive: Motive,
    /// Populated base pages when it was chosen.
    pub populated: u16,
    /// Base pages that it wastes by then (demote), or would waste (promote).
    #[serde(default)]
    pub waste: u16,
    /// The actuator refuses to promote when fewer are populated by then.
    pub min_populated: u16,
    /// Warm the destination first.
    pub warm: bool,
}

/// How a failed call is classed (kernel.md 1.1, errno map).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// ENOMEM: no huge page could be allocated: everybody waits.
    Allocation,
    /// EBUSY: the target's cgroup is at its limit: that cgroup waits.
    Cgroup,
    /// EAGAIN: pages busy just now: this region waits.
    Transient,
    /// EINVAL: the kernel refuses this region.
    Refused,
    /// EPERM or EACCES: not allowed: the target is left alone.
    Permission,
    /// Anything else.
    Other,
}

impl FailureClass {
    /// The class of an error number of `MADV_COLLAPSE` (Linux 6.18 `madvise_collapse_errno`; the
    /// numbers are the same on every architecture).
    #[must_use]
    pub const fn of_errno(errno: i32) -> Self {
        match errno {
            12 => Self::Allocation,
            16 => Self::Cgroup,
            11 => Self::Transient,
            22 => Self::Refused,
            1 | 13 => Self::Permission,
            _ => Self::Other,
        }
    }

    /// The reason that stands for the class where nothing more exact is known.
    #[must_use]
    pub const fn reason(self) -> SkipReason {
        match self {
            Self::Allocation => SkipReason::AllocationBackoff,
            Self::Cgroup => SkipReason::CgroupBackoff,
            Self::Transient => SkipReason::RetryLater,
            Self::Refused | Self::Other => SkipReason::RefusedByKernel,
            Self::Permission => SkipReason::NoPermission,
        }
    }
}

/// What became of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Outcome {
    /// The region is huge now; a scan after the call showed it.
    Promoted {
        /// Populated base pages just before the call.
        populated: u16,
        /// Duration of the warm-up, if there was one.
        #[serde(rename = "warm_ns")]
        warm: Option<Ns>,
        /// Duration of the collapse call.
        #[serde(rename = "call_ns")]
        call: Ns,
        /// Own CPU time for all of it.
        #[serde(rename = "cpu_ns")]
        cpu: Ns,
    },
    /// The huge page is split now; a scan after the call showed it.
    Demoted {
        /// Base pages that the program does not hold any more.
        #[serde(rename = "freed_pages")]
        freed: u16,
        /// Duration of the call.
        #[serde(rename = "call_ns")]
        call: Ns,
        /// Own CPU time for all of it.
        #[serde(rename = "cpu_ns")]
        cpu: Ns,
    },
    /// The actuator's re-check said no; nothing was done.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// Duration of a warm-up that was wasted.
        #[serde(rename = "warm_ns")]
        warm: Option<Ns>,
        /// Own CPU time.
        #[serde(rename = "cpu_ns")]
        cpu: Ns,
    },
    /// No actuator (mode `observe`) or its last step left out (`--dry-run`).
    Withheld {
        /// Populated base pages at the re-check; the decision's value without one.
        populated: u16,
    },
    /// The call failed, or reported success and the region is not huge.
    Failed {
        /// What that means for the next attempts.
        class: FailureClass,
        /// Its name, as exact as could be found out.
        reason: SkipReason,
        /// The kernel's error number; `None` where the call reported success.
        errno: Option<i32>,
        /// Duration of the warm-up, if there was one.
        #[serde(rename = "warm_ns")]
        warm: Option<Ns>,
        /// Duration of the call.
        #[serde(rename = "call_ns")]
        call: Ns,
        /// Own CPU time.
        #[serde(rename = "cpu_ns")]
        cpu: Ns,
    },
}

impl Outcome {
    /// Duration of the warm-up, if there was one.
    #[must_use]
    pub const fn warm(&self) -> Option<Ns> {
        match self {
            Self::Promoted { warm, .. }
            | Self::Skipped { warm, .. }
            | Self::Failed { warm, .. } => *warm,
            Self::Withheld { .. } | Self::Demoted { .. } => None,
        }
    }

    /// Duration of the call into the kernel on the target, if there was one.
    #[must_use]
    pub const fn call(&self) -> Option<Ns> {
        match self {
            Self::Promoted { call, .. }
            | Self::Demoted { call, .. }
            | Self::Failed { call, .. } => Some(*call),
            Self::Skipped { .. } | Self::Withheld { .. } => None,
        }
    }

    /// Own CPU time spent.
    #[must_use]
    pub const fn cpu(&self) -> Ns {
        match self {
            Self::Promoted { cpu, .. }
            | Self::Demoted { cpu, .. }
            | Self::Skipped { cpu, .. }
            | Self::Failed { cpu, .. } => *cpu,
            Self::Withheld { .. } => Ns(0),
        }
    }
}
