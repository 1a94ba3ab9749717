//! What a manager and a plan of pools would do, as far as the bill needs it.

use hugewise_base::units::Bytes;

/// What the manager may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// Bloat that it may add, percent of memory.
    pub bloat_budget_percent: f64,
    /// Of a region that it promotes so much is in use, at least.
    pub min_utilization_percent: f64,
    /// Regions that it promotes in a second, at most.
    pub promotions_per_s: f64,
}

/// What a plan of pools says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// As planned.
    pub planned: Bytes,
    /// As they are.
    pub now: Bytes,
    /// What would move there, at most.
    pub moved: Bytes,
    /// Page tables that this saves, at most.
    pub tables_saved: Bytes,
}
