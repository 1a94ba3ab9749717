//! What all plots of an experiment share: corners, legend, and how variants are told apart.

use crate::render::axes::{Frame, Scale, WIDTH, marks};
use crate::render::number;
use crate::render::svg::{Anchor, Svg};
use crate::render::text::{fit, width};
use hugewise_experiment::summary::Summary;

/// Corners of the plot proper.
pub(super) const FRAME: Frame = Frame { left: LEFT, right: RIGHT, top: TOP, bottom: BOTTOM };
pub(super) const LEFT: f64 = 58.0;
pub(super) const RIGHT: f64 = 404.0;
pub(super) const TOP: f64 = 24.0;
pub(super) const BOTTOM: f64 = 214.0;
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
    let shape = |corners: u32, turn: f64, (outer, inner): (f64, f64)| -> Vec<(f64, f64)> {
        let corner = |index: u32| {
            let size = if index.is_multiple_of(2) { outer } else { inner };
            let angle = (f64::from(index) / f64::from(corners) + turn) * std::f64::consts::TAU;
            (at.0 + angle.sin() * size, at.1 - angle.cos() * size)
        };
        (0..corners).map(corner).collect()
    };
    let polygon = |corners, turn, size| shape(corners, turn, (size, size));
    let points = match variant % LOOKS {
        0 => polygon(16, 0.0, 4.4),
        1 => polygon(4, 0.125, 5.6 * DIAGONAL),
        2 => polygon(3, 0.0, 5.8),
        3 => polygon(4, 0.0, 5.8),
        4 => polygon(3, 0.5, 5.8),
        5 => shape(8, 0.0, (6.0, 2.2)),
        6 => shape(8, 0.125, (6.0, 2.2)),
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

/// The vertical axis; `unit` stands above it.
pub(super) fn value_axis(svg: &mut Svg, (low, high): (f64, f64), unit: &str) -> Scale {
    let marks = marks(low, high);
    let (by, word) = number::large(marks[0].abs().max(marks[marks.len() - 1].abs()));
    FRAME.unit(svg, &joined(unit, word));
    FRAME.value_axis(svg, (low, high), by)
}

/// Two words with a comma, or the one that there is.
pub(super) fn joined(one: &str, other: &str) -> String {
    let parts = [one, other].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}
