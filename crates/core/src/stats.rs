//! Small statistics: a log-bucketed histogram of durations, and order statistics of a few runs.

use serde::{Deserialize, Serialize};

/// Buckets per power of two. A bucket is at most 1/64 of its values wide and is reported by its
/// middle, so a quantile is off by less than 0.8 %.
const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;

/// Counts of values (nanoseconds, say) in buckets of constant relative width; can be merged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u64,
    range: Option<(u64, u64)>,
}

/// What a histogram is written as: its non-empty buckets only.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Sparse {
    buckets: Vec<(usize, u64)>,
    sum: u64,
    range: Option<(u64, u64)>,
}

/// The bucket of a value. Values below 128 have a bucket each.
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BITS + 1);
    let index = u64::from(shift) * SUB + (value >> shift);
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The largest index that [`bucket`] gives, plus one.
const BUCKETS: usize = 59 * 64;

/// The middle of a bucket.
fn middle(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / SUB).saturating_sub(1);
    let low = (index - shift * SUB) << shift;
    low + ((1 << shift) >> 1)
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.add(bucket(value), 1);
        self.sum = self.sum.saturating_add(value);
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
    }

    fn add(&mut self, index: usize, count: u64) {
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].saturating_add(count);
        self.count = self.count.saturating_add(count);
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (index, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(index, *count);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, two) => one.or(two),
        };
    }

    /// How many values were counted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The value below or at which a share `q` (0 to 1) of all values lie; `None` when empty.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let (low, high) = self.range?;
        if q >= 1.0 {
            return Some(high);
        }
        let rank = (q.max(0.0) * self.count as f64).ceil().max(1.0);
        let mut seen = 0u64;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen as f64 >= rank {
                return Some(middle(index).clamp(low, high));
            }
        }
        Some(high)
    }

    /// The smallest value, exact.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.range.map(|(low, _)| low)
    }

    /// The largest value, exact.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.range.map(|(_, high)| high)
    }

    /// The arithmetic mean, exact; `None` when empty.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Self {
        let mut all = Self { sum: sparse.sum, range: sparse.range, ..Self::default() };
        // A bucket that no value has would only claim memory: it comes from a broken file.
        for (index, count) in sparse.buckets.into_iter().filter(|(index, _)| *index < BUCKETS) {
            all.add(index, count);
        }
        all
    }
}

impl From<Histogram> for Sparse {
    fn from(all: Histogram) -> Self {
        let buckets = all.counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        Self { buckets: buckets.collect(), sum: all.sum, range: all.range }
    }
}

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
    #[must_use]
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
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.upper_quartile - self.lower_quartile
    }
}

/// The median; `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The quantile `q` (0 to 1), interpolated between neighbours; `None` without values.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), q)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<_> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
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
    fn buckets_are_ordered_and_within_one_percent() {
        let mut last = 0;
        let values = (0..64).flat_map(|bit| {
            let power = 1u64 << bit;
            [power, power + power / 3, power + power / 2, power + (power - 1)]
        });
        let mut values: Vec<u64> = values.chain([0, 1, 127, 128, 129, u64::MAX]).collect();
        values.sort_unstable();
        for value in values {
            let index = bucket(value);
            assert!(index < BUCKETS, "{value}");
            let off = middle(index).abs_diff(value) as f64;
            assert!(off <= value as f64 * 0.01, "{value} is reported as {}", middle(index));
            assert!(index >= last, "{value}");
            last = index;
        }
        for index in 1..BUCKETS {
            assert!(middle(index) > middle(index - 1), "bucket {index}");
            assert_eq!(bucket(middle(index)), index);
        }
    }

    #[test]
    fn quantiles_of_a_known_distribution() {
        let mut all = Histogram::default();
        (1..=100_000).for_each(|value| all.record(value));
        for (q, want) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.999, 99_900.0)] {
            let got = all.quantile(q).expect("values were recorded") as f64;
            assert!((got - want).abs() <= want * 0.01, "{q}: {got}");
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
        assert_eq!((median(&[]), Summary::of(&[f64::NAN])), (None, None));
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
        let broken = r#"{"buckets":[[900000000000,1]],"sum":0,"range":null}"#;
        let read: Histogram = serde_json::from_str(broken).expect("well-formed");
        assert_eq!(read.count(), 0);
    }

    #[test]
    fn order_statistics() {
        let summary = Summary::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).expect("five values");
        assert_eq!((summary.min, summary.median, summary.max), (1.0, 3.0, 5.0));
        assert_eq!((summary.lower_quartile, summary.spread()), (2.0, 2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(quantile(&[f64::INFINITY, f64::INFINITY], 0.3), Some(f64::INFINITY));
    }
}
