//! Axes of plots: scales, round marks, grids with their labels. All plots have theirs from here.

use crate::render::number::{decimals, latency};
use crate::render::svg::{Anchor, Svg};

/// Width of every plot: narrow, so that its texts stay readable on a telephone.
pub(crate) const WIDTH: f64 = 420.0;
/// Baseline of the unit above the vertical axis.
pub(crate) const UNIT: f64 = 13.0;
/// Where texts that explain a plot begin.
const MARGIN: f64 = 6.0;
/// Baseline of the labels below the horizontal axis, from that on.
pub(crate) const LABEL: f64 = 19.0;
/// Baseline of the note below those.
pub(crate) const NOTE: f64 = 38.0;

/// A straight mapping of values to coordinates, of their logarithms where asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
    map: fn(f64) -> f64,
}

impl Scale {
    /// Equal steps for equal differences.
    pub(crate) fn linear(from: (f64, f64), to: (f64, f64)) -> Self {
        Self { from, to, map: |value| value }
    }

    /// Equal steps for equal factors; values below 1 count as 1.
    pub(crate) fn log(from: (f64, f64), to: (f64, f64)) -> Self {
        let map = |value: f64| value.max(1.0).log10();
        Self { from: (map(from.0), map(from.1)), to, map }
    }

    /// The coordinate of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let span = self.from.1 - self.from.0;
        let part = if span == 0.0 { 0.0 } else { ((self.map)(value) - self.from.0) / span };
        self.to.0 + part * (self.to.1 - self.to.0)
    }
}

/// Corners of the plot proper in its picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    /// A line of the grid with its label at the vertical axis.
    pub(crate) fn row(&self, svg: &mut Svg, y: f64, text: &str) {
        svg.line("grid", (self.left, y), (self.right, y));
        svg.text("tick", (self.left - 6.0, y + 4.0), Anchor::End, text);
    }

    /// A notch at the horizontal axis.
    pub(crate) fn notch(&self, svg: &mut Svg, x: f64) {
        svg.line("grid", (x, self.bottom), (x, self.bottom + 5.0));
    }

    /// A notch at the horizontal axis with its label.
    pub(crate) fn mark(&self, svg: &mut Svg, x: f64, text: &str) {
        self.notch(svg, x);
        svg.text("tick", (x, self.bottom + LABEL), Anchor::Middle, text);
    }

    /// What the vertical axis counts, above it.
    pub(crate) fn unit(&self, svg: &mut Svg, text: &str) {
        svg.text("unit", (MARGIN, UNIT), Anchor::Start, text);
    }

    /// What the horizontal axis counts, below it.
    pub(crate) fn note(&self, svg: &mut Svg, text: &str) {
        svg.text("note", (MARGIN, self.bottom + NOTE), Anchor::Start, text);
    }

    /// The vertical axis with a grid over these values, in multiples of `by`.
    pub(crate) fn value_axis(&self, svg: &mut Svg, range: (f64, f64), by: f64) -> Scale {
        let marks = marks(range.0 / by, range.1 / by);
        let (first, last) = (marks[0], marks[marks.len() - 1]);
        let places = decimals(marks[1] - first);
        let scale = Scale::linear((first * by, last * by), (self.bottom, self.top));
        for mark in marks {
            self.row(svg, scale.at(mark * by), &format!("{mark:.places$}"));
        }
        scale
    }

    /// The horizontal axis from 0 to `most`, with some room beside it.
    pub(crate) fn horizontal_axis(&self, svg: &mut Svg, most: f64, unit: &str) -> Scale {
        let most = if most > 0.0 { most } else { 1.0 };
        let scale = Scale::linear((0.0, most), (self.left, self.right - 10.0));
        let step = round_step(most, 4.0);
        let places = decimals(step);
        let marks = (0..=6_u32).map(|index| step * f64::from(index));
        for at in marks.take_while(|at| *at <= most * 1.0001) {
            self.mark(svg, scale.at(at), &format!("{at:.places$}{unit}"));
        }
        scale
    }

    /// A horizontal axis of latencies in nanoseconds, each step the same factor.
    pub(crate) fn latency_axis(&self, svg: &mut Svg, (low, high): (f64, f64)) -> Scale {
        let low = low.max(1.0);
        let high = high.max(low * 1.5);
        let scale = Scale::log((low, high), (self.left, self.right - 10.0));
        let decades = (high / low).log10();
        // Few decades have room for marks within them, many have no room for all of themselves.
        let within: &[f64] = match decades {
            d if d < 1.2 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            d if d < 2.4 => &[1.0, 2.0, 5.0],
            d if d < 3.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let all = (0..20).flat_map(|power| within.iter().map(move |part| part * 10f64.powi(power)));
        let mut next_free = 0.0;
        for ns in all.filter(|ns| *ns >= low * 0.999 && *ns <= high * 1.001) {
            let x = scale.at(ns);
            svg.line("grid", (x, self.top), (x, self.bottom + 5.0));
            let text = latency(ns);
            let half = text.len() as f64 * 4.0;
            if x - half > next_free {
                svg.text("tick", (x, self.bottom + LABEL), Anchor::Middle, &text);
                next_free = x + half + 4.0;
            }
        }
        scale
    }
}

/// A round step for about `count` of them in `span`.
fn round_step(span: f64, count: f64) -> f64 {
    let rough = (span / count).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power)
}

/// Round marks that cover `low` to `high`, at least two. They begin at 0 unless all values lie far
/// from it: a difference looks as large as it is wherever that still lets one see it.
pub(crate) fn marks(low: f64, high: f64) -> Vec<f64> {
    let low = if low > 0.0 && low < high * 0.6 { 0.0 } else { low };
    let high = if high < 0.0 && high > low * 0.6 { 0.0 } else { high };
    let span = high - low;
    let span = if span > 0.0 { span } else { high.abs().max(1.0) * 0.1 };
    let step = round_step(span, 4.0);
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

/// At most `most` points of a line: of each stretch the lowest and the highest by `value`.
pub(crate) fn thinned<T: Copy>(points: &[T], most: usize, value: impl Fn(&T) -> f64) -> Vec<T> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(most / 2);
    let ends = |part: &[T]| {
        let pick = |better: fn(f64, f64) -> bool| {
            let best = |a, b| if better(value(&part[b]), value(&part[a])) { b } else { a };
            (0..part.len()).reduce(best).unwrap_or(0)
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
    fn scales_map_their_ends() {
        let linear = Scale::linear((0.0, 50.0), (10.0, 110.0));
        assert_eq!((linear.at(0.0), linear.at(25.0), linear.at(50.0)), (10.0, 60.0, 110.0));
        let log = Scale::log((100.0, 1e6), (0.0, 4.0));
        assert!((log.at(1e4) - 2.0).abs() < 1e-9);
        assert_eq!(Scale::linear((3.0, 3.0), (1.0, 2.0)).at(3.0), 1.0);
    }

    #[test]
    fn marks_cover_the_values_and_begin_at_zero_where_that_helps() {
        assert_eq!(marks(0.0, 530.0), [0.0, 200.0, 400.0, 600.0]);
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
    fn thinning_keeps_the_extremes() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|at| (f64::from(at), 50.0)).collect();
        (points[4321].1, points[8765].1) = (99.0, 1.0);
        let kept = thinned(&points, 400, |point| point.1);
        assert!(kept.len() <= 400, "{}", kept.len());
        assert!(kept.contains(&(4321.0, 99.0)) && kept.contains(&(8765.0, 1.0)));
    }
}
