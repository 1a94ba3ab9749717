//! A histogram of times with a constant relative error, small enough to have thousands.
//!
//! [`hugewise_base::stats::Histogram`] is more exact and takes 8 KiB for each power of two; of this
//! one there is one for each second of a log.

/// Buckets for each power of two, as a number of bits.
const BITS: u32 = 6;

/// The largest relative error of a quantile: a bucket is at most 1/64 of its lowest value wide and
/// is reported by its middle. Values below 128 have a bucket each and no error.
pub const RELATIVE_ERROR: f64 = 1.0 / 128.0;

/// Values below this have a bucket of their own.
const EXACT: u64 = 2 << BITS;

/// Counts of values in buckets; can be merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sketch {
    /// The bucket of `counts[0]`.
    first: usize,
    counts: Vec<u32>,
    count: u64,
    sum: u64,
    range: Option<(u64, u64)>,
}

/// The bucket of a value: below [`EXACT`] the value, above by its highest seven bits.
fn bucket(value: u64) -> usize {
    let small = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    if value < EXACT {
        return small(value);
    }
    let power = value.ilog2();
    let within = (value >> (power - BITS)) & ((1 << BITS) - 1);
    small(EXACT + (u64::from(power - BITS - 1) << BITS) + within)
}

/// The lowest value of a bucket, and the first one behind it.
fn range(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    let Some(above) = bucket.checked_sub(EXACT) else { return (bucket, bucket + 1) };
    let shift = (above >> BITS) + 1;
    let low = ((1 << BITS) + (above & ((1 << BITS) - 1))) << shift;
    (low, low.saturating_add(1 << shift))
}

impl Sketch {
    /// Counts one value.
    pub(super) fn record(&mut self, value: u64) {
        self.add(bucket(value), 1);
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
    }

    fn add(&mut self, bucket: usize, count: u32) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if let Some(missing) = self.first.checked_sub(bucket).filter(|missing| *missing > 0) {
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let at = bucket - self.first;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        if let Some(own) = self.counts.get_mut(at) {
            *own = own.saturating_add(count);
        }
    }

    /// Adds everything that `other` counted.
    pub(super) fn merge(&mut self, other: &Self) {
        for (at, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(other.first + at, *count);
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, two) => one.or(two),
        };
    }

    /// How many values were counted.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub(super) const fn sum(&self) -> u64 {
        self.sum
    }

    /// The arithmetic mean, exact; `None` when empty.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The largest value, exact; `None` when empty.
    pub(super) fn max(&self) -> Option<u64> {
        self.range.map(|(_, high)| high)
    }

    /// The smallest value at or below which a share `q` (0 to 1) of all values lie, off by no more
    /// than [`RELATIVE_ERROR`]; `None` when empty.
    pub(super) fn quantile(&self, q: f64) -> Option<u64> {
        let (low, high) = self.range?;
        let wanted = (self.count as f64 * q.clamp(0.0, 1.0)).ceil().max(1.0);
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if *count > 0 && seen as f64 >= wanted {
                let (from, to) = range(self.first + at);
                return Some((from + (to - 1 - from) / 2).clamp(low, high));
            }
        }
        Some(high)
    }

    /// How many values lie above one: exact but for those of its bucket, which count as not above.
    pub(super) fn above(&self, value: u64) -> u64 {
        let behind = (bucket(value) + 1).saturating_sub(self.first);
        self.counts.iter().skip(behind).map(|count| u64::from(*count)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_each_other() {
        let mut next = 0;
        for at in 0..3000 {
            let (from, to) = range(at);
            assert_eq!((from, bucket(from), bucket(to - 1)), (next, at, at));
            next = to;
        }
        assert!(bucket(u64::MAX) < 5000);
        let (low, high) = range(bucket(u64::MAX));
        assert!(low < high);
    }

    #[test]
    fn nothing_is_unknown() {
        let empty = Sketch::default();
        assert_eq!((empty.quantile(0.5), empty.mean(), empty.max()), (None, None, None));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_the_stated_error(
            values in prop::collection::vec(0_u64..10_000_000_000, 1..300), q in 0.0_f64..=1.0,
        ) {
            let mut all = Sketch::default();
            values.iter().for_each(|value| all.record(*value));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            // The first place at or before which a share of all lies.
            let share = |rank: &usize| *rank as f64 >= values.len() as f64 * q;
            let rank = (1..=values.len()).find(share).unwrap_or(values.len());
            let truth = sorted[rank - 1] as f64;
            let found = all.quantile(q).expect("values") as f64;
            prop_assert!((found - truth).abs() <= truth * RELATIVE_ERROR, "{found} for {truth}");
            prop_assert_eq!(all.sum(), values.iter().sum::<u64>());
        }

        #[test]
        fn merging_is_counting_all(
            one in prop::collection::vec(any::<u32>(), 0..60),
            two in prop::collection::vec(any::<u32>(), 0..60),
        ) {
            let of = |values: &[u32]| {
                let mut all = Sketch::default();
                values.iter().for_each(|value| all.record(u64::from(*value)));
                all
            };
            let mut merged = of(&one);
            merged.merge(&of(&two));
            let both = of(&[one, two].concat());
            prop_assert_eq!((merged.count(), merged.sum(), merged.max()),
                (both.count(), both.sum(), both.max()));
            for q in [0.0, 0.1, 0.5, 0.99, 1.0] {
                prop_assert_eq!(merged.quantile(q), both.quantile(q));
            }
            prop_assert_eq!(merged.above(1 << 20), both.above(1 << 20));
        }
    }
}
