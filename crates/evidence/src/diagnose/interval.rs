//! Stretches of time in which something was the case.

use std::fmt;

use serde::Serialize;

use super::extreme::most;
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
    pub fn holds(&self, at: Option<Stamp>) -> bool {
        match (at, self.from, self.to) {
            (Some(at), from, to) => {
                from.is_none_or(|from| at > from) && to.is_none_or(|to| at <= to)
            }
            (None, ..) => true,
        }
    }

    /// Whether both have a time in common; an end without a time is open.
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

/// Most stretches of time that one answer names: a day at one minute has 1,440 samples. Of more,
/// those with the shortest time between them become one.
pub const INTERVALS_MAX: usize = 1000;

/// Intervals in order of time and apart from each other, as every [`Answer`](super::Answer) and
/// [`Context`](super::Context) has them: a search in them takes no longer than it must, whatever
/// the recording. Those that overlap become one; those that only touch do not, unless there are
/// more than [`INTERVALS_MAX`].
pub fn apart(all: Vec<Interval>) -> Vec<Interval> {
    fewer(disjoint(all))
}

/// The same, however many there are.
pub(super) fn disjoint(mut all: Vec<Interval>) -> Vec<Interval> {
    if all.contains(&Interval::ALWAYS) {
        return vec![Interval::ALWAYS];
    }
    // Where times go backwards, one may end before it begins: it holds nothing.
    all.retain(|interval| !matches!((interval.from, interval.to), (Some(a), Some(b)) if a > b));
    all.sort_by_key(|interval| (interval.from, interval.to.is_none(), interval.to));
    let mut apart: Vec<Interval> = Vec::with_capacity(all.len().min(INTERVALS_MAX));
    for next in all {
        match apart.last_mut() {
            Some(last) if *last == next => {}
            Some(last) if last.to.is_none() || next.from.is_none() || next.from < last.to => {
                last.to = last.to.zip(next.to).map(|(one, other)| one.max(other));
            }
            _ => apart.push(next),
        }
    }
    apart
}

/// At most [`INTERVALS_MAX`] of them: the shortest gaps are closed.
pub(super) fn fewer(all: Vec<Interval>) -> Vec<Interval> {
    let Some(excess) = all.len().checked_sub(INTERVALS_MAX).filter(|excess| *excess > 0) else {
        return all;
    };
    let gap = |pair: &[Interval]| {
        let ends = pair.first().and_then(|a| a.to).zip(pair.get(1).and_then(|b| b.from));
        ends.map_or(0, |(end, start)| start.0.saturating_sub(end.0))
    };
    let mut gaps: Vec<(i64, usize)> = all.windows(2).map(gap).zip(1..).collect();
    gaps.select_nth_unstable(excess - 1);
    gaps.truncate(excess);
    let mut closed: Vec<usize> = gaps.into_iter().map(|(_, index)| index).collect();
    closed.sort_unstable();
    let mut closed = closed.into_iter().peekable();
    let mut fewer: Vec<Interval> = Vec::with_capacity(INTERVALS_MAX);
    for (index, next) in all.into_iter().enumerate() {
        match fewer.last_mut() {
            Some(last) if closed.next_if_eq(&index).is_some() => last.to = next.to,
            _ => fewer.push(next),
        }
    }
    fewer
}

/// Whether a value of this time belongs to one of the intervals, which are [`apart`].
pub(super) fn one_holds(times: &[Interval], at: Option<Stamp>) -> bool {
    let Some(at) = at else { return !times.is_empty() };
    let after = times.partition_point(|interval| interval.from.is_none_or(|from| from < at));
    let last = after.checked_sub(1).and_then(|last| times.get(last));
    last.is_some_and(|interval| interval.holds(Some(at)))
}

/// Whether one of the intervals, which are [`apart`], has a time in common with another.
pub(super) fn one_meets(times: &[Interval], other: &Interval) -> bool {
    // The first that ends after the other begins; those behind it begin later still.
    let ends_before =
        |interval: &Interval| interval.to.zip(other.from).is_some_and(|(to, from)| to <= from);
    let first = times.partition_point(ends_before);
    times.get(first).is_some_and(|interval| interval.meets(other))
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
    pub fn seconds(&self) -> Option<f64> {
        let ends = self.interval.from.zip(self.interval.to);
        ends.map(|(from, to)| to.0.saturating_sub(from.0) as f64)
    }
}

/// The usual distance of samples in seconds; `None` for fewer than two with a time.
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

/// A sample that came after its time, while those around it kept theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// When it was to come.
    pub(super) due: Stamp,
    /// When it came.
    pub(super) came: Stamp,
}

/// How far a recorder is from its times on any machine: a second for rounding, one for its start.
const PUNCTUAL_S: i64 = 2;

/// The sample in one of the intervals that is latest by at least `least_s`. A recorder that is
/// started at fixed times shows by the next sample, which is in time again, that its clock did not
/// stop.
pub(super) fn latest_late<'i>(
    points: &[Point],
    intervals: impl Iterator<Item = &'i Interval>,
    least_s: f64,
) -> Option<Late> {
    let usual = spacing_s(points)?;
    let late = |three: &[Point]| {
        let [before, came, after] = three else { return None };
        let (before, came, after) = (before.at?, came.at?, after.at?);
        let both = after.0.saturating_sub(before.0).saturating_sub(usual.saturating_mul(2));
        let due = Stamp(before.0.saturating_add(usual));
        let by = came.0.saturating_sub(due.0);
        let counts = both.abs() <= PUNCTUAL_S && by as f64 >= least_s;
        counts.then_some(Late { due, came })
    };
    let late: Vec<Late> = points.windows(3).filter_map(late).collect();
    let inside = |interval: &'i Interval| {
        late.iter().copied().filter(|late| interval.holds(Some(late.came)))
    };
    intervals.flat_map(inside).max_by_key(|late| late.came.0.saturating_sub(late.due.0))
}

/// Stretches in which values reach `enter`, lengthened on both sides by neighbours that reach
/// `keep`: a hysteresis, so that one event is reported once.
pub fn episodes(points: &[Point], enter: f64, keep: f64) -> Vec<Episode> {
    let spacing = spacing_s(points);
    let mut found = Vec::new();
    let mut index = 0;
    while index < points.len() {
        let stretch = points[index..].iter().take_while(|point| point.value >= keep).count();
        let part = &points[index..index + stretch];
        let peak = most(part.iter().copied());
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

    fn spans(all: &[(i64, i64)]) -> Vec<Interval> {
        let stamped =
            |(from, to): &(i64, i64)| Interval { from: Some(Stamp(*from)), to: Some(Stamp(*to)) };
        all.iter().map(stamped).collect()
    }

    #[test]
    fn overlapping_intervals_become_one_and_touching_ones_do_not() {
        let mixed = spans(&[(30, 40), (0, 10), (35, 50), (10, 20), (90, 80), (30, 40)]);
        assert_eq!(apart(mixed), spans(&[(0, 10), (10, 20), (30, 50)]));
        let open = Interval { from: Some(Stamp(30)), to: None };
        let mixed = [spans(&[(0, 10), (40, 50)]), vec![open]].concat();
        assert_eq!(apart(mixed), [spans(&[(0, 10)]), vec![open]].concat());
        assert_eq!(apart(vec![open, Interval::ALWAYS]), [Interval::ALWAYS]);
    }

    #[test]
    fn of_too_many_intervals_near_ones_are_joined_and_none_is_lost() {
        // Every tenth gap is long.
        let at = |index: i64| index * 10 + index / 10 * 1000;
        let many: Vec<(i64, i64)> = (0..5000).map(|i| (at(i), at(i) + 5)).collect();
        let few = apart(spans(&many));
        assert_eq!(few.len(), INTERVALS_MAX);
        for (from, to) in many {
            assert!(one_holds(&few, Some(Stamp(from + 1))) && one_holds(&few, Some(Stamp(to))));
        }
        let longest = few.iter().map(|i| i.to.expect("an end").0 - i.from.expect("a start").0);
        assert!(longest.max() < Some(200));
    }

    #[test]
    fn searches_find_what_a_walk_finds() {
        let open_start = Interval { from: None, to: Some(Stamp(4)) };
        let open_end = Interval { from: Some(Stamp(60)), to: None };
        let times = [vec![open_start], spans(&[(5, 9), (9, 12), (20, 30)]), vec![open_end]];
        let times = apart(times.concat());
        for at in -5..80 {
            let stamp = Some(Stamp(at));
            let walked = times.iter().any(|interval| interval.holds(stamp));
            assert_eq!(one_holds(&times, stamp), walked, "{at}");
            for length in [1, 3, 15] {
                let other = &spans(&[(at, at + length)])[0];
                let walked = times.iter().any(|interval| interval.meets(other));
                assert_eq!(one_meets(&times, other), walked, "{other}");
            }
        }
        assert!(one_holds(&times, None) && !one_holds(&[], None));
    }

    #[test]
    fn a_late_sample_is_known_by_the_next_that_is_in_time() {
        let at = |all: &[i64]| points(&all.iter().map(|at| (*at, 1.0)).collect::<Vec<_>>());
        let late = |all: &[i64]| {
            let found = latest_late(&at(all), [Interval::ALWAYS].iter(), 3.0);
            found.map(|late| (late.due.0, late.came.0))
        };
        assert_eq!(late(&[0, 600, 1320, 1800, 2400]), Some((1200, 1320)));
        assert_eq!(late(&[0, 600, 1201, 1805, 2400, 3000, 3620, 4201]), Some((3600, 3620)));
        // Rounded, a missing one, a recorder that was started again, one that is late for good.
        let punctual: [&[i64]; 4] = [
            &[0, 600, 1202, 1800, 2401],
            &[0, 600, 1800, 2400, 3000],
            &[0, 600, 700, 1300, 1900, 2500],
            &[0, 10, 20, 35, 45, 55, 65],
        ];
        for all in punctual {
            assert_eq!(late(all), None, "{all:?}");
        }
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
