//! Which huge pages are split so that their waste comes back, and why the others are not.
//!
//! * A **partially mapped** block serves nobody: its dropped pages are held, and the rest is not
//!   mapped huge any more. It is always split, after a moment of quiet, unless it is so full that
//!   promotion will replace it.
//! * A **huge** region that is badly used is split when the waste in such regions is above the
//!   budget: the emptiest first, until it is down to half of that. Under pressure on the machine or
//!   on its cgroup every one goes, also those that only just miss the promotion threshold.
//!
//! What was split for its waste stays small for a while, longer each time
//! (`SkipReason::GivenBack`), and nothing that was split becomes huge out of the bloat budget again
//! before it was well used: nothing flaps.

use crate::config::Config;
use crate::policy::bloat::{self, Source, Waste};
use crate::policy::eligible::Thresholds;
use crate::policy::{Action, Decision, Motive};
use crate::reason::SkipReason;
use crate::state::{Region, State, Target};
use crate::units::{Bytes, Ns};
use std::cmp::Reverse;

/// Least pages of a held block that are worth a split: 64 KiB for about 0.4 ms.
pub const MIN_HELD: u16 = 16;
/// A region must have been seen partially mapped for so long: allocators drop pages in bursts.
pub const SETTLE: Ns = Ns::s(2);
/// One that is full enough for a new huge page is left to promotion for so long: its cooldown, and
/// as much again for its turn to come.
pub const PROMOTED_BY: Ns = Ns::s(60);
/// Once taking back has started, it goes on until this share of the bound is left.
const STOP: f64 = 0.5;

/// Splits that are wanted now, the worst waste first. Fills every target's `kept`.
#[must_use]
pub fn candidates(config: &Config, state: &mut State, footprint: Bytes, now: Ns) -> Vec<Decision> {
    let mut all = Vec::new();
    let rule = Rule::new(config, state, now);
    for (id, target) in &mut state.targets {
        target.kept.clear();
        if target.refused.is_some() {
            continue;
        }
        let pressed = state.pressure.on(&target.sample.cgroup_key()).is_some();
        for (at, region) in &target.regions {
            match rule.judge(region, pressed) {
                None => {}
                Some(Err(reason)) => *target.kept.entry(reason).or_default() += 1,
                Some(Ok((motive, waste))) => all.push(Decision {
                    target: *id,
                    region: *at,
                    mapping: region.mapping,
                    action: Action::Demote,
                    motive,
                    populated: region.populated,
                    waste,
                    min_populated: 0,
                    warm: false,
                }),
            }
        }
    }
    all.sort_by_key(|d| (Reverse(d.waste), d.target, d.region));
    // Only what can be split now counts: for the rest nobody else should have to pay.
    let geometry = state.geometry;
    let waste = |decision: &Decision| geometry.bytes(decision.waste.into());
    let huge = all.iter().filter(|decision| decision.motive != Motive::PartiallyMapped);
    let total: Bytes = huge.map(waste).sum();
    let bound = bloat::bound(config, footprint);
    let rest = bound.percent(100.0 * STOP);
    state.giving_back = total > if state.giving_back { rest } else { bound };
    let mut excess = total.saturating_sub(rest);
    let giving_back = state.giving_back;
    all.retain(|decision| {
        let Some(target) = state.targets.get_mut(&decision.target) else { return false };
        let wanted =
            decision.motive != Motive::OverBloatBudget || (giving_back && excess > Bytes(0));
        if decision.motive != Motive::PartiallyMapped && wanted {
            excess = excess.saturating_sub(waste(decision));
        }
        let reason = if wanted { SkipReason::Scheduled } else { SkipReason::WithinBloatBudget };
        *target.kept.entry(reason).or_default() += 1;
        wanted
    });
    all
}

/// What the judgement of one region needs to know besides the region.
struct Rule {
    off: Option<SkipReason>,
    /// Least waste of a huge region that is worth losing it ...
    unused: u16,
    /// ... and under pressure.
    pressed: u16,
    /// Populated pages from which on promotion will take care of a broken block.
    always: u16,
    keeps_zeros: bool,
    samples: bool,
    geometry: crate::units::Geometry,
    now: Ns,
}

impl Rule {
    fn new(config: &Config, state: &State, now: Ns) -> Self {
        let geometry = state.geometry;
        let whole = u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX);
        let thresholds = state.thresholds;
        let used = Thresholds::pages(config.demote.utilization_percent, geometry);
        let off = match (config.demote.enabled, state.paused) {
            (false, _) => Some(SkipReason::DemotionOff),
            (true, true) => Some(SkipReason::Paused),
            (true, false) => None,
        };
        Self {
            off,
            unused: whole - used.min(thresholds.always),
            pressed: whole - thresholds.always,
            always: thresholds.always,
            keeps_zeros: state.machine.as_ref().and_then(|m| m.frees_zeros) != Some(true),
            samples: config.demote.sample,
            geometry,
            now,
        }
    }

    /// `None`: nothing is wasted in it. Else the motive and waste of a wanted split, or the reason
    /// against it.
    fn judge(&self, region: &Region, pressed: bool) -> Option<Result<(Motive, u16), SkipReason>> {
        let (waste, source) = match bloat::of(region, self.geometry) {
            Waste::Impossible | Waste::Known(0, _) => return None,
            Waste::Unknown if self.samples && region.looked.is_none() => {
                return Some(Err(SkipReason::NotLookedAt));
            }
            Waste::Unknown => return Some(Err(SkipReason::UnknownUse)),
            Waste::Known(waste, source) => (waste, source),
        };
        let (motive, least) = match (source, pressed) {
            (Source::PartiallyMapped, _) => (Motive::PartiallyMapped, MIN_HELD - 1),
            (_, true) => (Motive::Pressure, self.pressed),
            (_, false) => (Motive::OverBloatBudget, self.unused),
        };
        Some(match self.objection(region, motive) {
            _ if waste <= least => Err(SkipReason::WithinBloatBudget),
            // One sample of 32 pages errs by up to 45 of 512: the mean of two decides.
            None if source == Source::Sampled && region.samples < 2 => Err(SkipReason::NotLookedAt),
            Some(reason) => Err(reason),
            None => Ok((motive, waste)),
        })
    }

    fn objection(&self, region: &Region, motive: Motive) -> Option<SkipReason> {
        if let Some(keep) = region.keep.filter(|keep| keep.until > self.now) {
            return Some(keep.reason);
        }
        if self.off.is_some() {
            return self.off;
        }
        if motive != Motive::PartiallyMapped {
            return self.keeps_zeros.then_some(SkipReason::KeepsZeroPages);
        }
        let promotable = region.populated >= self.always
            && region.hold.is_none_or(|hold| hold.reason == SkipReason::Cooldown);
        let wait = if promotable { PROMOTED_BY } else { SETTLE };
        let settling = self.now.since(region.broken.unwrap_or(self.now)) < wait;
        settling.then_some(SkipReason::Settling)
    }
}

/// Whether a target has splits waiting for their turn, or will soon.
#[must_use]
pub fn busy(target: &Target) -> bool {
    let soon = [SkipReason::Scheduled, SkipReason::Settling, SkipReason::NotLookedAt];
    soon.iter().any(|reason| target.kept.contains_key(reason))
}
