//! The bill against what came.

use super::estimate::Estimate;
use super::facts::Facts;
use super::{Bill, Way};
use serde::Serialize;

/// Memory moves by as much while nothing changes.
const SLACK: f64 = 0.02;
/// From this difference on programs did not do the same, and no bill holds.
const LOAD_FACTOR: f64 = 1.25;
/// CPU below this is idling: a factor says nothing.
const BUSY_LEAST_PERCENT: f64 = 2.0;

/// An estimate, and what came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// What the bill said.
    pub estimated: Estimate,
    /// What came.
    pub came: Estimate,
    /// Whether it is what the error bars allow.
    pub inside: bool,
    /// How far the likely figure was off, percent of what came; below 0: it was too low.
    pub miss_percent: Option<f64>,
}

impl Scored {
    fn of(estimated: Estimate, came: Estimate) -> Self {
        let near = Estimate {
            low: came.low * (1.0 - SLACK),
            likely: came.likely,
            high: came.high * (1.0 + SLACK),
        };
        let off = 100.0 * (estimated.likely - came.likely) / came.likely;
        Self {
            estimated,
            came,
            inside: estimated.low <= near.high && near.low <= estimated.high,
            miss_percent: Some(off).filter(|off| off.is_finite()),
        }
    }
}

/// The bill of one way against a recording that was made under it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The way that was chosen.
    pub way: Way,
    /// Memory; `None` where one of the recordings does not have it.
    pub memory_bytes: Option<Scored>,
    /// Stalls.
    pub stall_ms_per_s: Option<Scored>,
    /// CPU in programs before and after, percent; `None` where it is not known.
    pub busy_percent: Option<(f64, f64)>,
    /// Whether programs did about as much as before.
    pub same_load: Option<bool>,
}

impl Check {
    /// What came in `after`, against the bill. `came` is the bill of `after`.
    pub fn of(bill: &Bill, before: &Facts, after: &Facts, came: &Bill, way: Way) -> Self {
        let score = |of: fn(&super::Row) -> Option<Estimate>| {
            let estimated = bill.row(way).and_then(of);
            let came = came.row(Way::Now).and_then(of);
            estimated.zip(came).map(|(estimated, came)| Scored::of(estimated, came))
        };
        let busy = before.busy_percent.zip(after.busy_percent);
        Self {
            way,
            memory_bytes: score(|row| row.memory_bytes),
            stall_ms_per_s: score(|row| row.stall_ms_per_s),
            busy_percent: busy,
            same_load: busy.map(|(before, after)| {
                let (less, more) = (before.min(after), before.max(after));
                more < BUSY_LEAST_PERCENT || more <= less * LOAD_FACTOR
            }),
        }
    }

    /// Whether something lies outside of its error bars.
    pub fn is_off(&self) -> bool {
        let all = [self.memory_bytes, self.stall_ms_per_s].into_iter().flatten();
        all.into_iter().any(|scored| !scored.inside)
    }
}

/// The way that a recording was made under, where its settings say so.
pub fn way_of(before: &Facts, after: &Facts) -> Option<Way> {
    let grown = before.pools.zip(after.pools).is_some_and(|(before, after)| after > before);
    match after.enabled.as_deref() {
        _ if grown => Some(Way::Hugetlb),
        Some("always") => Some(Way::Always),
        Some("never") => Some(Way::Never),
        _ => None,
    }
}
