//! Which huge pages are split so that their waste comes back, and why the others are not.
//!
//! * A **partially mapped** block serves nobody: its dropped pages are held, and the rest is not
//!   mapped huge any more. It is always split, after a moment of quiet, unless it is so full that
//!   promotion will replace it.
//! * A **huge** region that is badly used is split when the waste in such regions is above the
//!   budget: the emptiest first, until it is down to half of that. Under pressure on the machine or
//!   on its cgroup every one goes, also those that only just miss the promotion threshold; and of
//!   those that nobody accesses every one that wastes anything worth a split.
//!
//! * A region that is **not huge**, in which larger folios hold pages that nobody wrote: these are
//!   split like badly used huge ones; nothing is lost by it but the folio.
//!
//! What was split for its waste stays small for a while, longer each time
//! (`SkipReason::GivenBack`), and nothing that was split becomes huge out of the bloat budget again
//! before it was well used: nothing flaps.

use super::candidate::Candidate;
use crate::config::Config;
use crate::decision::{Decision, Motive};
use crate::limits::thresholds::Thresholds;
use crate::policy::{AllReasons, View};
use crate::reason::SkipReason;
use crate::state::Region;
use crate::state::bloat::{Waste, WasteSource};
use hugewise_base::units::{Bytes, Ns};
use std::cmp::Reverse;
use std::sync::Arc;

/// Least pages of a held block that are worth a split: 64 KiB for about 0.4 ms.
pub const MIN_HELD: u16 = 16;
/// Least pages that nobody wrote, in a region that is not huge, that are worth the calls: more than
/// half of one folio of the size that faults hand out at most.
pub const MIN_UNWRITTEN: u16 = 9;
/// One that is full enough for a new huge page is left to promotion for so long: its cooldown, and
/// as much again for its turn to come.
pub const PROMOTED_BY: Ns = Ns::s(60);
/// Once taking back has started, it goes on until this share of the bound is left.
const STOP: f64 = 0.5;

/// Of the splits that nothing speaks against those that are wanted now, the worst waste for the
/// least loss first, and whether waste is being taken back. Every candidate is counted in
/// `reasons`.
pub(super) fn choose(
    mut candidates: Vec<Candidate>,
    bound: Bytes,
    view: &View<'_>,
    reasons: &mut AllReasons,
) -> (Vec<Candidate>, bool) {
    candidates.sort_by_key(|c| (Reverse(c.rank), c.decision.target, c.decision.region));
    // Only what can be split now counts: for the rest nobody else should have to pay.
    let waste = |decision: &Decision| view.geometry.bytes(decision.waste.into());
    let decisions = candidates.iter().map(|candidate| &candidate.decision);
    let huge = decisions.filter(|decision| decision.motive != Motive::PartiallyMapped);
    let total: Bytes = huge.map(waste).sum();
    let rest = bound.percent(100.0 * STOP);
    let giving_back = total > if view.giving_back { rest } else { bound };
    let mut excess = total.saturating_sub(rest);
    candidates.retain(|Candidate { decision, urgent, .. }| {
        let wanted = *urgent
            || decision.motive == Motive::PartiallyMapped
            || (giving_back && excess > Bytes(0));
        if decision.motive != Motive::PartiallyMapped && wanted {
            excess = excess.saturating_sub(waste(decision));
        }
        let reason = if wanted { SkipReason::Scheduled } else { SkipReason::WithinBloatBudget };
        Arc::make_mut(reasons.entry(decision.target).or_default()).not_split(reason);
        wanted
    });
    (candidates, giving_back)
}

/// How much a region's memory is needed elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// There is enough.
    None,
    /// Memory is short.
    ByAll,
    /// Memory is short, and the region is known to be hardly accessed: nothing is lost.
    ByAllAndCold,
}

/// Whether one region should be split: what that needs to know besides the region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitRule {
    off: Option<SkipReason>,
    /// Least waste of a huge region that is worth losing it ...
    unused: u16,
    /// ... and under pressure.
    pressed: u16,
    /// Populated pages from which on promotion will replace a partially mapped block.
    always: u16,
    keeps_zeros: bool,
    samples: bool,
    /// Memory is short for everybody.
    short: bool,
    /// A region must have been seen partially mapped for so long.
    pub(super) settle: Ns,
    now: Ns,
}

impl SplitRule {
    /// The rule at `now`.
    pub fn new(config: &Config, view: &View<'_>, now: Ns) -> Self {
        let geometry = view.geometry;
        let whole = u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX);
        let thresholds = view.thresholds;
        let used = Thresholds::pages(config.demote.utilization_percent, geometry);
        let off = match (config.demote.enabled, view.paused) {
            (false, _) => Some(SkipReason::DemotionOff),
            (true, true) => Some(SkipReason::Paused),
            (true, false) => None,
        };
        Self {
            off,
            unused: whole - used.min(thresholds.always),
            pressed: whole - thresholds.always,
            always: thresholds.always,
            keeps_zeros: view.machine.and_then(|m| m.frees_zeros) != Some(true),
            samples: config.demote.sample,
            short: view.pressure.on_machine().is_some(),
            settle: Ns::ms(config.demote.settle_ms),
            now,
        }
    }

    /// The same rule at another time.
    pub const fn at(self, now: Ns) -> Self {
        Self { now, ..self }
    }

    /// `None`: nothing is wasted in it. Else the motive and waste of a wanted split, or the reason
    /// against it.
    pub fn judge(
        &self,
        region: &Region,
        waste: Waste,
        need: Need,
    ) -> Option<Result<(Motive, u16), SkipReason>> {
        let (waste, source) = match waste {
            Waste::Impossible | Waste::Known(0, _) => return None,
            Waste::Unknown if self.samples && region.inspected.is_none() => {
                return Some(Err(SkipReason::NotInspected));
            }
            Waste::Unknown => return Some(Err(SkipReason::UnknownUse)),
            Waste::Known(waste, source) => (waste, source),
        };
        let (motive, least) = match (source, need) {
            (WasteSource::PartiallyMapped, _) => (Motive::PartiallyMapped, MIN_HELD - 1),
            _ if !region.huge => (Motive::Unwritten, MIN_UNWRITTEN - 1),
            (_, Need::ByAllAndCold) => (Motive::Pressure, self.pressed.min(MIN_HELD - 1)),
            (_, Need::ByAll) => (Motive::Pressure, self.pressed),
            (_, Need::None) => (Motive::OverBloatBudget, self.unused),
        };
        Some(match self.objection(region, motive) {
            _ if waste <= least => Err(SkipReason::WithinBloatBudget),
            // One sample of 32 pages errs by up to 45 of 512: the mean of two decides.
            None if source == WasteSource::Dropped && region.steady == 0 => {
                Err(SkipReason::Settling)
            }
            None if source == WasteSource::Sampled && region.samples < 2 => {
                Err(SkipReason::NotInspected)
            }
            Some(reason) => Err(reason),
            None => Ok((motive, waste)),
        })
    }

    fn objection(&self, region: &Region, motive: Motive) -> Option<SkipReason> {
        if let Some(reason) = region.waits.against_split(self.now, self.short).or(self.off) {
            return Some(reason);
        }
        if motive != Motive::PartiallyMapped {
            return self.keeps_zeros.then_some(SkipReason::KeepsZeroPages);
        }
        let promotable = region.populated >= self.always
            && region.waits.no_promote_until.is_none_or(|wait| wait.reason == SkipReason::Cooldown);
        let wait = if promotable { PROMOTED_BY } else { self.settle };
        let settling = self.now.since(region.partially_mapped_since.unwrap_or(self.now)) < wait;
        settling.then_some(SkipReason::Settling)
    }
}
