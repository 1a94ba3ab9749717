//! How series move: together, or slowly upwards.

use crate::recording::{Point, Stamp};

/// Samples from which on anything is said about two series: with 8 a rank correlation of 0.74 or
/// more comes by chance once in 20 times (table of Spearman's coefficient).
pub(super) const SAMPLES_MIN: usize = 8;

/// Most samples that are compared pairwise; more are thinned out evenly.
const PAIRS_MAX: usize = 300;

/// Pairs of values of the same time, within half the usual distance of samples.
pub(super) fn aligned(a: &[Point], b: &[Point], tolerance_s: i64) -> Vec<(f64, f64)> {
    let mut pairs = Vec::new();
    let mut rest = b.iter().filter_map(|point| Some((point.at?, point.value))).peekable();
    for (at, value) in a.iter().filter_map(|point| Some((point.at?, point.value))) {
        while rest.next_if(|(other, _)| other.0 < at.0.saturating_sub(tolerance_s)).is_some() {}
        if let Some((other, with)) = rest.peek()
            && other.0 <= at.0.saturating_add(tolerance_s)
        {
            pairs.push((value, *with));
        }
    }
    pairs
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same =
            order[start..].iter().take_while(|i| values[**i] == values[order[start]]).count();
        let rank = (start + 1 + start + same) as f64 / 2.0;
        for index in &order[start..start + same] {
            ranks[*index] = rank;
        }
        start += same;
    }
    ranks
}

/// Spearman's rank correlation, -1 to 1: robust against outliers, which is what episodes are.
/// `None` for fewer than [`SAMPLES_MIN`] pairs, or where one side never changes.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < SAMPLES_MIN {
        return None;
    }
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (ranks(&a), ranks(&b));
    let mean = (pairs.len() + 1) as f64 / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    (scale > 0.0).then(|| product(&a, &b) / scale)
}

/// A slow rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Median of the first quarter.
    pub from: f64,
    /// Median of the last quarter.
    pub to: f64,
    /// Kendall's tau against time, 0 to 1: 1 is a rise at every step.
    pub steadiness: f64,
    /// The first and the last time.
    pub between: (Option<Stamp>, Option<Stamp>),
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The rise of a series over its whole length; `None` for fewer than [`SAMPLES_MIN`] samples.
pub fn ramp(points: &[Point]) -> Option<Ramp> {
    if points.len() < SAMPLES_MIN {
        return None;
    }
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let quarter = values.len() / 4;
    let (from, to) = (median(&values[..quarter])?, median(&values[values.len() - quarter..])?);
    let step = values.len().div_ceil(PAIRS_MAX);
    let thin: Vec<f64> = values.iter().copied().step_by(step).collect();
    let (mut up, mut all) = (0_i64, 0_i64);
    for (index, early) in thin.iter().enumerate() {
        for late in &thin[index + 1..] {
            all += 1;
            up += i64::from(late > early) - i64::from(late < early);
        }
    }
    let steadiness = up as f64 / all.max(1) as f64;
    let between = (points.first()?.at, points.last()?.at);
    Some(Ramp { from, to, steadiness, between })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        let timed = values.into_iter().zip(0..);
        timed.map(|(value, at)| Point { at: Some(Stamp(at * 60)), value }).collect()
    }

    #[test]
    fn ranks_correlate_as_in_the_textbook() {
        // 1 - 6 * sum of squared rank differences / (n * (n^2 - 1)) = 1 - 6 * 24 / 504.
        let pairs = [(1.0, 2.0), (2.0, 1.0), (3.0, 5.0), (4.0, 3.0), (5.0, 8.0), (6.0, 4.0)];
        let mut pairs = pairs.to_vec();
        pairs.extend([(7.0, 7.0), (8.0, 6.0)]);
        let rho = rank_correlation(&pairs).expect("enough pairs");
        assert!((rho - 0.714_285_714_285_714_3).abs() < 1e-12, "{rho}");
        assert_eq!(rank_correlation(&[(1.0, 1.0); 20]), None);
        assert_eq!(rank_correlation(&pairs[..5]), None);
    }

    #[test]
    fn a_slow_rise_is_seen_and_noise_is_not() {
        let rise = ramp(&points((0..120).map(|i| 10.0 + f64::from(i) * 0.2 + f64::from(i % 3))));
        let rise = rise.expect("enough samples");
        assert!(rise.steadiness > 0.8 && rise.to - rise.from > 15.0, "{rise:?}");
        let noise = ramp(&points((0..120).map(|i| f64::from(i * 7919 % 13)))).expect("samples");
        assert!(noise.steadiness.abs() < 0.2, "{noise:?}");
    }

    #[test]
    fn only_equal_times_are_compared() {
        let a = points([1.0, 2.0, 3.0]);
        let b: Vec<Point> = a[1..].to_vec();
        assert_eq!(aligned(&a, &b, 10), [(2.0, 2.0), (3.0, 3.0)]);
    }
}
