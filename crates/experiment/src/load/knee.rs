//! Where a server saturates: the knee of a staircase of rates.

use hugewise_base::units::Ns;
use serde::{Deserialize, Serialize};

/// The share of what is offered that must be achieved for a rate to count as served. Ours.
pub const SERVED_SHARE: f64 = 0.99;
/// How many times the latency of the lowest rate a served rate may have. Ours: at a single
/// server with random arrivals (M/M/1) that is 90 % of its capacity, seen from an idle one.
pub const LATENCY_FACTOR: f64 = 10.0;
/// How far a point must lie below the straight line between the ends for the curve to have a
/// bend at all, as a share of the whole. Ours: noise of a flat curve stays below.
const BEND: f64 = 0.1;

/// One step of the staircase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Requests per second that should have started.
    pub offered_per_s: f64,
    /// Requests per second that were answered.
    pub achieved_per_s: f64,
    /// 99 % were answered within that time from their intended start.
    pub p99: Ns,
}

/// What a served rate must keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Achieved by offered, at least.
    pub served_share: f64,
    /// p99 by the p99 of the lowest rate, at most.
    pub latency_factor: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { served_share: SERVED_SHARE, latency_factor: LATENCY_FACTOR }
    }
}

/// Where the staircase stopped being served.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knee {
    /// There are no points.
    Unknown,
    /// Every rate was served: the knee lies above the highest.
    NotReached {
        /// The highest rate of the staircase.
        highest_per_s: f64,
    },
    /// The lowest rate was not served: the knee lies below it.
    BelowFirst {
        /// The lowest rate of the staircase.
        lowest_per_s: f64,
    },
    /// It lies between two steps.
    Between {
        /// The highest rate below which, and with which, every rate was served.
        served_per_s: f64,
        /// The next rate, which was not.
        saturated_per_s: f64,
    },
}

impl Knee {
    /// The highest rate that is served, where it was found.
    pub const fn served_per_s(&self) -> Option<f64> {
        match self {
            Self::Between { served_per_s, .. } => Some(*served_per_s),
            _ => None,
        }
    }
}

/// The points that are numbers, by rate.
fn sorted(points: &[Point]) -> Vec<Point> {
    let finite = |p: &&Point| p.offered_per_s.is_finite() && p.achieved_per_s.is_finite();
    let mut sorted: Vec<Point> = points.iter().filter(finite).copied().collect();
    sorted.sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    sorted
}

/// The knee by limits: the highest rate that is served, and that no unserved one lies below.
pub fn by_limits(points: &[Point], limits: Limits) -> Knee {
    let points = sorted(points);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Knee::Unknown };
    let slowest = first.p99.0 as f64 * limits.latency_factor;
    let served = |point: &Point| {
        point.achieved_per_s >= point.offered_per_s * limits.served_share
            && point.p99.0 as f64 <= slowest
    };
    match points.iter().position(|point| !served(point)) {
        None => Knee::NotReached { highest_per_s: last.offered_per_s },
        Some(0) => Knee::BelowFirst { lowest_per_s: first.offered_per_s },
        Some(at) => Knee::Between {
            served_per_s: points[at - 1].offered_per_s,
            saturated_per_s: points[at].offered_per_s,
        },
    }
}

/// The rate at which latency bends most: with both axes scaled to 0 to 1, the point farthest
/// below the straight line between the ends (Satopaa et al., "Finding a Kneedle in a Haystack",
/// 2011, without its smoothing: stairs are few and long). `None` for a curve without a bend.
pub fn by_curvature(points: &[Point]) -> Option<f64> {
    let points = sorted(points);
    let (first, last) = (points.first()?, points.last()?);
    let width = last.offered_per_s - first.offered_per_s;
    let low = points.iter().map(|point| point.p99).min()?;
    let high = points.iter().map(|point| point.p99).max()?;
    let height = high.since(low).0 as f64;
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    let below = |point: &Point| {
        let x = (point.offered_per_s - first.offered_per_s) / width;
        x - point.p99.since(low).0 as f64 / height
    };
    let farthest = points.iter().max_by(|a, b| below(a).total_cmp(&below(b)))?;
    (below(farthest) >= BEND).then_some(farthest.offered_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A single server with random arrivals and service times of 1/`capacity` on average: time
    /// in it is exponential with mean 1/(capacity - rate), so p99 is ln(100) times that.
    fn queue(capacity: f64, rates: impl Iterator<Item = f64>) -> Vec<Point> {
        let point = |offered: f64| {
            let served = offered < capacity;
            let p99 = if served { 100f64.ln() / (capacity - offered) } else { 5.0 };
            let achieved_per_s = offered.min(capacity);
            Point { offered_per_s: offered, achieved_per_s, p99: Ns::from_s(p99.min(5.0)) }
        };
        rates.map(point).collect()
    }

    fn stairs(low: u32, high: u32, step: usize) -> impl Iterator<Item = f64> {
        (low..=high).step_by(step).map(f64::from)
    }

    #[test]
    fn a_single_server_saturates_below_its_capacity() {
        let points = queue(1000.0, stairs(100, 1500, 100));
        let knee = by_limits(&points, Limits::default());
        // p99 at 900/s is nine times the one at 100/s; at 1000/s it has no end.
        assert_eq!(knee, Knee::Between { served_per_s: 900.0, saturated_per_s: 1000.0 });
        assert_eq!(by_curvature(&points), Some(900.0));
        let strict = Limits { latency_factor: 2.0, ..Limits::default() };
        assert_eq!(by_limits(&points, strict).served_per_s(), Some(500.0));
    }

    #[test]
    fn a_staircase_that_ends_too_early_has_no_knee() {
        let points = queue(1000.0, stairs(10, 100, 10));
        let knee = by_limits(&points, Limits::default());
        assert_eq!(knee, Knee::NotReached { highest_per_s: 100.0 });
        assert_eq!((knee.served_per_s(), by_curvature(&points)), (None, None));
    }

    #[test]
    fn a_staircase_that_begins_too_high_has_none_either() {
        let points = queue(50.0, stairs(100, 300, 100));
        let knee = by_limits(&points, Limits::default());
        assert_eq!(knee, Knee::BelowFirst { lowest_per_s: 100.0 });
        assert_eq!((by_curvature(&points), by_curvature(&[])), (None, None));
        assert_eq!(by_limits(&[], Limits::default()), Knee::Unknown);
    }

    #[test]
    fn a_rate_that_is_served_again_above_a_gap_does_not_count() {
        let mut points = queue(1000.0, stairs(100, 800, 100));
        points[3].achieved_per_s = 300.0;
        assert_eq!(by_limits(&points, Limits::default()).served_per_s(), Some(300.0));
        points.reverse();
        assert_eq!(by_limits(&points, Limits::default()).served_per_s(), Some(300.0));
    }

    proptest! {
        #[test]
        fn the_knee_is_one_step_at_most_below_what_the_formula_says(capacity in 500u32..5_000) {
            let step = usize::try_from(capacity / 25).expect("small");
            let points = queue(f64::from(capacity), stairs(capacity / 10, capacity * 2, step));
            let served = by_limits(&points, Limits::default()).served_per_s();
            // A tenth of the capacity and ten times its p99: nine hundredths are left free.
            let exact = f64::from(capacity) - f64::from(capacity - capacity / 10) / 10.0;
            let served = served.expect("twice the capacity is offered");
            prop_assert!(served <= exact + 1.0 && served + step as f64 >= exact - 1.0);
        }
    }
}
