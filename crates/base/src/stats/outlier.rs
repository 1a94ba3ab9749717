//! Values that lie far from the others.

use super::finite;
use super::order::median;
use super::spread::mad;
use serde::{Deserialize, Serialize};

/// A value whose modified z-score is larger is called an outlier: the threshold of Iglewicz and
/// Hoaglin, "How to Detect and Handle Outliers" (1993).
pub const THRESHOLD: f64 = 3.5;

/// The 75 % quantile of the standard normal distribution: with it the score of normal values is
/// like a z-score (the same source).
const NORMAL_MAD: f64 = 0.6745;

/// What can be said of values that lie far out. Indices are places in the sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outliers {
    /// These values have a modified z-score above [`THRESHOLD`]; often none.
    Found(Vec<usize>),
    /// At least half of all values are equal, so the score's divisor is 0 and every other value
    /// would be infinitely far out: these are the ones that differ, called neither good nor bad.
    NoScale(Vec<usize>),
}

impl Outliers {
    /// Of at least two finite values; `None` otherwise.
    pub fn of(values: &[f64]) -> Option<Self> {
        let (middle, mad) = (median(finite(values, 2)?)?, mad(values)?);
        let far = |off: f64| if mad > 0.0 { NORMAL_MAD * off / mad > THRESHOLD } else { off > 0.0 };
        let found = values.iter().enumerate().filter(|(_, value)| far((**value - middle).abs()));
        let found = found.map(|(index, _)| index).collect();
        Some(if mad > 0.0 { Self::Found(found) } else { Self::NoScale(found) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stalled_run_is_found() {
        let runs = [10.1, 10.3, 9.9, 10.0, 31.0, 10.2];
        assert_eq!(Outliers::of(&runs), Some(Outliers::Found(vec![4])));
        assert_eq!(Outliers::of(&runs[..4]), Some(Outliers::Found(vec![])));
    }

    #[test]
    fn mostly_equal_values_give_no_scale() {
        let runs = [7.0, 7.0, 7.0, 8.0];
        assert_eq!(Outliers::of(&runs), Some(Outliers::NoScale(vec![3])));
        assert_eq!(Outliers::of(&[7.0; 3]), Some(Outliers::NoScale(vec![])));
    }

    #[test]
    fn unknown_without_two_finite_values() {
        for values in [&[][..], &[1.0], &[1.0, f64::NAN, 2.0], &[f64::INFINITY; 3]] {
            assert_eq!(Outliers::of(values), None, "{values:?}");
        }
    }
}
