//! How far values scatter.

use super::order::median;
use super::{finite, mean};

/// The median absolute deviation from the median, not scaled; `None` unless there are at least two
/// values, all finite.
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(finite(values, 2)?)?;
    let off: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    median(&off).filter(|mad| mad.is_finite())
}

/// The sample standard deviation (divided by n - 1); `None` unless there are at least two values,
/// all finite.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(finite(values, 2)?)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = (squares / (values.len() - 1) as f64).sqrt();
    deviation.is_finite().then_some(deviation)
}

/// The standard deviation that two samples share, each around its own mean; `None` where one of
/// them has no deviation.
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
        assert_eq!((mad(&[4.0; 5]), deviation(&[4.0; 5])), (Some(0.0), Some(0.0)));
        assert_eq!(pooled_deviation(&[4.0; 2], &[9.0; 3]), Some(0.0));
    }

    #[test]
    fn unknown_without_two_finite_values() {
        for values in [&[][..], &[1.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!((mad(values), deviation(values)), (None, None), "{values:?}");
        }
    }
}
