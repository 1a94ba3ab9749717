//! When a program's use of memory is looked at next, and by which tracker.

use crate::access::{Offer, Tracker};
use crate::reason::SkipReason;
use hugewise_base::units::Ns;
use std::collections::BTreeMap;

/// A tracker that somebody else uses, or that was refused, is tried again after this time ...
const AGAIN: Ns = Ns::s(60);
/// ... and one that is too expensive for a program after this one.
const TOO_EXPENSIVE: Ns = Ns::s(600);

/// CPU time that half a look is expected to take before one was made: a small program's accessed
/// bits, or a request to DAMON (`docs/measurements.md#smaps`).
const COST_PRIOR: Ns = Ns::ms(1);

/// A first look that has not come by then is not waited for: budgets may be spent, or DAMON in use
/// (`docs/measurements.md#defaults-by-choice`).
const PATIENCE: Ns = Ns::s(60);

/// What is remembered of looks at one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looks {
    /// Since when its program is managed.
    since: Ns,
    /// A look that has begun, and when.
    pub(crate) under_way: Option<(Tracker, Ns)>,
    /// The next one begins then.
    pub(crate) next: Ns,
    /// The tracker of the last complete look, and when that ended.
    pub(crate) last: Option<(Tracker, Ns)>,
    /// Trackers that do not work for this program, why, and until when that is believed.
    unfit: BTreeMap<Tracker, (SkipReason, Ns)>,
    /// Regions that were small when a tracker was too expensive for it.
    expensive_at: u64,
    /// CPU time that the last half of a look took.
    cost: Option<Ns>,
}

impl Looks {
    /// No look yet at a program that is managed from `now` on.
    pub fn new(now: Ns) -> Self {
        Self { since: now, ..Self::default() }
    }

    /// Whether its program is so new that what is not known of it may be known soon.
    pub fn is_new(&self, now: Ns) -> bool {
        now.since(self.since) < PATIENCE
    }

    /// Whether the first look is still to come, and worth waiting for.
    pub fn is_first_due(&self, wanted: &[Tracker], offers: &[Offer], now: Ns) -> bool {
        self.last.is_none() && self.is_new(now) && self.choose(wanted, offers, now).is_some()
    }

    /// The first of the wanted trackers that works on this machine and for this program.
    pub fn choose(&self, wanted: &[Tracker], offers: &[Offer], now: Ns) -> Option<Tracker> {
        let works = |tracker: &Tracker| {
            offers.iter().any(|offer| offer.tracker == *tracker && offer.refused.is_none())
                && self.unfit.get(tracker).is_none_or(|(_, until)| now >= *until)
        };
        wanted.iter().copied().find(works)
    }

    /// Why wanted trackers that work on this machine are not used for this program.
    pub fn unfit(&self, now: Ns) -> impl Iterator<Item = (Tracker, SkipReason)> {
        let held = self.unfit.iter().filter(move |(_, (_, until))| now < *until);
        held.map(|(tracker, (reason, _))| (*tracker, *reason))
    }

    /// CPU time that half a look is expected to take: as much as the last one.
    pub fn expected_cost(&self) -> Ns {
        self.cost.unwrap_or(COST_PRIOR)
    }

    /// Half a look took so much CPU time.
    pub(super) fn took(&mut self, cost: Ns) {
        self.cost = Some(cost);
    }

    /// The tracker of the last complete look, and when that ended.
    pub const fn last(&self) -> Option<(Tracker, Ns)> {
        self.last
    }

    /// A look has begun.
    pub(super) fn began(&mut self, by: Tracker, now: Ns) {
        self.under_way = Some((by, now));
    }

    /// A look is over.
    pub(super) fn ended(&mut self, by: Tracker, next: Ns, now: Ns) {
        (self.under_way, self.last, self.next) = (None, Some((by, now)), next);
        self.unfit.remove(&by);
    }

    /// A look came to nothing while so many regions were `small`: another tracker is tried at once.
    pub(super) fn failed(&mut self, by: Tracker, reason: SkipReason, small: u64, now: Ns) {
        let expensive = reason == SkipReason::TrackingTooExpensive;
        let wait = if expensive { TOO_EXPENSIVE } else { AGAIN };
        if expensive {
            self.expensive_at = small;
        }
        self.unfit.insert(by, (reason, now + wait));
        (self.under_way, self.next) = (None, now);
    }

    /// So many regions are small now. A look costs by base pages: what was too expensive is tried
    /// again as soon as half of them are gone.
    pub(super) fn are_small(&mut self, small: u64) {
        if self.expensive_at > 0 && small.saturating_mul(2) <= self.expensive_at {
            self.unfit.retain(|_, (reason, _)| *reason != SkipReason::TrackingTooExpensive);
            self.expensive_at = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_too_expensive_is_tried_again_once_half_is_huge() {
        let works = |tracker| Offer { tracker, refused: None };
        let (by, offers) = (Tracker::Referenced, [works(Tracker::Referenced)]);
        let mut looks = Looks::new(Ns(0));
        looks.failed(by, SkipReason::TrackingTooExpensive, 100, Ns(0));
        looks.are_small(51);
        assert_eq!(looks.choose(&[by], &offers, Ns::s(1)), None);
        looks.are_small(50);
        assert_eq!(looks.choose(&[by], &offers, Ns::s(1)), Some(by));
        looks.failed(by, SkipReason::TrackingTooExpensive, 0, Ns(0));
        looks.are_small(0);
        assert_eq!(looks.choose(&[by], &offers, Ns::s(1)), None, "nothing changed");
        let mut looks = Looks::new(Ns(0));
        looks.failed(by, SkipReason::TrackerBusy, 4, Ns(0));
        looks.are_small(0);
        assert_eq!(looks.choose(&[by], &offers, Ns::s(1)), None, "that is another matter");
    }
}
