//! Utilization thresholds, in base pages.

use crate::config::Promote;
use hugewise_base::units::{Geometry, saturating_u64};

/// Promotion thresholds in base pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// A region with so many populated pages is promoted whatever the bloat budget.
    pub always: u16,
    /// ... with so many if the bloat budget allows.
    pub budget: u16,
    /// All pages of a region.
    pub whole: u16,
}

impl Thresholds {
    /// From percentages; a region at exactly the percentage is in.
    pub fn new(promote: &Promote, geometry: Geometry) -> Self {
        let always = Self::pages(promote.utilization_percent, geometry);
        let budget = Self::pages(promote.min_utilization_percent, geometry);
        Self { always, budget: budget.min(always), whole: Self::pages(100.0, geometry) }
    }

    /// Base pages of a region that are `percent` of it, rounded up, at least one.
    pub fn pages(percent: f64, geometry: Geometry) -> u16 {
        let pages = f64::from(geometry.pages_per_huge());
        let ceiling = (pages * percent / 100.0).ceil().min(pages).max(1.0);
        u16::try_from(saturating_u64(ceiling)).unwrap_or(u16::MAX)
    }
}
