//! All values of a metric in the order in which they were measured, and their spread beside them.

use super::frame::{BOTTOM, FRAME, LEFT, RIGHT, class, frame, joined, marker, name, value_axis};
use crate::render::axes::{NOTE, Scale, UNIT};
use crate::render::svg::{Anchor, Svg};
use hugewise_base::count::counted;
use hugewise_experiment::summary::{Cell, Row, Summary, words};

/// Where the values end and the boxes begin.
const MIDDLE: f64 = 312.0;
const BOXES: f64 = 324.0;
/// Widest box.
const BOX_MAX: f64 = 22.0;

fn description(summary: &Summary, row: &Row) -> String {
    let of = |(index, cell): (usize, &Cell)| {
        let spread = cell.spread.as_ref()?;
        let number = |value| words::number(value, row.digits);
        Some(format!(
            "{}: median {}, {} to {}, {}.",
            name(summary, index),
            number(spread.median),
            number(spread.min),
            number(spread.max),
            counted(cell.values.len(), "value", "values")
        ))
    };
    row.cells.iter().enumerate().filter_map(of).collect::<Vec<_>>().join(" ")
}

/// Marks of the runs, counted from 1.
fn run_axis(svg: &mut Svg, runs: usize) -> Scale {
    let last = runs.max(2);
    let scale = Scale::linear((1.0, last as f64), (LEFT + 10.0, MIDDLE - 8.0));
    let step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000].into_iter();
    let step = step.into_iter().find(|step| last / step <= 5).unwrap_or(last / 4);
    let round = (1..=last).filter(|run| *run == 1 || run % step == 0);
    let mut before = f64::NEG_INFINITY;
    for run in round {
        let x = scale.at(run as f64);
        if x - before > 24.0 {
            FRAME.mark(svg, x, &run.to_string());
            before = x;
        }
    }
    scale
}

fn push_values(svg: &mut Svg, row: &Row, variant: usize, cell: &Cell, (x, y): (Scale, Scale)) {
    for one in &cell.values {
        let more = if one.noisy { " noisy" } else { "" };
        let value = words::with_unit(one.value, row);
        let (run, noisy) = (one.run + 1, if one.noisy { ", noisy" } else { "" });
        let title = format!("run {run}, repetition {}: {value}{noisy}", one.repetition + 1);
        let at = (x.at(one.run as f64 + 1.0), y.at(one.value));
        marker(svg, variant, more, at, &title);
        if cell.outliers.contains(&one.repetition) {
            svg.dot("outlier", at, 9.0);
        }
    }
}

fn push_box(svg: &mut Svg, cell: &Cell, class: &str, (x, wide): (f64, f64), y: Scale, title: &str) {
    let Some(spread) = cell.spread else { return };
    let (low, high) = (y.at(spread.min), y.at(spread.max));
    let (lower, upper) = (y.at(spread.lower_quartile), y.at(spread.upper_quartile));
    svg.line(&format!("whisker {class}"), (x, low), (x, high));
    // A box of no height would be invisible.
    let tall = (lower - upper).max(2.0);
    svg.bar(&format!("box {class}"), (x - wide / 2.0, upper), (wide, tall), title);
    let median = y.at(spread.median);
    svg.line("median", (x - wide / 2.0, median), (x + wide / 2.0, median));
}

/// One metric; `None` without values.
pub(super) fn draw(id: &str, summary: &Summary, row: &Row) -> Option<String> {
    let values = || row.cells.iter().flat_map(|cell| &cell.values);
    let low = values().map(|one| one.value).reduce(f64::min)?;
    let high = values().map(|one| one.value).reduce(f64::max)?;
    let runs = values().map(|one| one.run + 1).max()?;
    let measured: Vec<usize> =
        (0..row.cells.len()).filter(|index| row.cells[*index].spread.is_some()).collect();
    let text = description(summary, row);
    let mut svg = frame(id, (&row.title, &text), summary, (&measured, false));
    let unit = joined(&row.unit, words::direction(row.better));
    let y = value_axis(&mut svg, (low, high), &unit);
    let x = run_axis(&mut svg, runs);
    let room = (RIGHT - BOXES) / measured.len() as f64;
    for (place, variant) in measured.iter().enumerate() {
        let cell = &row.cells[*variant];
        let middle = BOXES + room * (place as f64 + 0.5);
        let size = (room * 0.7).min(BOX_MAX);
        let title = name(summary, *variant);
        push_box(&mut svg, cell, &class(*variant), (middle, size), y, &title);
    }
    svg.line("grid", (MIDDLE + 4.0, 24.0), (MIDDLE + 4.0, BOTTOM));
    for variant in measured {
        push_values(&mut svg, row, variant, &row.cells[variant], (x, y));
    }
    FRAME.note(&mut svg, "run, in the order of time");
    svg.text("note", (RIGHT + 10.0, BOTTOM + NOTE), Anchor::End, "quartiles");
    if values().any(|one| one.noisy) {
        svg.text("note", (RIGHT + 10.0, UNIT), Anchor::End, "hollow: noisy run");
    }
    Some(svg.finish())
}
