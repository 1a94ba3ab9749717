//! Tables for a text.

use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_experiment::summary::{Cell, Row, Summary, words};
use std::fmt::Write;

/// Text that Markdown takes for text: names and errors come from files.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '`' | '[' | ']' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            // Within a word an underscore is one.
            other => out.push(other),
        }
    }
    out
}

/// `612 [598..640] (1.84 x, worse)`.
fn figure(row: &Row, cell: &Cell) -> String {
    let Some(spread) = &cell.spread else { return "-".into() };
    let number = |value| words::number(value, row.digits);
    let (median, min, max) = (number(spread.median), number(spread.min), number(spread.max));
    let mut text = format!("{median} \\[{min}..{max}\\]");
    let Some(against) = &cell.against else { return text };
    let ratio = against.ratio.as_ref().map(words::ratio);
    let verdict = against.judgement.as_ref().map(|verdict| verdict.short().to_owned());
    let parts: Vec<_> = ratio.into_iter().chain(verdict).collect();
    if !parts.is_empty() {
        let _ = write!(text, " ({})", parts.join(", "));
    }
    text
}

fn push_table(out: &mut String, summary: &Summary, head: &str, rows: &[&Row]) {
    let name = |variant: &hugewise_experiment::summary::Compared| match variant.is_baseline {
        true => format!(" {} (baseline) |", safe(&variant.name)),
        false => format!(" {} |", safe(&variant.name)),
    };
    let names: String = summary.variants.iter().map(name).collect();
    let _ = writeln!(out, "| {head} |{names}\n|---|{}", "---:|".repeat(summary.variants.len()));
    for row in rows {
        let parts = [row.unit.as_str(), words::direction(row.better)];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).map(safe).collect();
        let parts =
            if parts.is_empty() { String::new() } else { format!(", {}", parts.join(", ")) };
        let cells: String =
            row.cells.iter().map(|cell| format!(" {} |", figure(row, cell))).collect();
        let _ = writeln!(out, "| {}{parts} |{cells}", safe(&row.title));
    }
    out.push('\n');
}

/// The summary as Markdown: verdict, warnings, tables with a row a metric and a column a variant.
pub(crate) fn markdown(summary: &Summary) -> String {
    let mut out = format!("## {}\n\n", safe(&summary.name));
    let _ = writeln!(out, "{}\n", safe(&summary.question));
    for sentence in &summary.verdicts {
        let _ = writeln!(out, "**{}**\n", safe(sentence));
    }
    for warning in &summary.warnings {
        let word = if warning.concern.is_loud() { "**Warning:** " } else { "" };
        let _ = writeln!(out, "> {word}{}\n", safe(&warning.text));
    }
    let deciding: Vec<_> = summary.deciding().collect();
    if !deciding.is_empty() {
        push_table(&mut out, summary, "What decides", &deciding);
    }
    let rest: Vec<_> = summary.informative().collect();
    if !rest.is_empty() {
        push_table(&mut out, summary, "For information", &rest);
    }
    let runs = summary.runs;
    let _ = writeln!(
        out,
        "Medians of the runs \\[smallest..largest\\] (ratio to the baseline). {}, in random \
         order, counted; the sentences below have the intervals.\n",
        counted(runs.done, "run", "runs")
    );
    for sentence in summary.found.iter().chain(&summary.sensitivity) {
        let _ = writeln!(out, "- {}", safe(sentence));
    }
    out
}
