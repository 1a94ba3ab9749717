//! Sums of events by their subject.

use super::prelude::*;

/// The subject with the largest sum, with that sum and the one of all.
pub(super) fn largest(lines: &[Line]) -> Option<(&Line, f64, f64)> {
    let (mut largest, mut all): (Option<(&Line, f64)>, f64) = (None, 0.0);
    for line in lines {
        let sum: f64 = line.points.iter().map(|point| point.value).sum();
        all += sum;
        if largest.is_none_or(|(_, most)| sum > most) {
            largest = Some((line, sum));
        }
    }
    largest.map(|(line, sum)| (line, sum, all))
}
