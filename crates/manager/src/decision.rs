//! What can be done to a region, why, and what became of it: the words that policy, actuator,
//! journal and recordings share.

use crate::reason::SkipReason;
use hugewise_base::errno;
use hugewise_base::units::{Addr, Ns, ProcId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// What can be done to a region from outside its process. Remotely the kernel accepts only
/// `MADV_COLLAPSE`, `MADV_COLD`, `MADV_PAGEOUT` and `MADV_WILLNEED`
/// (`docs/measurements.md#remote-advice`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Not huge: pages of larger folios hold only zeros, and bloat is above its budget, or memory
    /// is short.
    Unwritten,
}

impl Motive {
    /// Whether a split for it ends a huge mapping.
    pub const fn loses_a_huge_page(self) -> bool {
        !matches!(self, Self::PartiallyMapped | Self::Unwritten)
    }
}

/// What being huge is expected to give and to cost, for one region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// Time that the program saves, in ns a second.
    pub gain_ns_per_s: u64,
    /// Time and memory that it costs, in ns a second.
    pub cost_ns_per_s: u64,
}

impl Outlook {
    /// Gain that is left when the cost is taken off.
    pub const fn is_worth_it(self) -> bool {
        self.gain_ns_per_s > self.cost_ns_per_s
    }
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
    /// Read a sample of its contents first: pages may be populated that nobody wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sample: bool,
    /// It is shared memory ([`RegionSample::object`](crate::snapshot::RegionSample)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_memory: bool,
    /// Another promotion waits: its destination may be warmed ahead.
    #[serde(default)]
    pub another: bool,
    /// No other user waits: there is time for a moment in which its program sleeps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unhurried: bool,
    /// What it is expected to give and to cost; `None`: nothing is known of its use, or the policy
    /// does not ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Outlook>,
}

/// Wanted actions per target, the best first.
pub type Queues = BTreeMap<ProcId, VecDeque<Decision>>;

/// How a failed call is classed (`docs/measurements.md#errors-of-a-collapse`).
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
    /// The class of an error number of `MADV_COLLAPSE` (Linux 6.18 `madvise_collapse_errno`).
    pub const fn of_errno(errno: i32) -> Self {
        match errno {
            errno::ENOMEM => Self::Allocation,
            errno::EBUSY => Self::Cgroup,
            errno::EAGAIN => Self::Transient,
            errno::EINVAL => Self::Refused,
            errno::EPERM | errno::EACCES => Self::Permission,
            _ => Self::Other,
        }
    }

    /// The reason that stands for the class where nothing more exact is known.
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

/// A call into the kernel on a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// How long it took.
    #[serde(rename = "call_ns")]
    pub took: Ns,
    /// The program slept, all threads of it, from before the call to its end: it felt nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asleep: bool,
}

impl From<Ns> for Call {
    /// One that the program may have felt.
    fn from(took: Ns) -> Self {
        Self { took, asleep: false }
    }
}

/// What became of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Outcome {
    /// The region is huge now; a scan after the call showed it.
    Promoted {
        /// Populated base pages just before the call. A record of the journal has the decision's
        /// own count beside it, so they need two names.
        #[serde(rename = "populated_then", alias = "populated")]
        populated: u16,
        /// Duration of the warm-up, if there was one.
        #[serde(rename = "warm_ns")]
        warm: Option<Ns>,
        /// The collapse.
        #[serde(flatten)]
        call: Call,
        /// Own CPU time for all of it.
        #[serde(rename = "cpu_ns")]
        cpu: Ns,
    },
    /// The huge page is split now; a scan after the call showed it.
    Demoted {
        /// Base pages that the program does not hold any more.
        #[serde(rename = "freed_pages")]
        freed: u16,
        /// The call.
        #[serde(flatten)]
        call: Call,
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
        #[serde(rename = "populated_then", alias = "populated")]
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
        /// The call.
        #[serde(flatten)]
        call: Call,
        /// Own CPU time.
        #[serde(rename = "cpu_ns")]
        cpu: Ns,
    },
}

impl Outcome {
    /// Duration of the warm-up, if there was one.
    pub const fn warm(&self) -> Option<Ns> {
        match self {
            Self::Promoted { warm, .. }
            | Self::Skipped { warm, .. }
            | Self::Failed { warm, .. } => *warm,
            Self::Withheld { .. } | Self::Demoted { .. } => None,
        }
    }

    /// The call into the kernel on the target, if there was one.
    pub const fn call(&self) -> Option<Call> {
        match self {
            Self::Promoted { call, .. }
            | Self::Demoted { call, .. }
            | Self::Failed { call, .. } => Some(*call),
            Self::Skipped { .. } | Self::Withheld { .. } => None,
        }
    }

    /// ... as far as it held the target's lock: the kernel looks for a block before it takes that
    /// (`collapse_huge_page` of mm/khugepaged.c, 6.18), so a call that found none held up nobody,
    /// however long it took.
    pub const fn locking(&self) -> Option<Call> {
        match self {
            Self::Failed { class: FailureClass::Allocation, .. }
            | Self::Failed { reason: SkipReason::NoFreeHugePageOnNode, .. } => None,
            _ => self.call(),
        }
    }

    /// Own CPU time spent.
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
