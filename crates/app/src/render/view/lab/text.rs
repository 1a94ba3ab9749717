//! An experiment's result as text: the verdict first, then what it rests on.

use crate::render::colour::Paint;
use crate::render::text::{columns, fit, left, right, trimmed, width, wrap};
use hugewise_base::escape::printable;
use hugewise_experiment::compare::Judgement;
use hugewise_experiment::summary::{Cell, Row, Summary, Warning, words};

/// Widest column of names, and of a column of a variant in the table.
const NAME_MAX: usize = 18;
const NAME_MIN: usize = 8;
const COLUMN_MAX: usize = 14;
const COLUMN_MIN: usize = 8;
/// Widest column of metrics in the table, and its heading.
const KEY_MAX: usize = 28;
const TABLE_HEAD: &str = "For information";

/// Said where the figures beside each other seem to disagree.
const RATIO: &str = "A ratio is the median over all pairs of one run of each variant. It differs \
    from the ratio of the two medians where runs vary much.";

/// A line of a deciding metric, before it is known how wide its columns are.
struct Line<'a> {
    name: String,
    median: String,
    range: String,
    ratio: String,
    verdict: Option<&'a Judgement>,
    word: String,
}

fn line<'a>(summary: &Summary, row: &Row, index: usize, cell: &'a Cell) -> Line<'a> {
    let number = |value| words::number(value, row.digits);
    let variant = summary.variants.get(index);
    let against = cell.against.as_ref();
    let ratio = against.map_or(String::new(), |against| {
        let (size, interval) = words::comparison(against, row);
        interval.map_or(size.clone(), |interval| format!("{size} ({interval})"))
    });
    let verdict = against.and_then(|against| against.judgement.as_ref());
    let word = match verdict {
        Some(verdict) => verdict.short(),
        None if variant.is_some_and(|variant| variant.is_baseline) => "baseline",
        None => "",
    };
    Line {
        name: variant.map_or(String::new(), |variant| printable(&variant.name)),
        median: cell.spread.map_or("-".into(), |spread| number(spread.median)),
        range: cell.spread.map_or(String::new(), |spread| {
            format!("[{}..{}]", number(spread.min), number(spread.max))
        }),
        ratio,
        verdict,
        word: word.to_owned(),
    }
}

fn painted(paint: Paint, verdict: Option<&Judgement>, text: &str) -> String {
    match verdict {
        Some(Judgement::Better) => paint.good(text),
        Some(Judgement::Worse) => paint.bad(text),
        Some(Judgement::Different | Judgement::Same) => text.to_owned(),
        _ => paint.dim(text),
    }
}

fn push_block(out: &mut String, summary: &Summary, row: &Row, paint: Paint) {
    let parts = [row.title.as_str(), row.unit.as_str(), words::direction(row.better)];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    out.push('\n');
    let head = wrap("", &printable(&parts.join(", ")));
    out.push_str(&paint.bold(head.trim_end()));
    out.push('\n');
    let cells = row.cells.iter().enumerate();
    let lines: Vec<_> = cells.map(|(index, cell)| line(summary, row, index, cell)).collect();
    let widest = |of: fn(&Line<'_>) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let (median, range) = (widest(|l| width(&l.median)), widest(|l| width(&l.range)));
    let (ratio, word) = (widest(|l| width(&l.ratio)), widest(|l| width(&l.word)));
    let rest = 2 + 2 + median + 1 + range + 2 + ratio + 2 + word;
    let name = widest(|l| width(&l.name)).min(NAME_MAX.max(columns().saturating_sub(rest)));
    let name = name.min(columns().saturating_sub(rest).max(NAME_MIN));
    for line in &lines {
        let figures = format!(
            "  {}  {} {}  {}  ",
            left(&line.name, name),
            right(&line.median, median),
            left(&line.range, range),
            left(&line.ratio, ratio)
        );
        out.push_str(&figures);
        out.push_str(&painted(paint, line.verdict, &line.word));
        out.push('\n');
    }
}

/// The metrics that decide nothing: medians only, as many variants beside each other as fit.
fn push_table(out: &mut String, summary: &Summary, paint: Paint) {
    let rows: Vec<_> = summary.informative().collect();
    if rows.is_empty() {
        return;
    }
    let label = |row: &Row| match row.unit.as_str() {
        "" => printable(&row.key),
        // The key of most metrics ends with its unit.
        unit => {
            match row.key.to_lowercase().ends_with(&unit.to_lowercase().replace("1/s", "per_s")) {
                true => printable(&row.key),
                false => printable(&format!("{}, {unit}", row.key)),
            }
        }
    };
    let key = rows.iter().map(|row| width(&label(row))).max().unwrap_or(0);
    let key = key.clamp(width(TABLE_HEAD), KEY_MAX);
    let names = summary.variants.iter().map(|variant| width(&printable(&variant.name)));
    let column = names.max().unwrap_or(0).clamp(COLUMN_MIN, COLUMN_MAX) + 2;
    let beside = (columns().saturating_sub(key + 2) / column).max(1);
    let indices: Vec<usize> = (0..summary.variants.len()).collect();
    for part in indices.chunks(beside) {
        out.push('\n');
        let names = part.iter().filter_map(|index| summary.variants.get(*index));
        let names: String =
            names.map(|one| right(&fit(&printable(&one.name), column - 2), column)).collect();
        out.push_str(&paint.dim(&format!("{}{names}", left(TABLE_HEAD, key + 2))));
        out.push('\n');
        for row in &rows {
            out.push_str(&left(&label(row), key + 2));
            for cell in part.iter().filter_map(|index| row.cells.get(*index)) {
                let median = cell.spread.map(|spread| words::number(spread.median, row.digits));
                out.push_str(&right(&median.unwrap_or_else(|| "-".into()), column));
            }
            out.push('\n');
        }
    }
}

fn push_warnings(out: &mut String, all: &[Warning], loud: bool, paint: Paint) {
    let mut hit = all.iter().filter(|warning| warning.concern.is_loud() == loud).peekable();
    if hit.peek().is_some() {
        out.push('\n');
    }
    for warning in hit {
        let first = if loud { "WARNING: " } else { "Note: " };
        let text = wrap(first, &printable(&warning.text));
        // Each line by itself: a pager may show any of them first.
        for line in text.lines() {
            out.push_str(&if loud { paint.bad(line) } else { paint.warn(line) });
            out.push('\n');
        }
    }
}

/// The summary in at most 80 columns.
pub(crate) fn render(summary: &Summary, paint: Paint) -> String {
    let mut out = String::new();
    for sentence in &summary.verdicts {
        for line in wrap("", &printable(sentence)).lines() {
            out.push_str(&paint.bold(line));
            out.push('\n');
        }
    }
    push_warnings(&mut out, &summary.warnings, true, paint);
    for row in summary.deciding() {
        push_block(&mut out, summary, row, paint);
    }
    if summary.deciding().any(Row::ratio_surprises) {
        out.push('\n');
        out.push_str(&paint.dim(wrap("", RATIO).trim_end()));
        out.push('\n');
    }
    push_table(&mut out, summary, paint);
    if !summary.sensitivity.is_empty() {
        out.push('\n');
    }
    for sentence in &summary.sensitivity {
        out.push_str(&wrap("", &printable(sentence)));
    }
    push_warnings(&mut out, &summary.warnings, false, paint);
    trimmed(&out)
}
