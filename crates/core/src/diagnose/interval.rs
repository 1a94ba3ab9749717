//! Stretches of time in which something held.

use std::fmt;

use serde::Serialize;

use crate::recording::{Point, Stamp};

/// From after `from` up to and with `to`. Both `None`: the source gave no times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Interval {
    /// The end of the sample before the first one.
    pub from: Option<Stamp>,
    /// The time of the last sample.
    pub to: Option<Stamp>,
}

impl Interval {
    /// All times, and values without one.
    pub const ALWAYS: Self = Self { from: None, to: None };

    /// Whether a value at this time belongs to it. Values without a time belong to every interval:
    /// nothing says that they do not.
    #[must_use]
    pub fn holds(&self, at: Option<Stamp>) -> bool {
        match (at, self.from, self.to) {
            (Some(at), from, to) => {
                from.is_none_or(|from| at > from) && to.is_none_or(|to| at <= to)
            }
            (None, ..) => true,
        }
    }

    /// Whether both have a time in common; an end without a time is open.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let before = |from: Option<Stamp>, to: Option<Stamp>| {
            from.zip(to).is_none_or(|(from, to)| from < to)
        };
        before(self.from, other.to) && before(other.from, self.to)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.to) {
            (Some(from), Some(to)) if from.day() == to.day() => {
                write!(f, "{from} to {}", to.clock())
            }
            (Some(from), Some(to)) => write!(f, "{from} to {to}"),
            (None, Some(at)) | (Some(at), None) => write!(f, "{at}"),
            (None, None) => f.write_str("the whole recording"),
        }
    }
}

/// A stretch in which a series stood out.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// When.
    pub interval: Interval,
    /// Its highest value.
    pub peak: Point,
    /// Mean of its values.
    pub mean: f64,
    /// Samples in it.
    pub samples: usize,
}

impl Episode {
    /// How long it lasted; `None` where the source has no times.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        let ends = self.interval.from.zip(self.interval.to);
        ends.map(|(from, to)| to.0.saturating_sub(from.0) as f64)
    }
}

/// The usual distance of samples in seconds; `None` for fewer than two with a time.
#[must_use]
pub fn spacing_s(points: &[Point]) -> Option<i64> {
    let stamps: Vec<i64> = points.iter().filter_map(|point| point.at).map(|at| at.0).collect();
    let mut gaps: Vec<i64> =
        stamps.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).filter(|s| *s > 0).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied()
}

/// What sample `index` covers: from the sample before, or as long as samples usually do where
/// that one is missing or far away.
fn covered(points: &[Point], index: usize, spacing_s: Option<i64>) -> Interval {
    let Some(to) = points.get(index).and_then(|point| point.at) else { return Interval::ALWAYS };
    let before = index.checked_sub(1).and_then(|before| points.get(before)?.at);
    // Up to twice the usual distance it is one late sample, not a gap: the recorder itself
    // suffers when the kernel takes the CPU.
    let near = before.filter(|before| {
        let gap = to.0.saturating_sub(before.0);
        gap > 0 && spacing_s.is_none_or(|usual| gap <= usual.saturating_mul(2))
    });
    let from = near.or(spacing_s.map(|usual| Stamp(to.0.saturating_sub(usual))));
    Interval { from, to: Some(to) }
}

/// Stretches in which values reach `enter`, lengthened on both sides by neighbours that reach
/// `keep`: a hysteresis, so that one event is told once.
#[must_use]
pub fn episodes(points: &[Point], enter: f64, keep: f64) -> Vec<Episode> {
    let spacing = spacing_s(points);
    let mut found = Vec::new();
    let mut index = 0;
    while index < points.len() {
        let stretch = points[index..].iter().take_while(|point| point.value >= keep).count();
        let part = &points[index..index + stretch];
        let peak = part.iter().copied().reduce(|a, b| if b.value > a.value { b } else { a });
        if let Some(peak) = peak.filter(|peak| peak.value >= enter) {
            let first = covered(points, index, spacing);
            let to = part.last().and_then(|point| point.at);
            let interval = Interval { from: first.from, to };
            let mean = part.iter().map(|point| point.value).sum::<f64>() / stretch as f64;
            found.push(Episode { interval, peak, mean, samples: stretch });
        }
        index += stretch.max(1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(i64, f64)]) -> Vec<Point> {
        values.iter().map(|(at, value)| Point { at: Some(Stamp(*at)), value: *value }).collect()
    }

    #[test]
    fn one_event_is_one_episode() {
        let all = [(600, 2.0), (1200, 25.0), (1800, 69.0), (2400, 2.0), (3000, 72.0), (3600, 3.0)];
        let found = episodes(&points(&all), 30.0, 10.0);
        let spans: Vec<_> = found
            .iter()
            .map(|e| (e.interval.from.map(|s| s.0), e.interval.to.map(|s| s.0)))
            .collect();
        assert_eq!(spans, [(Some(600), Some(1800)), (Some(2400), Some(3000))]);
        assert_eq!(found[0].samples, 2);
        assert!(episodes(&points(&all), 80.0, 10.0).is_empty());
    }

    #[test]
    fn a_gap_is_not_part_of_an_episode() {
        let all = [(600, 2.0), (1200, 2.0), (1800, 2.0), (9000, 50.0)];
        let found = episodes(&points(&all), 30.0, 10.0);
        assert_eq!(found[0].interval.from, Some(Stamp(8400)));
        let alone = episodes(&[Point { at: None, value: 50.0 }], 30.0, 10.0);
        assert_eq!(alone[0].interval, Interval::ALWAYS);
    }
}
