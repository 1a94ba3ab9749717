//! May this region be promoted now, and if not, why not?
//!
//! # Problem
//!
//! A promotion has many reasons against it, and they are known at different times. The policy sees
//! the last scan of a region, the engine what has changed since the plan was made, the actuator the
//! page table as it is. A condition that is written down in each of these places drifts apart: a
//! region is shown as waiting that never gets its turn, or is promoted although a limit forbids it.
//!
//! # Approach
//!
//! [`GATES`] lists every condition once, in the order in which a region meets them: a reason, what
//! is asked in words, and the predicate. The gates of one [`Scope`] ask about the same facts, which
//! are plain values: nothing here reads the kernel, a clock or the state.
//!
//! 1. The **policy** walks all scopes but the last two. The first closed gate of a region is the
//!    reason that is counted and shown; a region that passes all of them is scheduled.
//! 2. The **engine** asks the *binding* gates again before every action: time has passed, and an
//!    outcome may have changed the region, its cgroup or the whole machine. No policy can pass a
//!    binding gate.
//! 3. The **actuator** asks the gates of [`Scope::Check`] and [`Scope::Node`] right before the
//!    system call, on facts that it has just read.
//! 4. `status --explain` lists reasons in this order, and `docs/how-a-region-becomes-huge.md` is
//!    the same table as text.
//!
//! # Properties
//!
//! * One order: of several reasons a region always has the first, in every view.
//! * A gate that is not binding is a matter of taste: policies may differ in it (`paper` promotes
//!   regions that are hardly populated), and the engine does not ask it.
//! * A plan that was remembered equals a plan that is made anew, at every simulated tick
//!   (`crates/manager/tests/simulation.rs`).
//! * What the policy schedules may still be refused by the two last scopes: the re-check is the
//!   authority, and its reason becomes the region's wait.

use crate::config::Config;
use crate::limits::backoff::Backoffs;
use crate::limits::budgets;
use crate::limits::fault_size;
use crate::limits::pressure::Pressure;
use crate::limits::thresholds::Thresholds;
use crate::reason::SkipReason;
use crate::snapshot::{MachineSample, ThpMode};
use crate::state::{Region, State, Target};
use hugewise_base::units::{Bytes, Ns};

/// What the facts of a gate are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The program as a whole.
    Program,
    /// The region, as it was last scanned.
    Region,
    /// The machine.
    Machine,
    /// The program's cgroup, and what became of earlier attempts on the program.
    Cgroup,
    /// What the promotion costs others.
    Price,
    /// The region's page table right before the system call.
    Check,
    /// The NUMA node on which the huge page would lie.
    Node,
}

impl Scope {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Region => "region",
            Self::Machine => "machine",
            Self::Cgroup => "cgroup",
            Self::Price => "price",
            Self::Check => "re-check",
            Self::Node => "NUMA node",
        }
    }
}

/// Facts of [`Scope::Program`] and [`Scope::Cgroup`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramFacts {
    /// Why its memory is refused as a whole.
    pub refused: Option<SkipReason>,
    /// Its cgroup was at its limit a moment ago.
    pub cgroup_waits: bool,
    /// Its cgroup is near its limit.
    pub cgroup_short: bool,
    /// Why it is suspended: attempt after attempt came to nothing.
    pub suspended: Option<SkipReason>,
    /// It has just begun to give memory back, or was there before this manager and has not been
    /// watched for long enough to know.
    pub shrinking: bool,
}

impl ProgramFacts {
    /// Those of a target at `now`.
    pub fn of(target: &Target, backoffs: &Backoffs, pressure: &Pressure, now: Ns) -> Self {
        let cgroup = target.sample.cgroup_key();
        Self {
            refused: target.refused,
            cgroup_waits: backoffs.cgroup_waits(&cgroup, now),
            cgroup_short: pressure.on(&cgroup).is_some(),
            suspended: target.suspension.active(now),
            shrinking: target.shrinking.holds(now),
        }
    }
}

/// What inspections show on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sight {
    /// No page frames.
    pub frames_hidden: bool,
    /// Regions that are not huge may hold pages that nobody wrote, and are sampled.
    pub samples_small: bool,
    /// The kernel counts folios of which pieces were dropped, enough to be worth splits.
    pub pieces: bool,
}

/// Facts of [`Scope::Region`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionFacts {
    /// It is huge.
    pub huge: bool,
    /// Its populated base pages, without those that are known to hold only zeros.
    pub written: u16,
    /// Some of its pages are in swap.
    pub swapped: bool,
    /// Why it waits after an earlier attempt, a split or a lost huge page.
    pub wait: Option<SkipReason>,
    /// Its waste was taken back since it was last well used.
    pub given_back: bool,
    /// Pages are missing, and nobody has inspected whether it holds pieces of a huge page; or they
    /// may be of larger folios, and nobody has sampled how many of them were written.
    pub unseen: bool,
    /// It holds pieces of a huge page.
    pub partially_mapped: bool,
    /// The policy's thresholds.
    pub thresholds: Thresholds,
}

impl RegionFacts {
    /// Those of a region at `now`, as far as inspections show it.
    pub fn of(region: &Region, thresholds: Thresholds, sight: Sight, now: Ns) -> Self {
        // Where no page is missing no block can be held.
        let own = !region.shared_memory;
        let missing = own && region.populated + region.zero_page < thresholds.whole;
        let frames = missing && region.inspected.is_none() && !sight.frames_hidden;
        Self {
            huge: region.huge,
            written: region.written(),
            swapped: region.swapped > 0,
            wait: region.waits.against_promotion(now),
            given_back: region.waits.given_back > 0,
            unseen: frames || (own && sight.samples_small && region.zeros.is_none()),
            partially_mapped: own && region.partially_mapped_since.is_some(),
            thresholds,
        }
    }

    /// Whether it is promoted whatever the bloat budget.
    pub const fn is_full(&self) -> bool {
        self.written >= self.thresholds.always
    }
}

/// Facts of [`Scope::Machine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineFacts {
    /// `hugewise manage pause` is in force.
    pub paused: bool,
    /// `promote.enabled`.
    pub promotes: bool,
    /// The switch of transparent huge pages; `None`: the kernel has none.
    pub thp: Option<ThpMode>,
    /// `promote.allow_under_never`.
    pub under_never: bool,
    /// Making one huge page takes longer than `promote.call_most_ms`.
    pub too_large: bool,
    /// Little memory is left.
    pub short: bool,
    /// A huge page could not be allocated a moment ago.
    pub allocation_waits: bool,
    /// Huge pages that can be had: free blocks, and those that the kernel may make
    /// (`promote.make_blocks`); `None`: unknown.
    pub free_huge: Option<u64>,
}

/// Folios of which pieces were dropped that are worth looking for, all programs together.
const PIECES: Bytes = Bytes::mib(4);

impl Sight {
    /// That of this state.
    pub fn of(config: &Config, state: &State) -> Self {
        let machine = state.machine.sample.as_ref();
        let small = machine.is_some_and(MachineSample::has_multi_size_folios);
        Self {
            frames_hidden: state.machine.frames_hidden,
            samples_small: small && config.demote.sample,
            pieces: machine.is_some_and(|machine| fault_size::pieces(&machine.sizes) >= PIECES),
        }
    }
}

impl MachineFacts {
    /// Those of the machine at `now`; `None` before it was first observed.
    pub fn of(config: &Config, state: &State, now: Ns) -> Option<Self> {
        let machine = state.machine.sample.as_ref()?;
        Some(Self {
            paused: state.limits.paused,
            promotes: config.promote.enabled,
            thp: machine.thp,
            under_never: config.promote.allow_under_never,
            too_large: budgets::call_prior(machine.geometry) > Ns::ms(config.promote.call_most_ms),
            short: state.limits.pressure.on_machine().is_some(),
            allocation_waits: state.limits.backoffs.allocation(now).is_some(),
            free_huge: state.obtainable(),
        })
    }
}

/// Facts of [`Scope::Price`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PriceFacts {
    /// Hints wait for the first scan of the program's whole memory.
    pub unscanned: bool,
    /// Free blocks or the bloat budget are too scarce for all.
    pub scarce: bool,
    /// Nobody knows yet how the program uses its memory.
    pub unknown_use: bool,
    /// It would cost more than it gains, or others gain more by the block.
    pub worthless: bool,
    /// Its waste does not fit into what is left of the bloat budget.
    pub over_budget: bool,
}

/// Facts of [`Scope::Check`], as they were read just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckFacts {
    /// The switch of transparent huge pages; `None`: it could not be read.
    pub thp: Option<ThpMode>,
    /// `promote.allow_under_never`.
    pub under_never: bool,
    /// It is huge.
    pub huge: bool,
    /// Base pages in swap.
    pub swapped: u32,
    /// It is shared memory, and the object does not have all of its pages, or is another one.
    pub holes: bool,
    /// Base pages that other processes map as well; 0 of shared memory, which is meant to be.
    pub shared: u32,
    /// Base pages of files; 0 of shared memory.
    pub file: u32,
    /// Base pages under userfaultfd write protection.
    pub write_protected: u32,
    /// Populated base pages.
    pub populated: u32,
    /// ... without those that hold only zeros, as a sample shows; as many where none was taken.
    pub written: u32,
    /// Populated base pages without which the decision would have been another one.
    pub min_populated: u16,
    /// As in [`MachineFacts`].
    pub free_huge: Option<u64>,
}

/// Facts of [`Scope::Node`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its pages lie on several nodes, and that is not meant.
    pub mixed: bool,
    /// ... of its node; `None`: unknown, or of no importance.
    pub free_huge: Option<u64>,
    /// It would waste memory, and the node's free memory is in pieces.
    pub wastes_scarce: bool,
}

/// The predicate of a gate: the reason if it is closed.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Program(fn(&ProgramFacts) -> Option<SkipReason>),
    Region(fn(&RegionFacts) -> Option<SkipReason>),
    Machine(fn(&MachineFacts) -> Option<SkipReason>),
    Cgroup(fn(&ProgramFacts) -> Option<SkipReason>),
    Price(fn(&PriceFacts) -> Option<SkipReason>),
    Check(fn(&CheckFacts) -> Option<SkipReason>),
    Node(fn(&NodeFacts) -> Option<SkipReason>),
}

/// One condition.
#[derive(Debug, Clone, Copy)]
pub struct Gate {
    /// Its reason; `None`: the one with which an earlier refusal or wait began.
    pub reason: Option<SkipReason>,
    /// When it is closed, in words.
    pub closed_when: &'static str,
    /// No policy passes it: the engine asks it again before each action.
    pub binding: bool,
    ask: Ask,
}

macro_rules! gates {
    ($($scope:ident $holds:ident $($reason:ident)?: $words:literal, $closed:expr;)*) => {
        /// Every condition of a promotion, in the order in which a region meets them.
        pub const GATES: &[Gate] = &[$(gate!($scope $holds $($reason)?: $words, $closed),)*];
    };
}

macro_rules! gate {
    ($scope:ident $holds:ident $reason:ident: $words:literal, $closed:expr) => {
        Gate {
            reason: Some(SkipReason::$reason),
            closed_when: $words,
            binding: holds!($holds),
            ask: Ask::$scope(|facts| {
                let closed: fn(&facts!($scope)) -> bool = $closed;
                closed(facts).then_some(SkipReason::$reason)
            }),
        }
    };
    ($scope:ident $holds:ident: $words:literal, $given:expr) => {
        Gate {
            reason: None,
            closed_when: $words,
            binding: holds!($holds),
            ask: Ask::$scope($given),
        }
    };
}

macro_rules! facts {
    (Program) => {
        ProgramFacts
    };
    (Region) => {
        RegionFacts
    };
    (Machine) => {
        MachineFacts
    };
    (Cgroup) => {
        ProgramFacts
    };
    (Price) => {
        PriceFacts
    };
    (Check) => {
        CheckFacts
    };
    (Node) => {
        NodeFacts
    };
}

macro_rules! holds {
    (binds) => {
        true
    };
    (policy) => {
        false
    };
}

gates! {
    Program binds: "its memory is refused as a whole, for the program's own reason",
        |program| program.refused;
    Region binds AlreadyHuge: "it is huge", |region| region.huge;
    Region policy Empty: "no base page is populated", |region| region.written == 0;
    Region policy BelowThreshold: "fewer pages are in use than promote.min_utilization_percent",
        |region| region.written < region.thresholds.budget;
    Region binds: "a wait is not over: after a failed attempt, a split, a lost huge page",
        |region| region.wait;
    Region policy Swapped: "some of its pages are in swap", |region| region.swapped;
    Region policy GivenBack: "not full, and its waste was taken back before",
        |region| !region.is_full() && region.given_back;
    Region policy NotInspected: "not full, and not inspected yet for pieces of larger folios",
        |region| !region.is_full() && region.unseen;
    Region policy PartiallyMapped: "not full, and it holds pieces of a huge page",
        |region| !region.is_full() && region.partially_mapped;
    Machine binds Paused: "'hugewise manage pause' is in force", |machine| machine.paused;
    Machine binds PromotionOff: "promote.enabled is false", |machine| !machine.promotes;
    Machine binds NoThp: "the kernel has no transparent huge pages",
        |machine| machine.thp.is_none();
    Machine binds OperatorNever: "the switch says 'never', and promote.allow_under_never is false",
        |machine| machine.thp == Some(ThpMode::Never) && !machine.under_never;
    Machine binds HugePageTooLarge: "one call takes longer than promote.call_most_ms",
        |machine| machine.too_large;
    Machine binds LowMemory: "little memory is left on the machine", |machine| machine.short;
    Machine binds AllocationBackoff: "a huge page could not be allocated a moment ago",
        |machine| machine.allocation_waits;
    Machine binds NoFreeHugePage: "no block of huge page size is free",
        |machine| machine.free_huge == Some(0);
    Cgroup binds CgroupBackoff: "its cgroup was at its limit a moment ago",
        |program| program.cgroup_waits;
    Cgroup binds CgroupLowMemory: "its cgroup is near its limit", |program| program.cgroup_short;
    Cgroup binds: "the program is suspended: attempt after attempt came to nothing",
        |program| program.suspended;
    Cgroup policy Shrinking: "it gives memory back: what is about to be freed is not promoted",
        |program| program.shrinking;
    Price policy NotInspected: "hints wait for the first scan of the whole program",
        |price| price.unscanned;
    Price policy NotInspected: "blocks or budget are scarce, and its use is unknown yet",
        |price| price.scarce && price.unknown_use;
    Price policy NotWorthIt: "blocks or budget are scarce, and others gain more by them",
        |price| price.scarce && price.worthless;
    Price policy OverBloatBudget: "its waste does not fit into the bloat budget",
        |price| price.over_budget;
    Check binds OperatorNever: "the switch says 'never' by now, or cannot be read",
        |check| !check.under_never && check.thp.is_none_or(|thp| thp == ThpMode::Never);
    Check binds AlreadyHuge: "somebody else made it huge meanwhile", |check| check.huge;
    Check binds Swapped: "some of its pages are in swap", |check| check.swapped > 0;
    Check binds SharedHoles: "shared memory of which some pages are not there", |check| check.holes;
    Check binds SharedPages: "some of its pages are shared with another process",
        |check| check.shared > 0;
    Check binds SharedMapping: "some of its pages are of a file", |check| check.file > 0;
    Check binds WriteProtected: "userfaultfd write protection is active on it",
        |check| check.write_protected > 0;
    Check binds Shrunk: "fewer pages are populated than when it was chosen",
        |check| check.populated < u32::from(check.min_populated);
    Check binds Unwritten: "too few of its pages were written: faults hand out several at a time",
        |check| check.written < u32::from(check.min_populated);
    // Without a free block the call would reclaim page cache and compact on its own account.
    Check binds NoFreeHugePage: "no block of huge page size is free",
        |check| check.free_huge == Some(0);
    Node binds MixedNodes: "its pages lie on several nodes, and promote.mixed_nodes is false",
        |node| node.mixed;
    Node binds NoFreeHugePageOnNode: "no block is free on its node",
        |node| node.free_huge == Some(0);
    Node binds NodeInPieces: "it would waste memory, and free memory of its node is in pieces",
        |node| node.wastes_scarce;
}

impl Gate {
    /// What its facts are about.
    pub const fn scope(&self) -> Scope {
        match self.ask {
            Ask::Program(_) => Scope::Program,
            Ask::Region(_) => Scope::Region,
            Ask::Machine(_) => Scope::Machine,
            Ask::Cgroup(_) => Scope::Cgroup,
            Ask::Price(_) => Scope::Price,
            Ask::Check(_) => Scope::Check,
            Ask::Node(_) => Scope::Node,
        }
    }
}

/// Which gates are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// All.
    All,
    /// Those that no policy passes.
    Binding,
}

/// The first closed gate of a scope.
macro_rules! first_closed {
    ($name:ident, $scope:ident, $facts:ty, $about:literal) => {
        #[doc = $about]
        pub fn $name(facts: &$facts, asked: Asked) -> Option<SkipReason> {
            for gate in GATES {
                if let Ask::$scope(closed) = gate.ask
                    && (gate.binding || asked == Asked::All)
                    && let Some(reason) = closed(facts)
                {
                    return Some(reason);
                }
            }
            None
        }
    };
}

first_closed!(program, Program, ProgramFacts, "Why the program's memory is refused as a whole.");
first_closed!(region, Region, RegionFacts, "Why the region itself is not promoted.");
first_closed!(machine, Machine, MachineFacts, "Why nothing at all is promoted.");
first_closed!(cgroup, Cgroup, ProgramFacts, "Why nothing of this program is promoted now.");
first_closed!(price, Price, PriceFacts, "Why the promotion is not worth what it costs.");
first_closed!(check, Check, CheckFacts, "Why the region must not be promoted after all.");
first_closed!(node, Node, NodeFacts, "Why its NUMA node has no block for it.");

/// Why nothing at all is promoted at `now`.
pub fn closed_for_all(config: &Config, state: &State, now: Ns) -> Option<SkipReason> {
    machine(&MachineFacts::of(config, state, now)?, Asked::All)
}

/// Where a reason stands among the gates: views list reasons in this order. Reasons of no gate come
/// last.
pub fn place(reason: SkipReason) -> usize {
    GATES.iter().position(|gate| gate.reason == Some(reason)).unwrap_or(GATES.len())
}

#[cfg(test)]
mod tests;
