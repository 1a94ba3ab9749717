//! Values over time, or over the rate of requests: the median of a variant's runs, in a band from
//! the smallest to the largest.

use super::frame::{FRAME, POINTS_MAX, class, frame, joined, name, value_axis};
use crate::render::axes::thinned;
use hugewise_experiment::summary::{Abscissa, Curve, Moment, OverTime, Summary, words};

fn description(summary: &Summary, all: &OverTime) -> String {
    let of = |curve: &Curve| {
        let first = curve.moments.first()?;
        let last = curve.moments.last()?;
        let number = |value| words::number(value, all.digits);
        Some(format!(
            "{}: {} at first, {} at the end.",
            name(summary, curve.variant),
            number(first.median),
            number(last.median)
        ))
    };
    all.curves.iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

/// One metric; `None` where there is no time to see.
pub(super) fn draw(id: &str, summary: &Summary, all: &OverTime) -> Option<String> {
    let moments = || all.curves.iter().flat_map(|curve| &curve.moments);
    let end = moments().map(|moment| moment.at).reduce(f64::max).filter(|end| *end > 0.0)?;
    let low = moments().map(|moment| moment.low).reduce(f64::min)?;
    let high = moments().map(|moment| moment.high).reduce(f64::max)?;
    let variants: Vec<usize> = all.curves.iter().map(|curve| curve.variant).collect();
    let text = description(summary, all);
    let mut svg = frame(id, (&all.title, &text), summary, (&variants, true));
    let unit = joined(&all.unit, words::direction(all.better));
    let y = value_axis(&mut svg, (low, high), &unit);
    let (note, unit) = match all.against {
        Abscissa::Time => ("time; lines: medians of the runs, bands: smallest to largest", " s"),
        Abscissa::Rate => ("requests due a second; medians, bands: smallest to largest", "/s"),
    };
    let x = FRAME.horizontal_axis(&mut svg, end, unit);
    FRAME.note(&mut svg, note);
    let line = |curve: &Curve, value: fn(&Moment) -> f64| -> Vec<(f64, f64)> {
        let points: Vec<_> = curve.moments.iter().map(|m| (m.at, value(m))).collect();
        thinned(&points, POINTS_MAX, |point| point.1)
            .into_iter()
            .map(|(at, value)| (x.at(at), y.at(value)))
            .collect()
    };
    for curve in &all.curves {
        let mut band = line(curve, |moment| moment.high);
        band.extend(line(curve, |moment| moment.low).into_iter().rev());
        svg.shape(&format!("band {}", class(curve.variant)), &band, "");
    }
    for curve in &all.curves {
        let points = line(curve, |moment| moment.median);
        svg.path(&format!("curve {}", class(curve.variant)), &points);
    }
    Some(svg.finish())
}
