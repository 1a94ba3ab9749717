//! An action that nothing about its region speaks against, and how soon it comes.

use crate::decision::{Action, Decision, Motive};
use hugewise_base::units::saturating_u64;

/// By what regions are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// How full they are.
    Populated,
    /// How much of them is accessed, where that is known.
    Accessed,
    /// Their addresses.
    Address,
}

/// An action that nothing about its region speaks against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) decision: Decision,
    /// The higher, the sooner, among decisions of one motive.
    pub(super) rank: u64,
    /// [`accessed_pages`](crate::policy::worth::accessed_pages) of its region.
    pub(super) accessed: f64,
    /// Something is known of its use.
    pub(super) tracked: bool,
    /// A split whose memory is needed elsewhere now.
    pub(super) urgent: bool,
}

/// Steps of a rank to a page; among equals the fuller region comes first.
const FINE: f64 = 1_024.0;
/// Waste in a region that is never accessed counts so many times as much as in one of which nothing
/// is known: much, and yet not so much that a few pages of it go before a region full of waste.
const COLDEST: f64 = 8.0;

impl Order {
    /// `accessed`: as in [`Candidate`].
    pub(super) fn rank(self, decision: &Decision, accessed: f64) -> u64 {
        let waste = f64::from(decision.waste);
        saturating_u64(match (self, decision.action, decision.motive) {
            (Self::Address, Action::Promote, _) => 0.0,
            (_, Action::Promote, Motive::BloatBudget) => FINE * FINE * accessed / waste.max(1.0),
            (_, Action::Promote, _) => FINE * accessed + f64::from(decision.populated),
            // Worst waste for the least loss first. What is partially mapped is not huge any more.
            (_, Action::Demote, Motive::PartiallyMapped) => FINE * waste,
            (_, Action::Demote, _) => {
                let all = f64::from(decision.populated).max(1.0);
                FINE * waste * (all / accessed.max(all / COLDEST))
            }
        })
    }
}
