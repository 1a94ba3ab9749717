//! Order statistics of a few values.

use serde::{Deserialize, Serialize};

/// Order statistics of a few values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// A quarter lies below.
    pub lower_quartile: f64,
    /// Half lies below.
    pub median: f64,
    /// A quarter lies above.
    pub upper_quartile: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Of all values that are numbers; `None` when there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        Some(Self {
            count: sorted.len(),
            min: *sorted.first()?,
            lower_quartile: quantile_of_sorted(&sorted, 0.25)?,
            median: quantile_of_sorted(&sorted, 0.5)?,
            upper_quartile: quantile_of_sorted(&sorted, 0.75)?,
            max: *sorted.last()?,
        })
    }

    /// The interquartile range: half of all values lie within it.
    pub fn spread(&self) -> f64 {
        self.upper_quartile - self.lower_quartile
    }
}

/// The median; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile `q` (0 to 1), interpolated between neighbours; `None` without values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), q)
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<_> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

pub(crate) fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let index = usize::try_from(crate::units::saturating_u64(place)).ok()?;
    let (low, high) = (*sorted.get(index)?, *sorted.get((index + 1).min(last))?);
    // Equal neighbours may both be infinite, whose difference is no number.
    let step = if low == high { 0.0 } else { (high - low) * place.fract() };
    Some(low + step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_statistics() {
        let summary = Summary::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).expect("five values");
        assert_eq!((summary.min, summary.median, summary.max), (1.0, 3.0, 5.0));
        assert_eq!((summary.lower_quartile, summary.spread()), (2.0, 2.0));
        assert_eq!((median(&[]), Summary::of(&[f64::NAN])), (None, None));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(quantile(&[f64::INFINITY, f64::INFINITY], 0.3), Some(f64::INFINITY));
    }
}
