//! Sums of events by whom they are about.

use super::prelude::*;

/// Of whom the sum is largest, with that sum and the one of all.
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
