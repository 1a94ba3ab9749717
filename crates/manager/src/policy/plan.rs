//! What a policy wants, and why it leaves the rest alone.

use super::View;
use super::contiguity::Wanted;
use super::ledger::Ledger;
use crate::config::Config;
use crate::decision::Queues;
use crate::reason::SkipReason;
use crate::state::unwritten::Estimate;
use hugewise_base::units::{Bytes, Ns, ProcId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reasons by target; those of a target in which nothing changed are the same object again.
pub type AllReasons = BTreeMap<ProcId, Arc<Reasons>>;

/// A function from what is known to what is wanted.
///
/// It may want anything: the engine bars what limits do not allow, and paces the rest.
pub trait Policy: std::fmt::Debug {
    /// What is wanted at `now`.
    fn plan(&self, config: &Config, view: &View<'_>, now: Ns) -> Plan;
    /// The same policy with nothing remembered; `None` where it remembers nothing.
    fn afresh(&self) -> Option<Box<dyn Policy>> {
        None
    }
}

/// What a policy wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Wanted actions.
    pub queues: Queues,
    /// Compaction that would help: for regions that wait for a free block and for nothing else.
    pub compaction: Option<Wanted>,
    /// Queues are full: when they are served, more is wanted at once.
    pub more: bool,
    /// From then on time alone may make another plan of it: a wait ends, something has settled.
    /// `None`: never.
    pub until: Option<Ns>,
    /// Why regions stay as they are, for every target.
    pub reasons: AllReasons,
    /// Bloat is above its budget, and being taken back; handed to the next plan for hysteresis.
    pub giving_back: bool,
    /// Waste that promotions below the threshold may cause in all; `None` while nothing is known
    /// of the machine.
    pub bloat_budget: Option<Bytes>,
    /// Waste above which it is taken back: the budget while memory is not fragmented.
    pub bloat_bound: Option<Bytes>,
    /// Waste that is known; `None` before the first plan.
    pub wasted: Option<Bytes>,
    /// Pages of regions that are not huge that hold only zeros; `None`: none was sampled.
    pub unwritten: Option<Estimate>,
    /// What carrying out all of `queues` is expected to give and to cost.
    pub ledger: Ledger,
}

impl Plan {
    /// The reasons of one target; none before it was planned for.
    pub fn reasons_of(&self, id: ProcId) -> Arc<Reasons> {
        self.reasons.get(&id).cloned().unwrap_or_default()
    }

    /// Regions of all targets that only wait for their turn to become huge.
    pub fn waiting(&self) -> u64 {
        self.reasons.values().map(|reasons| reasons.waiting()).sum()
    }
}

/// Why regions of one target stay as they are. What is wanted and waits for its turn is counted
/// as [`SkipReason::Scheduled`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Small regions by reason.
    pub not_promoted: BTreeMap<SkipReason, u64>,
    /// Regions that hold waste, or may, by reason.
    pub not_split: BTreeMap<SkipReason, u64>,
}

impl Reasons {
    /// One more small region.
    pub fn not_promoted(&mut self, reason: SkipReason) {
        *self.not_promoted.entry(reason).or_default() += 1;
    }

    /// One more region with waste.
    pub fn not_split(&mut self, reason: SkipReason) {
        *self.not_split.entry(reason).or_default() += 1;
    }

    /// Regions that only wait for their turn to become huge.
    pub fn waiting(&self) -> u64 {
        self.not_promoted.get(&SkipReason::Scheduled).copied().unwrap_or(0)
    }

    /// Whether something waits for its turn, or will soon be decided.
    pub fn busy(&self) -> bool {
        let promotions = [SkipReason::Scheduled, SkipReason::NotInspected, SkipReason::Shrinking];
        let splits = [SkipReason::Scheduled, SkipReason::Settling, SkipReason::NotInspected];
        promotions.iter().any(|reason| self.not_promoted.contains_key(reason))
            || splits.iter().any(|reason| self.not_split.contains_key(reason))
    }
}
