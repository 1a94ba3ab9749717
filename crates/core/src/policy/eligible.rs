//! What one region is to the policy.

use crate::config::Promote;
use crate::reason::SkipReason;
use crate::state::Region;
use crate::units::{Geometry, Ns};

/// Thresholds in base pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// From here on always.
    pub always: u16,
    /// From here on if the bloat budget allows.
    pub budget: u16,
    /// All of a region.
    pub whole: u16,
}

impl Thresholds {
    /// From percentages; a region at exactly the percentage is in.
    #[must_use]
    pub fn new(promote: &Promote, geometry: Geometry) -> Self {
        let always = Self::pages(promote.utilization_percent, geometry);
        let budget = Self::pages(promote.min_utilization_percent, geometry);
        Self { always, budget: budget.min(always), whole: Self::pages(100.0, geometry) }
    }

    /// Base pages of a region that are `percent` of it, rounded up, at least one.
    #[must_use]
    pub fn pages(percent: f64, geometry: Geometry) -> u16 {
        let pages = f64::from(geometry.pages_per_huge());
        let ceiling = (pages * percent / 100.0).ceil().min(pages).max(1.0);
        u16::try_from(crate::units::saturating_u64(ceiling)).unwrap_or(u16::MAX)
    }
}

/// What a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Huge already.
    Huge,
    /// Wanted whatever the budget.
    Always,
    /// Wanted if the bloat budget allows.
    Budget,
    /// Left alone.
    Skip(SkipReason),
}

/// Classes one region at `now`. `blind`: page frames are hidden, so looks tell nothing.
#[must_use]
pub fn classify(region: &Region, thresholds: Thresholds, blind: bool, now: Ns) -> Class {
    if region.huge {
        return Class::Huge;
    }
    if region.populated == 0 {
        return Class::Skip(SkipReason::Empty);
    }
    if region.populated < thresholds.budget {
        return Class::Skip(SkipReason::BelowThreshold);
    }
    if let Some(hold) = region.hold.filter(|hold| hold.until > now) {
        return Class::Skip(hold.reason);
    }
    if region.swapped > 0 {
        return Class::Skip(SkipReason::Swapped);
    }
    // Where no page is missing no block can be held.
    let missing = region.populated + region.zero_page < thresholds.whole;
    let unseen = missing && region.looked.is_none();
    match region.populated >= thresholds.always {
        true => Class::Always,
        // Once its waste was taken back, it is not wasted again.
        false if region.demoted > 0 => Class::Skip(SkipReason::GivenBack),
        // What might be given back is no place to spend the bloat budget on.
        false if unseen && !blind => Class::Skip(SkipReason::NotLookedAt),
        false if region.broken.is_some() => Class::Skip(SkipReason::PartiallyMapped),
        false => Class::Budget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Hold, Looked};
    use crate::units::Ns;

    fn region(populated: u16) -> Region {
        Region { populated, ..Region::default() }
    }

    #[test]
    fn ninety_percent_of_512_is_461_pages() {
        let thresholds = Thresholds::new(&Promote::default(), Geometry::X86_64);
        assert_eq!(thresholds, Thresholds { always: 461, budget: 256, whole: 512 });
        let class = |populated| classify(&region(populated), thresholds, true, Ns(0));
        assert_eq!(class(512), Class::Always);
        assert_eq!(class(461), Class::Always);
        assert_eq!(class(460), Class::Budget);
        assert_eq!(class(255), Class::Skip(SkipReason::BelowThreshold));
        assert_eq!(class(0), Class::Skip(SkipReason::Empty));
    }

    #[test]
    fn a_hold_ends() {
        let thresholds = Thresholds::new(&Promote::default(), Geometry::X86_64);
        let hold = Hold { until: Ns::s(5), reason: SkipReason::RetryLater };
        let held = Region { hold: Some(hold), ..region(512) };
        let class = |at| classify(&held, thresholds, true, Ns::s(at));
        assert_eq!(class(4), Class::Skip(SkipReason::RetryLater));
        assert_eq!(class(5), Class::Always);
    }

    #[test]
    fn the_bloat_budget_is_spent_on_nothing_that_might_be_given_back() {
        let thresholds = Thresholds::new(&Promote::default(), Geometry::X86_64);
        let class = |region: &Region, blind| classify(region, thresholds, blind, Ns::s(9));
        let mut half = region(300);
        assert_eq!(class(&half, false), Class::Skip(SkipReason::NotLookedAt));
        assert_eq!(class(&half, true), Class::Budget);
        half.looked = Some(Looked { at: Ns(1), populated: 300 });
        assert_eq!(class(&half, false), Class::Budget);
        half.broken = Some(Ns(1));
        assert_eq!(class(&half, false), Class::Skip(SkipReason::PartiallyMapped));
        let given_back = Region { demoted: 1, broken: None, ..half.clone() };
        assert_eq!(class(&given_back, false), Class::Skip(SkipReason::GivenBack));
        half.populated = 512;
        assert_eq!(class(&half, false), Class::Always);
    }
}
