//! A histogram of durations or sizes with a constant relative error.

use serde::{Deserialize, Serialize};

/// Significant decimal digits that are kept. Three tell 1.000 ms from 1.001 ms and cost 8 KiB for
/// each power of two above 2,048.
const DIGITS: u8 = 3;

/// The largest relative error of a quantile: a bucket is at most 1/1,024 of its values wide and is
/// reported by its middle. Values below 2,048 have a bucket each and no error.
pub const RELATIVE_ERROR: f64 = 1.0 / 2048.0;

/// Counts of values (nanoseconds, say) in buckets of constant relative width; can be merged.
///
/// The buckets are those of `HdrHistogram`. Its minimum, maximum and mean are rounded to buckets;
/// those of this one are exact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    /// `None` is empty: most histograms of a trial never get a value and shall cost nothing.
    counts: Option<hdrhistogram::Histogram<u64>>,
    sum: u64,
    range: Option<(u64, u64)>,
}

// Only integers are compared.
impl Eq for Histogram {}

/// What a histogram is written as: the lowest value and the count of its non-empty buckets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Sparse {
    buckets: Vec<(u64, u64)>,
    sum: u64,
    range: Option<(u64, u64)>,
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        if self.add(value, 1) > 0 {
            self.sum = self.sum.saturating_add(value);
            let (low, high) = self.range.unwrap_or((value, value));
            self.range = Some((low.min(value), high.max(value)));
        }
    }

    /// Counts a bucket, but never more than `u64::MAX` values in all: the crate adds up counts
    /// without a check when it looks for a quantile. Returns how many were counted.
    fn add(&mut self, value: u64, count: u64) -> u64 {
        let count = count.min(u64::MAX - self.count());
        if count == 0 {
            return 0;
        }
        if self.counts.is_none() {
            self.counts = hdrhistogram::Histogram::new(DIGITS).ok();
        }
        // An auto-resizing histogram takes every u64, so nothing is refused on 64-bit machines.
        let recorded = self.counts.as_mut().is_some_and(|all| all.record_n(value, count).is_ok());
        if recorded { count } else { 0 }
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (value, count) in other.lows() {
            self.add(value, count);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, two) => one.or(two),
        };
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.as_ref().map_or(0, hdrhistogram::Histogram::len)
    }

    /// The value below or at which a share `q` (0 to 1) of all values lie, off by no more than
    /// [`RELATIVE_ERROR`]; `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let ((low, high), counts) = (self.range?, self.counts.as_ref()?);
        if q >= 1.0 {
            return Some(high);
        }
        let value = counts.value_at_quantile(q.max(0.0));
        Some(counts.median_equivalent(value).clamp(low, high))
    }

    /// The non-empty buckets in order: the lowest value that each holds, and its count.
    fn lows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let counts = self.counts.as_ref().into_iter();
        counts.flat_map(|all| {
            let filled = all.iter_recorded();
            filled.map(|at| (all.lowest_equivalent(at.value_iterated_to()), at.count_at_value()))
        })
    }

    /// The non-empty buckets in order: the value that each is reported as, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (low, high) = self.range.unwrap_or((0, u64::MAX));
        let counts = self.counts.as_ref().into_iter();
        counts.flat_map(move |all| {
            let middle = move |value| all.median_equivalent(value).clamp(low, high);
            all.iter_recorded().map(move |at| (middle(at.value_iterated_to()), at.count_at_value()))
        })
    }

    /// The empirical distribution, a point a bucket: a value, and the share (0 to 1) of all values
    /// at or below it. Both grow; the last point is the largest value and 1. Exact at these points.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let (all, high) = (self.count() as f64, self.max().unwrap_or(u64::MAX));
        let counts = self.counts.as_ref().into_iter();
        let filled = counts.flat_map(hdrhistogram::Histogram::iter_recorded);
        filled.scan(0u64, move |seen, at| {
            *seen = seen.saturating_add(at.count_at_value());
            Some((at.value_iterated_to().min(high), *seen as f64 / all))
        })
    }

    /// The smallest value, exact.
    pub fn min(&self) -> Option<u64> {
        self.range.map(|(low, _)| low)
    }

    /// The largest value, exact.
    pub fn max(&self) -> Option<u64> {
        self.range.map(|(_, high)| high)
    }

    /// The arithmetic mean, exact while the sum of all values fits into 64 bits; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }
}

impl From<Sparse> for Histogram {
    /// The file may be broken: range and sum are pulled to what the buckets allow, so that no
    /// later sum or clamp meets an impossible one.
    fn from(sparse: Sparse) -> Self {
        let mut all = Self::default();
        for (value, count) in sparse.buckets {
            all.add(value, count);
        }
        let Some(counts) = all.counts.as_ref() else { return all };
        let (first, last) = (counts.min(), counts.max());
        let (low, high) = sparse.range.unwrap_or((first, last));
        let low = low.clamp(first, counts.highest_equivalent(first));
        let high = high.clamp(counts.lowest_equivalent(last), last).max(low);
        let bounds = (all.count().saturating_mul(low), all.count().saturating_mul(high));
        all.sum = sparse.sum.clamp(bounds.0, bounds.1);
        all.range = Some((low, high));
        all
    }
}

impl From<Histogram> for Sparse {
    fn from(all: Histogram) -> Self {
        Self { buckets: all.lows().collect(), sum: all.sum, range: all.range }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_known_distribution() {
        let mut all = Histogram::default();
        (1..=100_000).for_each(|value| all.record(value));
        for (q, want) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.999, 99_900.0)] {
            let got = all.quantile(q).expect("values were recorded") as f64;
            assert!((got - want).abs() <= want * RELATIVE_ERROR, "{q}: {got}");
        }
        assert_eq!((all.min(), all.max(), all.count()), (Some(1), Some(100_000), 100_000));
        assert_eq!(all.mean(), Some(50_000.5));
        assert_eq!(all.quantile(1.0), Some(100_000));
        assert_eq!(all.quantile(0.0), Some(1));
    }

    #[test]
    fn nothing_recorded_is_unknown() {
        let empty = Histogram::default();
        assert_eq!((empty.quantile(0.5), empty.min(), empty.mean()), (None, None, None));
    }

    #[test]
    fn merging_counts_everything() {
        let (mut one, mut two, mut both) = Default::default();
        for value in 0..5000u64 {
            let part: &mut Histogram = if value % 3 == 0 { &mut one } else { &mut two };
            part.record(value * value);
            Histogram::record(&mut both, value * value);
        }
        one.merge(&two);
        assert_eq!(one, both);
        let mut empty = Histogram::default();
        empty.merge(&both);
        assert_eq!(empty, both);
    }

    #[test]
    fn survives_json_and_ignores_impossible_buckets() {
        let mut all = Histogram::default();
        [3, 300, 300, 3_000_000].into_iter().for_each(|value| all.record(value));
        let text = serde_json::to_string(&all).expect("a histogram is plain data");
        assert_eq!(serde_json::from_str::<Histogram>(&text).expect("own output"), all);
        let text = serde_json::to_string(&Histogram::default()).expect("plain data");
        assert_eq!(serde_json::from_str::<Histogram>(&text).expect("own output").count(), 0);
    }

    #[test]
    fn a_broken_file_gives_no_panic_and_no_nonsense() {
        let read = |text: &str| serde_json::from_str::<Histogram>(text).expect("well-formed");
        let most =
            format!(r#"{{"buckets":[[{0},{0}],[0,{0}],[5,3]],"sum":{0},"range":[9,2]}}"#, u64::MAX);
        let all = read(&most);
        assert_eq!((all.count(), all.quantile(0.5)), (u64::MAX, all.max()));
        assert!(all.min() <= all.max(), "{all:?}");
        let mut sum = all.clone();
        sum.merge(&all);
        sum.record(7);
        assert_eq!(sum.count(), u64::MAX);
        let all = read(r#"{"buckets":[[3,0],[100,2]],"sum":900000,"range":null}"#);
        assert_eq!(
            (all.count(), all.min(), all.max(), all.mean()),
            (2, Some(100), Some(100), Some(100.0))
        );
        assert_eq!(read(r#"{"buckets":[],"sum":9,"range":[1,2]}"#), Histogram::default());
    }

    #[test]
    fn every_value_is_kept_within_the_stated_error() {
        let values = (0..64).flat_map(|bit| {
            let power = 1u64 << bit;
            [power, power + power / 3, power + power / 2, power + (power - 1)]
        });
        let values: Vec<u64> = values.chain([0, 2047, 2048, 2049, u64::MAX]).collect();
        for value in &values {
            let mut one = Histogram::default();
            // Neighbours keep the exact range from hiding the error.
            [value / 2, *value, value.saturating_mul(3)].into_iter().for_each(|v| one.record(v));
            let middle = one.quantile(0.5).expect("three values");
            let off = middle.abs_diff(*value) as f64;
            assert!(off <= *value as f64 * RELATIVE_ERROR, "{value} is reported as {middle}");
        }
        let mut all = Histogram::default();
        values.iter().for_each(|value| all.record(*value));
        assert_eq!((all.max(), all.quantile(1.0)), (Some(u64::MAX), Some(u64::MAX)));
    }

    #[test]
    fn the_distribution_grows_to_one() {
        let mut all = Histogram::default();
        (0..3000u64).for_each(|value| all.record(value * value));
        let points: Vec<_> = all.cumulative().collect();
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{points:?}");
        assert_eq!(points.last(), Some(&(2999 * 2999, 1.0)));
        assert_eq!(all.buckets().map(|(_, count)| count).sum::<u64>(), 3000);
        assert_eq!(Histogram::default().cumulative().count(), 0);
    }
}
