//! At which rate a resource is full, from how its use grows: the utilization law (P. Denning,
//! J. Buzen, The Operational Analysis of Queueing Network Models, 1978), with what others use as
//! the intercept.

use hugewise_base::stats::Interval;
use serde::{Deserialize, Serialize};

/// Use that grows by less than this over all rates is noise, as a share. A judgement.
const GROWTH_MIN: f64 = 0.03;
/// A line needs so many rates.
const POINTS_MIN: usize = 3;

/// Where a resource is full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Requests in a second.
    pub per_s: f64,
    /// Between the lowest and the highest value when one of the rates is left out.
    pub interval: Interval,
}

/// From pairs of a rate and the share in use; `None` where that does not grow, or is known of too
/// few rates.
pub(super) fn capacity(points: &[(f64, f64)]) -> Option<Capacity> {
    if points.len() < POINTS_MIN {
        return None;
    }
    let per_s = full_at(points)?;
    let without = |index: usize| {
        let rest = points.iter().enumerate().filter(|(at, _)| *at != index);
        full_at(&rest.map(|(_, point)| *point).collect::<Vec<_>>())
    };
    let ends = (0..points.len()).filter_map(without);
    let (low, high) = ends.fold((per_s, per_s), |(low, high), end| (low.min(end), high.max(end)));
    Some(Capacity { per_s, interval: Interval::new(low, high)? })
}

/// Where the line of least squares reaches 1.
fn full_at(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (rate, share) = (mean(|point| point.0), mean(|point| point.1));
    let apart: f64 = points.iter().map(|point| (point.0 - rate).powi(2)).sum();
    let both: f64 = points.iter().map(|point| (point.0 - rate) * (point.1 - share)).sum();
    let slope = both / apart;
    let rates = points.iter().map(|point| point.0);
    let width = rates.clone().fold(f64::MIN, f64::max) - rates.fold(f64::MAX, f64::min);
    if !slope.is_finite() || slope * width < GROWTH_MIN {
        return None;
    }
    let full = rate + (1.0 - share) / slope;
    (full.is_finite() && full > 0.0).then_some(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_full_where_its_line_reaches_all_of_it() {
        // 10 % by others, and 2 ms a request: 0.9 of 0.002.
        let points = [100.0, 200.0, 300.0].map(|rate| (rate, 0.1 + 0.002 * rate));
        let found = capacity(&points).expect("a line");
        assert!((found.per_s - 450.0).abs() < 1e-6, "{found:?}");
        assert!(found.interval.high - found.interval.low < 1e-6, "{found:?}");
    }

    #[test]
    fn noise_widens_the_interval() {
        let points = [(100.0, 0.31), (200.0, 0.48), (300.0, 0.72), (400.0, 0.89)];
        let found = capacity(&points).expect("a line");
        assert!(found.interval.contains(found.per_s) && found.interval.contains(450.0));
        assert!(found.interval.high - found.interval.low > 5.0, "{found:?}");
    }

    #[test]
    fn what_does_not_grow_is_never_full() {
        assert_eq!(capacity(&[(100.0, 0.2), (200.0, 0.2), (300.0, 0.21)]), None);
        assert_eq!(capacity(&[(100.0, 0.2), (200.0, 0.1), (300.0, 0.0)]), None);
        assert_eq!(capacity(&[(100.0, 0.2), (200.0, 0.4)]), None);
        assert_eq!(capacity(&[(100.0, 0.2), (100.0, 0.4), (100.0, 0.6)]), None);
    }
}
