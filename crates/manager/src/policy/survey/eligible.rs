//! What one region is to the policy.

use crate::limits::thresholds::Thresholds;
use crate::reason::SkipReason;
use crate::state::Region;
use hugewise_base::units::Ns;

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

/// Classes one region at `now`.
#[must_use]
pub fn classify(region: &Region, thresholds: Thresholds, frames_hidden: bool, now: Ns) -> Class {
    if region.huge {
        return Class::Huge;
    }
    if region.populated == 0 {
        return Class::Skip(SkipReason::Empty);
    }
    if region.populated < thresholds.budget {
        return Class::Skip(SkipReason::BelowThreshold);
    }
    if let Some(reason) = region.waits.against_promotion(now) {
        return Class::Skip(reason);
    }
    if region.swapped > 0 {
        return Class::Skip(SkipReason::Swapped);
    }
    // Where no page is missing no block can be held.
    let missing = region.populated + region.zero_page < thresholds.whole;
    let unseen = missing && region.inspected.is_none();
    match region.populated >= thresholds.always {
        true => Class::Always,
        // Once its waste was taken back, it is not wasted again.
        false if region.waits.given_back > 0 => Class::Skip(SkipReason::GivenBack),
        // What might be given back is no place to spend the bloat budget on.
        false if unseen && !frames_hidden => Class::Skip(SkipReason::NotInspected),
        false if region.partially_mapped_since.is_some() => {
            Class::Skip(SkipReason::PartiallyMapped)
        }
        false => Class::Budget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Promote;
    use crate::limits::waits::{Wait, Waits};
    use crate::state::Inspected;
    use hugewise_base::units::Geometry;

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
    fn a_wait_ends() {
        let thresholds = Thresholds::new(&Promote::default(), Geometry::X86_64);
        let wait = Wait { until: Ns::s(5), reason: SkipReason::RetryLater };
        let waits = Waits { no_promote_until: Some(wait), ..Waits::default() };
        let region = Region { waits, ..region(512) };
        let class = |at| classify(&region, thresholds, true, Ns::s(at));
        assert_eq!(class(4), Class::Skip(SkipReason::RetryLater));
        assert_eq!(class(5), Class::Always);
    }

    #[test]
    fn the_bloat_budget_is_spent_on_nothing_that_might_be_given_back() {
        let thresholds = Thresholds::new(&Promote::default(), Geometry::X86_64);
        let class = |region: &Region, hidden| classify(region, thresholds, hidden, Ns::s(9));
        let mut half = region(300);
        assert_eq!(class(&half, false), Class::Skip(SkipReason::NotInspected));
        assert_eq!(class(&half, true), Class::Budget);
        half.inspected = Some(Inspected { at: Ns(1), populated: 300 });
        assert_eq!(class(&half, false), Class::Budget);
        half.partially_mapped_since = Some(Ns(1));
        assert_eq!(class(&half, false), Class::Skip(SkipReason::PartiallyMapped));
        let waits = Waits { given_back: 1, ..Waits::default() };
        let given_back = Region { waits, partially_mapped_since: None, ..half.clone() };
        assert_eq!(class(&given_back, false), Class::Skip(SkipReason::GivenBack));
        half.populated = 512;
        assert_eq!(class(&half, false), Class::Always);
    }
}
