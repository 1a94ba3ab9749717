//! How far values scatter.

use super::order::{median, quantile_of_sorted, sorted};
use super::{finite, mean};
use serde::{Deserialize, Serialize};

/// Measures of spread of two values or more, in the values' unit where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The interquartile range: half of all values lie within it.
    pub iqr: f64,
    /// The median absolute deviation from the median, not scaled.
    pub mad: f64,
    /// The sample standard deviation (divided by n - 1).
    pub deviation: f64,
    /// The standard deviation as a share of the mean's size; `None` for a mean of 0.
    pub coefficient_of_variation: Option<f64>,
}

impl Spread {
    /// Of at least two finite values; `None` otherwise, or when a measure exceeds what an `f64`
    /// holds.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(finite(values, 2)?);
        let iqr = quantile_of_sorted(&sorted, 0.75)? - quantile_of_sorted(&sorted, 0.25)?;
        let (mad, deviation) = (mad(values)?, deviation(values)?);
        let share = deviation / mean(values)?.abs();
        let coefficient_of_variation = share.is_finite().then_some(share);
        iqr.is_finite().then_some(Self { iqr, mad, deviation, coefficient_of_variation })
    }
}

/// The median absolute deviation from the median, not scaled; `None` unless there are at least two
/// values, all finite.
#[must_use]
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(finite(values, 2)?)?;
    let off: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&off).filter(|mad| mad.is_finite())
}

/// The sample standard deviation (divided by n - 1); `None` unless there are at least two values,
/// all finite.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(finite(values, 2)?)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = (squares / (values.len() - 1) as f64).sqrt();
    deviation.is_finite().then_some(deviation)
}

/// The standard deviation that two samples share, each around its own mean; `None` where one of
/// them has no deviation.
#[must_use]
pub fn pooled_deviation(one: &[f64], two: &[f64]) -> Option<f64> {
    let (a, b) = (deviation(one)?, deviation(two)?);
    let (n, m) = ((one.len() - 1) as f64, (two.len() - 1) as f64);
    let pooled = ((n * a * a + m * b * b) / (n + m)).sqrt();
    pooled.is_finite().then_some(pooled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_values_do_not_scatter() {
        let none = Spread::of(&[4.0; 5]).expect("five values");
        assert_eq!((none.iqr, none.mad, none.coefficient_of_variation), (0.0, 0.0, Some(0.0)));
        let zeros = Spread::of(&[0.0; 2]).expect("two values");
        assert_eq!(zeros.coefficient_of_variation, None);
    }

    #[test]
    fn unknown_without_two_finite_values() {
        for values in [&[][..], &[1.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY], &[1e308, -1e308]] {
            assert_eq!(Spread::of(values), None, "{values:?}");
        }
    }
}
