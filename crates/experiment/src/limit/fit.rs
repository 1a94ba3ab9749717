//! At which rate a resource is full, from how its use grows: the utilization law (P. Denning,
//! J. Buzen, The Operational Analysis of Queueing Network Models, 1978), with what others use as
//! the intercept.

use hugewise_base::stats::Interval;
use serde::{Deserialize, Serialize};

/// Use that grows by less than this over all rates is noise, as a share. A judgement.
const GROWTH_MIN: f64 = 0.03;
/// A line needs so many rates.
const POINTS_MIN: usize = 3;
/// What the load fills follows the rate: a line explains at least half of its variance. A
/// judgement.
const EXPLAINED_MIN: f64 = 0.5;
/// Over all rates it grows by at least so much of its mean: rates differ by some times, and what
/// others do drifts by less. A judgement.
const FOLLOWS_MIN: f64 = 0.25;

/// Where a resource is full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Requests in a second.
    pub per_s: f64,
    /// Between the lowest and the highest value when one of the rates is left out, and with the
    /// least and the most that others left free.
    pub interval: Interval,
}

/// From pairs of a rate and the share in use. `free` is what there is to fill: what is expected,
/// the least and the most. `None` where the use does not grow, or is known of too few rates.
pub(super) fn capacity(points: &[(f64, f64)], free: [f64; 3]) -> Option<Capacity> {
    if points.len() < POINTS_MIN {
        return None;
    }
    let [expected, least, most] = free;
    let per_s = full_at(points, expected)?;
    let without = |index: usize| {
        let rest = points.iter().enumerate().filter(|(at, _)| *at != index);
        full_at(&rest.map(|(_, point)| *point).collect::<Vec<_>>(), expected)
    };
    let ends = (0..points.len()).filter_map(without);
    let (low, high) = ends
        .chain([least, most].into_iter().filter_map(|free| full_at(points, free)))
        .fold((per_s, per_s), |(low, high), end| (low.min(end), high.max(end)));
    Some(Capacity { per_s, interval: Interval::new(low, high)? })
}

/// Whether a use grows in step with the rate: a line explains most of how it differs, and it grows
/// by a good part of what it is. `None` where too few rates are known.
pub(super) fn follows(points: &[(f64, f64)]) -> Option<bool> {
    let line = Line::through(points).filter(|_| points.len() >= POINTS_MIN)?;
    Some(line.explained >= EXPLAINED_MIN && line.growth() >= FOLLOWS_MIN * line.share)
}

/// Where the line of least squares reaches what is free.
fn full_at(points: &[(f64, f64)], free: f64) -> Option<f64> {
    let line = Line::through(points).filter(|line| line.growth() >= GROWTH_MIN)?;
    let full = line.rate + (free - line.share) / line.slope;
    (full.is_finite() && full > 0.0).then_some(full)
}

/// The line of least squares.
struct Line {
    /// The mean rate.
    rate: f64,
    /// The mean share.
    share: f64,
    slope: f64,
    /// From the lowest to the highest rate.
    width: f64,
    /// Part of the variance that the line explains (R squared).
    explained: f64,
}

impl Line {
    /// `None` where all rates are the same, or no numbers.
    fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (rate, share) = (mean(|point| point.0), mean(|point| point.1));
        let (mut across, mut up, mut both) = (0.0, 0.0, 0.0);
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for (at, used) in points {
            across += (at - rate).powi(2);
            up += (used - share).powi(2);
            both += (at - rate) * (used - share);
            (low, high) = (low.min(*at), high.max(*at));
        }
        let slope = both / across;
        let explained = if up > 0.0 { slope * both / up } else { 0.0 };
        slope.is_finite().then_some(Self { rate, share, slope, width: high - low, explained })
    }

    /// By how much the use grows over all rates.
    fn growth(&self) -> f64 {
        self.slope * self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [f64; 3] = [1.0; 3];

    #[test]
    fn a_part_is_full_where_its_line_reaches_all_of_it() {
        // 10 % by others, and 2 ms a request: 0.9 of 0.002.
        let points = [100.0, 200.0, 300.0].map(|rate| (rate, 0.1 + 0.002 * rate));
        let found = capacity(&points, ALL).expect("a line");
        assert!((found.per_s - 450.0).abs() < 1e-6, "{found:?}");
        assert!(found.interval.high - found.interval.low < 1e-6, "{found:?}");
    }

    #[test]
    fn noise_widens_the_interval() {
        let points = [(100.0, 0.31), (200.0, 0.48), (300.0, 0.72), (400.0, 0.89)];
        let found = capacity(&points, ALL).expect("a line");
        assert!(found.interval.contains(found.per_s) && found.interval.contains(450.0));
        assert!(found.interval.high - found.interval.low > 5.0, "{found:?}");
    }

    #[test]
    fn what_does_not_grow_is_never_full() {
        assert_eq!(capacity(&[(100.0, 0.2), (200.0, 0.2), (300.0, 0.21)], ALL), None);
        assert_eq!(capacity(&[(100.0, 0.2), (200.0, 0.1), (300.0, 0.0)], ALL), None);
        assert_eq!(capacity(&[(100.0, 0.2), (200.0, 0.4)], ALL), None);
        assert_eq!(capacity(&[(100.0, 0.2), (100.0, 0.4), (100.0, 0.6)], ALL), None);
    }

    #[test]
    fn what_others_leave_bounds_the_interval() {
        let points = [100.0, 200.0, 300.0].map(|rate| (rate, 0.002 * rate));
        let found = capacity(&points, [0.8, 0.6, 0.9]).expect("a line");
        let expected = (400.0, 300.0, 450.0);
        let apart = [
            found.per_s - expected.0,
            found.interval.low - expected.1,
            found.interval.high - expected.2,
        ];
        assert!(apart.iter().all(|apart| apart.abs() < 1e-6), "{found:?}");
        assert_eq!(capacity(&points, [-0.5, -0.6, -0.4]), None, "nothing is left");
    }

    #[test]
    fn what_wanders_does_not_follow_the_rate() {
        let of = |shares: [f64; 5]| {
            let points: Vec<_> = [20.0, 40.0, 80.0, 160.0, 190.0].into_iter().zip(shares).collect();
            follows(&points)
        };
        assert_eq!(of([0.05, 0.09, 0.2, 0.41, 0.5]), Some(true));
        assert_eq!(of([0.84, 0.9, 0.87, 0.96, 0.95]), Some(false), "it grows by a tenth");
        assert_eq!(of([0.3, 0.0, 0.2, 0.0, 0.3]), Some(false), "as builds come and go");
        assert_eq!(of([0.9; 5]), Some(false));
        assert_eq!(follows(&[(20.0, 0.1), (40.0, 0.2)]), None);
    }
}
