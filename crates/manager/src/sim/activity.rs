//! What the checkers had to check: one that never met its case has proved nothing.

use std::collections::BTreeMap;

/// A checker, by the case that it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checker {
    /// A decision, while an excluded process holds memory that would be promoted.
    Excluded,
    /// A tick under THP `never`, long enough for the manager to know, with memory to promote.
    OperatorNever,
    /// A promotion: the region was not huge.
    Promoted,
    /// A promotion of a region that had been promoted before: the cooldown was over.
    PromotedAgain,
    /// A promotion of a region that had been split: its wait was over.
    PromotedAfterSplit,
    /// A split: there was a block.
    Split,
    /// A split of a region of which is known how full it was promoted: it was not well used.
    SplitOfPromoted,
    /// A tick in which the lock share held a target back.
    LockShare,
    /// A tick in which own CPU time held a target back.
    OwnCpu,
    /// A tick in which the quota of bytes held a target back.
    QuotaBytes,
    /// A small region of a scanned target: it has a reason.
    SmallHasReason,
    /// A huge region with waste: it has a reason.
    WasteHasReason,
    /// A tick in which promotions below the threshold waste memory: the budget bounds it.
    BloatBudget,
    /// A tick in which the spent bloat budget keeps a region small.
    BloatBudgetSpent,
    /// A target for which a plan was remembered, in a tick: it is as if it were made anew.
    RememberedPlan,
    /// A run of compaction: somebody waits for blocks, memory is not short, CPU time is left.
    Compaction,
}

impl Checker {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Excluded,
        Self::OperatorNever,
        Self::Promoted,
        Self::PromotedAgain,
        Self::PromotedAfterSplit,
        Self::Split,
        Self::SplitOfPromoted,
        Self::LockShare,
        Self::OwnCpu,
        Self::QuotaBytes,
        Self::SmallHasReason,
        Self::WasteHasReason,
        Self::BloatBudget,
        Self::BloatBudgetSpent,
        Self::RememberedPlan,
        Self::Compaction,
    ];
}

/// How often each checker met its case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity(BTreeMap<Checker, u64>);

impl Activity {
    /// `checker` met its case `times` times more.
    pub fn met(&mut self, checker: Checker, times: u64) {
        *self.0.entry(checker).or_default() += times;
    }

    /// Adds what other checkers met.
    pub fn add(&mut self, other: &Self) {
        for (checker, times) in &other.0 {
            self.met(*checker, *times);
        }
    }

    /// How often `checker` met its case.
    pub fn of(&self, checker: Checker) -> u64 {
        self.0.get(&checker).copied().unwrap_or(0)
    }

    /// The checkers that met their case less often than `floor` says, in words.
    pub fn idle(&self, floor: impl Fn(Checker) -> u64) -> Vec<String> {
        let idle = Checker::ALL.into_iter().filter(|checker| self.of(*checker) < floor(*checker));
        idle.map(|checker| format!("{checker:?}: {} of {}", self.of(checker), floor(checker)))
            .collect()
    }
}
