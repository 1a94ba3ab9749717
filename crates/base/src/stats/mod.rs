//! Statistics of measurements: a histogram of durations, and what a few repeated runs say.
//!
//! What cannot be computed (no values, one value where two are needed, a value that is no finite
//! number) is `None`. Which of these decide: `docs/adr/0012`.
//!
//! [`histogram`] and [`order`] describe; [`spread`] and [`outlier`] say how far values scatter;
//! [`shift`] and [`mann_whitney`] compare two samples; [`reach`] and [`together`] read values over
//! time; [`binomial`] counts events; [`adjust`] corrects for many comparisons; [`visible`] says
//! what could have been seen.

pub mod adjust;
pub mod binomial;
pub mod histogram;
pub mod mann_whitney;
pub mod normal;
pub mod order;
pub mod outlier;
pub mod reach;
pub mod shift;
pub mod spread;
pub mod together;
pub mod visible;

pub use histogram::Histogram;
pub use order::{Summary, median, quantile};

use serde::{Deserialize, Serialize};

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// From two ends in either order; `None` unless both are finite.
    pub fn new(one: f64, two: f64) -> Option<Self> {
        let finite = one.is_finite() && two.is_finite();
        finite.then(|| Self { low: one.min(two), high: one.max(two) })
    }

    /// Whether a value lies in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The values, if there are at least so many and all are finite.
pub(crate) fn finite(values: &[f64], at_least: usize) -> Option<&[f64]> {
    (values.len() >= at_least && values.iter().all(|value| value.is_finite())).then_some(values)
}

/// The arithmetic mean; `None` without values or when it is no finite number.
pub fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}
