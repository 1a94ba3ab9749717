//! What all plots of an experiment share: size, axes, legend, and how variants are told apart.

use crate::report::svg::{Anchor, Scale, Svg};
use crate::view::text::{fit, width};
use hugewise_core::lab::summary::Summary;

/// Width of every plot: narrow, so that its texts stay readable on a telephone.
pub(super) const WIDTH: f64 = 420.0;
/// Corners of the plot proper.
pub(super) const LEFT: f64 = 58.0;
pub(super) const RIGHT: f64 = 404.0;
pub(super) const TOP: f64 = 24.0;
pub(super) const BOTTOM: f64 = 214.0;
/// Where the text below the horizontal axis stands.
pub(super) const NOTE: f64 = BOTTOM + 38.0;
/// First line of the legend.
const LEGEND: f64 = BOTTOM + 60.0;
/// Height of a line of the legend.
const LEGEND_LINE: f64 = 19.0;
/// Width of a letter of the legend, and of the key before it.
const LETTER: f64 = 8.0;
const KEY: f64 = 30.0;
/// Most columns of a variant's name in a plot.
const NAME_MAX: usize = 30;
/// Colours, dashes and markers there are; the next variants have them again, with hollow markers.
const LOOKS: usize = 8;
/// Most points of a line: about what a screen has columns for.
pub(super) const POINTS_MAX: usize = 400;

/// Class of a variant's colour and dashes.
pub(super) fn class(variant: usize) -> String {
    let again = if variant < LOOKS { "" } else { " again" };
    format!("v{}{again}", variant % LOOKS)
}

/// A variant's marker around a point: each has its own shape, for whoever sees no colours.
pub(super) fn marker(svg: &mut Svg, variant: usize, more: &str, at: (f64, f64), title: &str) {
    const DIAGONAL: f64 = 0.9;
    let polygon = |corners: u32, turn: f64, size: f64| -> Vec<(f64, f64)> {
        let corner = |index: u32| {
            let angle = (f64::from(index) / f64::from(corners) + turn) * std::f64::consts::TAU;
            (at.0 + angle.sin() * size, at.1 - angle.cos() * size)
        };
        (0..corners).map(corner).collect()
    };
    let star = |turn: f64| -> Vec<(f64, f64)> {
        let corner = |index: u32| {
            let size = if index.is_multiple_of(2) { 6.0 } else { 2.2 };
            let angle = (f64::from(index) / 8.0 + turn) * std::f64::consts::TAU;
            (at.0 + angle.sin() * size, at.1 - angle.cos() * size)
        };
        (0..8).map(corner).collect()
    };
    let points = match variant % LOOKS {
        0 => polygon(16, 0.0, 4.4),
        1 => polygon(4, 0.125, 5.6 * DIAGONAL),
        2 => polygon(3, 0.0, 5.8),
        3 => polygon(4, 0.0, 5.8),
        4 => polygon(3, 0.5, 5.8),
        5 => star(0.0),
        6 => star(0.125),
        _ => polygon(6, 0.0, 5.0),
    };
    svg.shape(&format!("mark {}{more}", class(variant)), &points, title);
}

/// A variant's name, short enough for a plot.
pub(super) fn name(summary: &Summary, variant: usize) -> String {
    summary.variants.get(variant).map_or_else(String::new, |one| fit(&one.name, NAME_MAX))
}

/// Where the entries of a legend stand, and the height of the whole plot.
fn placed(summary: &Summary, variants: &[usize]) -> (Vec<(usize, f64, f64)>, f64) {
    let (mut x, mut y) = (8.0, LEGEND);
    let mut all = Vec::new();
    for variant in variants {
        let wide = KEY + 14.0 + LETTER * width(&name(summary, *variant)) as f64;
        if x > 8.0 && x + wide > WIDTH {
            (x, y) = (8.0, y + LEGEND_LINE);
        }
        all.push((*variant, x, y));
        x += wide;
    }
    (all, y + 10.0)
}

/// An empty plot with a legend of these variants; lines have no markers, and markers no lines.
pub(super) fn frame(
    id: &str,
    (title, description): (&str, &str),
    summary: &Summary,
    (variants, lines): (&[usize], bool),
) -> Svg {
    let (entries, height) = placed(summary, variants);
    let mut svg = Svg::new(id, (WIDTH, height), title, description);
    for (variant, x, y) in entries {
        if lines {
            let line = [(x, y - 4.0), (x + KEY - 6.0, y - 4.0)];
            svg.path(&format!("curve {}", class(variant)), &line);
        } else {
            marker(&mut svg, variant, "", (x + KEY / 2.0, y - 4.0), "");
        }
        svg.text("label", (x + KEY, y), Anchor::Start, &name(summary, variant));
    }
    svg
}

/// A round step for about `count` of them in `span`.
fn step(span: f64, count: f64) -> f64 {
    let rough = (span / count).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power)
}

/// Decimals with which multiples of `step` can be told from each other.
fn decimals(step: f64) -> usize {
    let round = |places: &usize| {
        let scaled = step * 10f64.powi(i32::try_from(*places).unwrap_or(0));
        (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1e-9)
    };
    (0..=6).find(round).unwrap_or(6)
}

/// Round marks that cover `low` to `high`. They begin at 0 unless all values lie far from it:
/// a difference looks as large as it is wherever that still lets one see it.
pub(super) fn marks(low: f64, high: f64) -> Vec<f64> {
    let low = if low > 0.0 && low < high * 0.6 { 0.0 } else { low };
    let high = if high < 0.0 && high > low * 0.6 { 0.0 } else { high };
    let span = high - low;
    let span = if span > 0.0 { span } else { high.abs().max(1.0) * 0.1 };
    let step = step(span, 4.0);
    let first = (low / step + 1e-9).floor();
    let mut all: Vec<f64> = vec![first * step];
    while all.last().is_some_and(|last| *last < high - step * 1e-6) && all.len() < 20 {
        all.push((first + all.len() as f64) * step);
    }
    if all.len() == 1 {
        all.push((first + 1.0) * step);
    }
    all
}

/// The vertical axis with a grid; `unit` stands above it.
pub(super) fn value_axis(svg: &mut Svg, (low, high): (f64, f64), unit: &str) -> Scale {
    let marks = marks(low, high);
    let (first, last) = (marks[0], marks[marks.len() - 1]);
    let size = first.abs().max(last.abs());
    // More digits would not fit beside the axis.
    let (by, word) = match size {
        size if size >= 1e9 => (1e9, "billions"),
        size if size >= 1e6 => (1e6, "millions"),
        size if size >= 1e5 => (1e3, "thousands"),
        _ => (1.0, ""),
    };
    let places = decimals((marks[1] - marks[0]) / by);
    let scale = Scale::linear((first, last), (BOTTOM, TOP));
    for mark in marks {
        let y = scale.at(mark);
        svg.line("grid", (LEFT, y), (RIGHT, y));
        let text = format!("{:.places$}", mark / by);
        svg.text("tick", (LEFT - 6.0, y + 4.0), Anchor::End, &text);
    }
    let parts = [unit, word].into_iter().filter(|part| !part.is_empty());
    let unit = parts.collect::<Vec<_>>().join(", ");
    svg.text("unit", (6.0, 13.0), Anchor::Start, &unit);
    scale
}

/// A unit with its good direction, for above an axis.
pub(super) fn unit_and_direction(unit: &str, direction: &str) -> String {
    let parts = [unit, direction].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}

/// The horizontal axis from 0 to `most`; `note` stands below it.
pub(super) fn horizontal_axis(svg: &mut Svg, most: f64, unit: &str, note: &str) -> Scale {
    let most = if most > 0.0 { most } else { 1.0 };
    let scale = Scale::linear((0.0, most), (LEFT, RIGHT - 10.0));
    let step = step(most, 4.0);
    let places = decimals(step);
    for index in 0..=6u32 {
        let at = step * f64::from(index);
        if at > most * 1.0001 {
            break;
        }
        let x = scale.at(at);
        svg.line("grid", (x, BOTTOM), (x, BOTTOM + 5.0));
        let text = format!("{at:.places$}{unit}");
        svg.text("tick", (x, BOTTOM + 19.0), Anchor::Middle, &text);
    }
    svg.text("note", (6.0, NOTE), Anchor::Start, note);
    scale
}

/// A horizontal axis of latencies in nanoseconds, each step the same factor.
pub(super) fn latency_axis(svg: &mut Svg, (low, high): (f64, f64)) -> Scale {
    let low = low.max(1.0);
    let high = high.max(low * 1.5);
    let scale = Scale::log((low, high), (LEFT, RIGHT - 10.0));
    let decades = (high / low).log10();
    // Few decades have room for marks within them, many have no room for all of themselves.
    let within: &[f64] = match decades {
        d if d < 1.2 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        d if d < 2.4 => &[1.0, 2.0, 5.0],
        d if d < 3.5 => &[1.0, 3.0],
        _ => &[1.0],
    };
    let mut next_free = 0.0;
    for power in 0..20 {
        for part in within {
            let ns = part * 10f64.powi(power);
            if ns < low * 0.999 || ns > high * 1.001 {
                continue;
            }
            let x = scale.at(ns);
            svg.line("grid", (x, TOP), (x, BOTTOM + 5.0));
            let text = latency(ns);
            let half = text.len() as f64 * 4.0;
            if x - half > next_free {
                svg.text("tick", (x, BOTTOM + 19.0), Anchor::Middle, &text);
                next_free = x + half + 4.0;
            }
        }
    }
    scale
}

/// A latency at an axis, `1.5 us`.
pub(super) fn latency(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let places = decimals((value * 10.0).round() / 10.0);
    format!("{value:.places$} {unit}")
}

/// At most [`POINTS_MAX`] points: of each stretch the lowest and the highest.
pub(super) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(POINTS_MAX / 2);
    let ends = |part: &[(f64, f64)]| {
        let pick = |better: fn(f64, f64) -> bool| {
            let indices = 0..part.len();
            indices.reduce(|a, b| if better(part[b].1, part[a].1) { b } else { a }).unwrap_or(0)
        };
        let (low, high) = (pick(|a, b| a < b), pick(|a, b| a > b));
        let mut kept = vec![part[low.min(high)]];
        kept.extend((low != high).then(|| part[low.max(high)]));
        kept
    };
    points.chunks(stretch).flat_map(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_cover_the_values_and_begin_at_zero_where_that_helps() {
        assert_eq!(marks(10.0, 100.0), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(marks(95.0, 100.0), [94.0, 96.0, 98.0, 100.0]);
        assert_eq!(marks(-3.0, 5.0), [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0]);
        for (low, high) in [(0.0, 0.0), (7.0, 7.0), (-2.0, -2.0), (1e-12, 2e-12), (1e15, 1.1e15)] {
            let all = marks(low, high);
            assert!((2..=20).contains(&all.len()), "{low} {high}: {all:?}");
            assert!(all[0] <= low && all[all.len() - 1] >= high * 0.999_999, "{all:?}");
        }
    }

    #[test]
    fn latencies_at_an_axis_are_short() {
        let texts = [1.0, 150.0, 1500.0, 3e4, 2e6, 1e9].map(latency);
        assert_eq!(texts, ["1 ns", "150 ns", "1.5 us", "30 us", "2 ms", "1 s"]);
    }

    #[test]
    fn thinning_keeps_the_extremes() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|at| (f64::from(at), 50.0)).collect();
        (points[4321].1, points[8765].1) = (99.0, 1.0);
        let kept = thinned(&points);
        assert!(kept.len() <= POINTS_MAX, "{}", kept.len());
        assert!(kept.contains(&(4321.0, 99.0)) && kept.contains(&(8765.0, 1.0)));
    }
}
