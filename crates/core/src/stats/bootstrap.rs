//! The bootstrap (Efron 1979): how far would a statistic scatter, were the experiment repeated?

use super::order::{median, quantile_of_sorted, sorted};
use super::{Interval, finite, mean, normal};
use crate::sim::rng::Rng;
use serde::{Deserialize, Serialize};

/// How many resamples are drawn: 2.5 % of 9,999 + 1 is a whole number.
pub const RESAMPLES: usize = 9_999;

/// A statistic with two intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bootstrap {
    /// The statistic of the samples themselves.
    pub estimate: f64,
    /// Between the quantiles of the resamples.
    pub percentile: Interval,
    /// The same, corrected for bias and skewness (BCa, Efron 1987). `None` where the resamples do
    /// not scatter around the estimate, or the jackknife does not scatter.
    pub bca: Option<Interval>,
}

/// The places in each sample that one resample takes its values from.
pub type Places = Vec<Vec<usize>>;

/// Random resamples of samples of these sizes.
pub fn draw(sizes: &[usize], count: usize, seed: u64) -> impl Iterator<Item = Places> {
    let mut rng = Rng::new(seed);
    let sizes = sizes.to_vec();
    (0..count).map(move |_| {
        let sample = |size: &usize| {
            let bound = u64::try_from(*size).unwrap_or(u64::MAX);
            let place = |_| usize::try_from(rng.below(bound)).unwrap_or(0);
            (0..*size).map(place).collect()
        };
        sizes.iter().map(sample).collect()
    })
}

/// The statistic of each resample. `None` when a place is in no sample, or a statistic is no finite
/// number.
pub fn distribution(
    samples: &[&[f64]],
    resamples: impl IntoIterator<Item = Places>,
    statistic: impl Fn(&[Vec<f64>]) -> Option<f64>,
) -> Option<Vec<f64>> {
    let mut resampled: Vec<Vec<f64>> = vec![Vec::new(); samples.len()];
    let one = |places: Places| {
        if places.len() != samples.len() {
            return None;
        }
        for ((values, sample), mut places) in resampled.iter_mut().zip(samples).zip(places) {
            values.clear();
            // The same values in another order must give the same statistic to the last bit: BCa
            // counts how many resamples equal the estimate.
            places.sort_unstable();
            for place in places {
                values.push(*sample.get(place)?);
            }
        }
        statistic(&resampled).filter(|value| value.is_finite())
    };
    resamples.into_iter().map(one).collect()
}

/// Estimate and intervals of level `1 - alpha` over given resamples. `None` unless each sample has
/// at least two values, all finite, there are resamples, and 0 < alpha < 1.
pub fn with_resamples(
    samples: &[&[f64]],
    resamples: impl IntoIterator<Item = Places>,
    statistic: impl Fn(&[Vec<f64>]) -> Option<f64>,
    alpha: f64,
) -> Option<Bootstrap> {
    let usable = samples.iter().all(|sample| finite(sample, 2).is_some());
    if samples.is_empty() || !usable || !(alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let whole: Vec<Vec<f64>> = samples.iter().map(|sample| sample.to_vec()).collect();
    let estimate = statistic(&whole).filter(|value| value.is_finite())?;
    let resampled = sorted(&distribution(samples, resamples, &statistic)?);
    let between = |low, high| {
        Interval::new(quantile_of_sorted(&resampled, low)?, quantile_of_sorted(&resampled, high)?)
    };
    let percentile = between(0.5 * alpha, 1.0 - 0.5 * alpha)?;
    let corrected = bca_levels(&whole, &resampled, estimate, &statistic, alpha);
    let bca = corrected.and_then(|(low, high)| between(low, high));
    Some(Bootstrap { estimate, percentile, bca })
}

/// The quantiles of the resamples between which the BCa interval lies.
fn bca_levels(
    whole: &[Vec<f64>],
    resampled: &[f64],
    estimate: f64,
    statistic: impl Fn(&[Vec<f64>]) -> Option<f64>,
    alpha: f64,
) -> Option<(f64, f64)> {
    let below = resampled.partition_point(|value| *value < estimate);
    let up_to = resampled.partition_point(|value| *value <= estimate);
    let bias = normal::quantile((below + up_to) as f64 / (2 * resampled.len()) as f64)?;
    let skew = acceleration(whole, statistic)?;
    let level = |tail: f64| {
        let z = bias + normal::quantile(tail)?;
        let level = normal::cdf(bias + z / (1.0 - skew * z));
        level.is_finite().then_some(level)
    };
    Some((level(0.5 * alpha)?, level(1.0 - 0.5 * alpha)?))
}

/// The acceleration of BCa by the jackknife, each sample's values left out in turn (Efron and
/// Tibshirani, "An Introduction to the Bootstrap", 1993, 14.15 and 22).
fn acceleration(whole: &[Vec<f64>], statistic: impl Fn(&[Vec<f64>]) -> Option<f64>) -> Option<f64> {
    let (mut cubes, mut squares) = (0.0, 0.0);
    for (index, sample) in whole.iter().enumerate() {
        let mut rest = whole.to_vec();
        let without = |place: usize| {
            rest[index].clone_from(sample);
            rest[index].remove(place);
            statistic(&rest).filter(|value| value.is_finite())
        };
        let without: Vec<f64> = (0..sample.len()).map(without).collect::<Option<_>>()?;
        let (middle, n) = (mean(&without)?, sample.len() as f64);
        let influence = without.iter().map(|value| (n - 1.0) * (middle - value));
        for value in influence {
            cubes += value.powi(3) / n.powi(3);
            squares += value * value / (n * n);
        }
    }
    let skew = cubes / (6.0 * squares.powf(1.5));
    skew.is_finite().then_some(skew)
}

/// Estimate and intervals of level `1 - alpha` of a statistic of one or more samples, over
/// [`RESAMPLES`] random resamples; see [`with_resamples`].
pub fn bootstrap(
    samples: &[&[f64]],
    statistic: impl Fn(&[Vec<f64>]) -> Option<f64>,
    alpha: f64,
    seed: u64,
) -> Option<Bootstrap> {
    let sizes: Vec<usize> = samples.iter().map(|sample| sample.len()).collect();
    // Before anything is drawn: huge samples that are refused anyway cost nothing.
    samples.iter().try_for_each(|sample| finite(sample, 2).map(|_| ()))?;
    with_resamples(samples, draw(&sizes, RESAMPLES, seed), statistic, alpha)
}

/// The median of `other` as a multiple of that of `baseline`. `None` unless all values are above 0.
#[must_use]
pub fn ratio_of_medians(
    baseline: &[f64],
    other: &[f64],
    alpha: f64,
    seed: u64,
) -> Option<Bootstrap> {
    let positive = baseline.iter().chain(other).all(|value| *value > 0.0);
    let ratio = |samples: &[Vec<f64>]| match samples {
        [baseline, other] => Some(median(other)? / median(baseline)?),
        _ => None,
    };
    positive.then(|| bootstrap(&[baseline, other], ratio, alpha, seed)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let (a, b) = ([10.0, 10.4, 9.8, 10.1, 10.9], [20.3, 19.7, 20.8, 20.1, 21.5]);
        let one = ratio_of_medians(&a, &b, 0.05, 7).expect("positive");
        assert_eq!(Some(one), ratio_of_medians(&a, &b, 0.05, 7));
        assert!((one.estimate - 20.3 / 10.1).abs() < 1e-12, "{one:?}");
        assert!(one.percentile.contains(2.0) && one.bca.is_some_and(|bca| bca.contains(2.0)));
        assert_eq!(ratio_of_medians(&a, &[1.0, 0.0], 0.05, 7), None);
    }

    #[test]
    fn what_does_not_scatter_has_no_corrected_interval() {
        let first = |samples: &[Vec<f64>]| median(samples.first()?);
        let equal = bootstrap(&[&[3.0; 4]], first, 0.05, 1).expect("finite");
        assert_eq!((equal.percentile, equal.bca), (Interval { low: 3.0, high: 3.0 }, None));
    }

    #[test]
    fn the_order_within_a_resample_does_not_matter() {
        // 0.1 + 0.2 + 0.3 depends on the order in the last bit.
        let values: &[f64] = &[0.1, 0.2, 0.3];
        let orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0]].map(|places| vec![places.to_vec()]);
        let all = distribution(&[values], orders, |samples| mean(&samples[0]));
        assert_eq!(all, Some(vec![mean(values).expect("values"); 3]));
    }

    #[test]
    fn impossible_places_and_levels_are_unknown() {
        let first = |samples: &[Vec<f64>]| median(samples.first()?);
        let values: &[f64] = &[1.0, 2.0, 3.0];
        let over = |places: Places| with_resamples(&[values], [places], first, 0.05);
        assert!(over(vec![vec![0, 1, 2]]).is_some());
        assert_eq!((over(vec![vec![0, 3]]), over(vec![]), over(vec![vec![]])), (None, None, None));
        assert_eq!(with_resamples(&[values], [], first, 0.05), None);
        for alpha in [0.0, 1.0, f64::NAN] {
            assert_eq!(bootstrap(&[values], first, alpha, 1), None, "{alpha}");
        }
    }
}
