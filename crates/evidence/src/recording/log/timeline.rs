//! How many lines there are at a time, in a few buckets that widen as the log grows.

use crate::recording::Stamp;

/// Most buckets that are counted in: more than a half of them are within the span.
const BUCKETS: i64 = 64;

/// Equal parts of a log's span: each has two buckets or more.
pub(super) const PARTS: usize = 16;
/// As many, as a factor of seconds.
const PARTS_OF_SPAN: i64 = 16;

/// The first and the last second of a part of a span.
pub(super) fn bounds((first, last): (Stamp, Stamp), part: i64) -> (Stamp, Stamp) {
    let span = last.0.saturating_sub(first.0).max(1);
    let at = |part: i64| first.0.saturating_add(span.saturating_mul(part) / PARTS_OF_SPAN);
    (Stamp(at(part)), Stamp(at(part + 1)))
}

/// Counts by time, from the first time that was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    from: Option<Stamp>,
    /// Seconds of a bucket, as a power of two.
    width_log2: u32,
    counts: Vec<u32>,
}

impl Timeline {
    /// Counts a line. One before the first counts as that.
    pub(super) fn count(&mut self, at: Stamp) {
        let from = *self.from.get_or_insert(at);
        let seconds = at.0.saturating_sub(from.0).max(0);
        while seconds >> self.width_log2 >= BUCKETS {
            self.widen();
        }
        let bucket = usize::try_from(seconds >> self.width_log2).unwrap_or(0);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
    }

    fn widen(&mut self) {
        self.width_log2 += 1;
        let pairs = self.counts.chunks(2);
        self.counts = pairs.map(|pair| pair.iter().copied().fold(0, u32::saturating_add)).collect();
    }

    /// The lines within each of the equal parts of a span.
    pub(super) fn within(&self, (first, last): (Stamp, Stamp)) -> [u64; PARTS] {
        let mut parts = [0; PARTS];
        let span = last.0.saturating_sub(first.0).max(1);
        for (bucket, count) in (0_i64..).zip(&self.counts) {
            let from = self.from.map_or(0, |from| from.0);
            let middle = ((2 * bucket + 1) << self.width_log2) / 2;
            let behind = from.saturating_add(middle).saturating_sub(first.0).clamp(0, span);
            let part = usize::try_from(behind.saturating_mul(PARTS_OF_SPAN) / span).unwrap_or(0);
            parts[part.min(PARTS - 1)] += u64::from(*count);
        }
        parts
    }

    /// Adds what another one counted.
    pub(super) fn add(&mut self, other: &Self) {
        let Some(from) = other.from else { return };
        for (bucket, count) in (0_i64..).zip(&other.counts).filter(|(_, count)| **count > 0) {
            let at = from.0.saturating_add(bucket << other.width_log2);
            self.count(Stamp(at));
            // The line that was just counted is one of them.
            self.more(Stamp(at), count - 1);
        }
    }

    fn more(&mut self, at: Stamp, lines: u32) {
        let from = self.from.map_or(at.0, |from| from.0);
        let seconds = at.0.saturating_sub(from).max(0);
        let bucket = usize::try_from(seconds >> self.width_log2).unwrap_or(0);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_widen_and_lose_no_line() {
        let mut timeline = Timeline::default();
        for second in 0..5_000 {
            timeline.count(Stamp(second * 3));
        }
        let span = (Stamp(0), Stamp(15_000));
        assert_eq!(timeline.within(span).iter().sum::<u64>(), 5_000);
        assert!(timeline.within(span).iter().all(|count| (150..600).contains(count)));
        let mut both = Timeline::default();
        both.count(Stamp(90));
        both.add(&timeline);
        assert_eq!(both.within(span).iter().sum::<u64>(), 5_001);
        // However far away.
        both.count(Stamp(i64::MAX));
        both.count(Stamp(i64::MIN));
        assert_eq!(both.within(span).iter().sum::<u64>(), 5_003);
    }
}
