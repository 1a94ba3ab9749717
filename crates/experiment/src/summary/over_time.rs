//! Values over time, and over the rate of requests, the runs of a variant put together.

use super::material::{Material, about, digits};
use crate::metric::Better;
use crate::record::{Record, Series};
use hugewise_base::stats;
use hugewise_base::units::saturating_u64;
use serde::Serialize;
use std::collections::BTreeSet;

/// Most moments of a curve: about what a picture has columns for.
const MOMENTS_MAX: usize = 200;

/// The series of a run that says how many requests a second were due.
const RATE: &str = "offered_per_s";
/// A load with less between its lowest and highest rate has no course over it, of the highest.
const RATE_SPAN_MIN: f64 = 0.1;

/// What values stand over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Abscissa {
    /// Seconds since the phase began.
    Time,
    /// Requests that were due a second.
    Rate,
}

/// A metric over time, or over the rate of requests, in all variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverTime {
    /// Over which of them.
    pub against: Abscissa,
    /// Its key.
    pub key: String,
    /// What it is, as a noun.
    pub title: String,
    /// Unit as printed; empty for plain numbers.
    pub unit: String,
    /// Good direction.
    pub better: Better,
    /// Digits after the point that are worth printing.
    pub digits: usize,
    /// The variants that have values.
    pub curves: Vec<Curve>,
}

/// A metric in one variant, over all its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Index of the variant.
    pub variant: usize,
    /// In the order of time or rate.
    pub moments: Vec<Moment>,
}

/// The values of all runs at about the same time or rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Moment {
    /// Seconds since the phase began, or requests a second.
    pub at: f64,
    /// The smallest value of any run.
    pub low: f64,
    /// The median of the runs.
    pub median: f64,
    /// The largest value of any run.
    pub high: f64,
}

/// One run: its points in the order of time, all of them numbers.
type Line = Vec<(f64, f64)>;

fn line(series: &Series) -> Line {
    let sound = |(at, value): &&(f64, f64)| at.is_finite() && value.is_finite() && *at >= 0.0;
    let mut points: Line = series.points.iter().filter(sound).copied().collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The value at a time between two points; `None` before the first and after the last.
fn between(line: &[(f64, f64)], at: f64) -> Option<f64> {
    let after = line.partition_point(|point| point.0 < at);
    let (right, left) = (line.get(after)?, line.get(after.checked_sub(1)?)?);
    let span = right.0 - left.0;
    let part = if span > 0.0 { (at - left.0) / span } else { 0.0 };
    Some(left.1 + part * (right.1 - left.1))
}

/// All runs on one grid of times. Where a run has several values between two of these, the band
/// holds all of them, so that no peak is lost; where it has none, it counts with what lies between
/// its neighbours.
fn moments(lines: &[Line]) -> Vec<Moment> {
    let Some(end) = lines.iter().filter_map(|line| line.last()).map(|p| p.0).reduce(f64::max)
    else {
        return Vec::new();
    };
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let last = longest.min(MOMENTS_MAX).saturating_sub(1);
    let step = if last > 0 { end / last as f64 } else { 0.0 };
    let place = |at: f64| {
        let place = if step > 0.0 { (at / step).round() } else { 0.0 };
        usize::try_from(saturating_u64(place)).unwrap_or(0).min(last)
    };
    let mut held: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); lines.len()]; last + 1];
    for (run, line) in lines.iter().enumerate() {
        for (at, value) in line {
            held[place(*at)][run].push(*value);
        }
    }
    let moment = |(index, runs): (usize, &Vec<Vec<f64>>)| {
        let at = if last > 0 { index as f64 * step } else { end };
        let all = || runs.iter().flatten().copied();
        let of_run = |(run, values): (usize, &Vec<f64>)| {
            stats::median(values).or_else(|| between(&lines[run], at))
        };
        let middles: Vec<f64> = runs.iter().enumerate().filter_map(of_run).collect();
        let median = stats::median(&middles)?;
        let ends = || all().chain(middles.iter().copied());
        let (low, high) = (ends().reduce(f64::min)?, ends().reduce(f64::max)?);
        Some(Moment { at, low, median, high })
    };
    held.iter().enumerate().filter_map(moment).collect()
}

/// A metric of one run over time or over its rate; `None` where it has none.
fn of_run(record: &Record, key: &str, against: Abscissa) -> Option<Line> {
    let find = |key: &str| record.measured.series.iter().find(|series| series.key == key);
    let values = line(find(key)?);
    if against == Abscissa::Time {
        return Some(values);
    }
    let rates = line(find(RATE)?);
    let highest = rates.iter().map(|point| point.1).reduce(f64::max)?;
    let lowest = rates.iter().map(|point| point.1).reduce(f64::min)?;
    if key == RATE || highest - lowest < highest * RATE_SPAN_MIN {
        return None;
    }
    let mut points: Line = Vec::with_capacity(values.len());
    for (at, value) in values {
        // Of whole seconds: a value of a part of one belongs to the rate of that second.
        let place = rates.partition_point(|rate| rate.0 <= at);
        points.extend(place.checked_sub(1).map(|place| (rates[place].1, value)));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(points)
}

/// Every metric that any run has over time, and over the rate where that changed.
pub(super) fn all(material: &Material<'_>) -> Vec<OverTime> {
    let mut keys: BTreeSet<String> = BTreeSet::new();
    for record in material.done() {
        for series in &record.measured.series {
            keys.insert(series.key.clone());
        }
    }
    let both = [Abscissa::Time, Abscissa::Rate];
    let wanted = both.into_iter().flat_map(|against| keys.iter().map(move |key| (against, key)));
    let over_time = |(against, key): (Abscissa, &String)| {
        let curves = material.active.iter().enumerate().filter_map(|(index, variant)| {
            let done = material.of(&variant.name).filter(|(_, record)| record.is_done());
            let lines = done.filter_map(|(_, record)| of_run(record, key, against));
            let lines: Vec<Line> = lines.collect();
            let moments = moments(&lines);
            (!moments.is_empty()).then_some(Curve { variant: index, moments })
        });
        let curves: Vec<_> = curves.collect();
        let wanted = material.checked.metrics.iter().find(|wanted| wanted.key == *key);
        let about = about(key, wanted);
        let (title, unit) = (about.title, about.unit);
        let medians = curves.iter().flat_map(|curve| &curve.moments).map(|moment| moment.median);
        let medians: Vec<f64> = medians.collect();
        let digits = about.digits.unwrap_or_else(|| digits(&medians));
        (!curves.is_empty()).then_some(OverTime {
            against,
            key: key.clone(),
            title,
            unit,
            better: about.better,
            digits,
            curves,
        })
    };
    wanted.filter_map(over_time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_put_together_at_the_same_times() {
        let (one, two) = (vec![(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], vec![(0.0, 3.0), (2.0, 5.0)]);
        let all = moments(&[one, two]);
        let figures: Vec<_> = all.iter().map(|m| (m.at, m.low, m.median, m.high)).collect();
        assert_eq!(figures, [(0.0, 1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 4.0), (2.0, 3.0, 4.0, 5.0)]);
    }

    #[test]
    fn many_points_become_few_and_no_peak_is_lost() {
        let mut line: Line = (0..100_000).map(|at| (f64::from(at), 10.0)).collect();
        (line[33_333].1, line[70_001].1) = (99.0, 1.0);
        let all = moments(&[line]);
        assert_eq!(all.len(), MOMENTS_MAX);
        assert!(all.iter().any(|moment| moment.high == 99.0));
        assert!(all.iter().any(|moment| moment.low == 1.0));
        assert!(all.iter().all(|moment| moment.median == 10.0));
    }

    #[test]
    fn nothing_and_one_point_do_no_harm() {
        assert!(moments(&[]).is_empty() && moments(&[Vec::new()]).is_empty());
        let one = moments(&[vec![(3.0, 7.0)], Vec::new()]);
        assert_eq!(one, [Moment { at: 3.0, low: 7.0, median: 7.0, high: 7.0 }]);
        let broken = Series { key: "a".into(), points: vec![(f64::NAN, 1.0), (1.0, f64::NAN)] };
        assert!(line(&broken).is_empty());
    }
}
