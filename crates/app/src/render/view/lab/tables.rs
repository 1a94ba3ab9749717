//! The page's tables.

use super::frame::class;
use crate::render::html::{TABLE_END, begin_table, head, push_pairs, row};
use hugewise_base::escape::markup as escape;
use hugewise_experiment::compare::Judgement;
use hugewise_experiment::record::Record;
use hugewise_experiment::summary::{Cell, Row, Summary, words};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Column heads: the variants in their colours.
fn variant_heads(summary: &Summary) -> String {
    let head = |(index, variant): (usize, &hugewise_experiment::summary::Compared)| {
        let (class, name) = (class(index), escape(&variant.name));
        format!("<th scope=\"col\"><span class=\"dot mine {class}\"></span>{name}</th>")
    };
    summary.variants.iter().enumerate().map(head).collect()
}

fn badge(verdict: &Judgement) -> String {
    let class = match verdict {
        Judgement::Better => "better",
        Judgement::Worse => "worse",
        Judgement::Different | Judgement::Same => "plain",
        _ => "open",
    };
    format!("<span class=\"badge {class}\">{}</span>", verdict.short())
}

/// On one line, however narrow its column.
fn whole(text: &str) -> String {
    format!("<span class=\"whole\">{text}</span>")
}

fn figure_cell(summary: &Summary, row: &Row, index: usize, cell: &Cell) -> String {
    let Some(spread) = &cell.spread else { return "<td>-</td>".into() };
    let number = |value| escape(&words::number(value, row.digits));
    let mut text = format!(
        "<strong>{}</strong><small>{} to {}</small>",
        number(spread.median),
        number(spread.min),
        number(spread.max)
    );
    if summary.variants.get(index).is_some_and(|variant| variant.is_baseline) {
        text.push_str("<small>baseline</small>");
    }
    if let Some(against) = &cell.against {
        let (size, interval) = words::comparison(against, row);
        let interval =
            interval.map_or(String::new(), |text| format!(" {}", whole(&format!("({text})"))));
        if !size.is_empty() {
            let _ = write!(text, "<small>{}{interval}</small>", whole(&escape(&size)));
        }
        if let Some(verdict) = &against.judgement {
            let p = |p| format!(" {}", whole(&format!("p {}", words::probability(p))));
            let p = against.p.map_or(String::new(), p);
            let _ = write!(text, "<small>{}{p}</small>", badge(verdict));
        }
        if let Some(q) = against.q.filter(|q| *q <= summary.error_rate) {
            let _ = write!(text, "<small>q {}</small>", words::probability(q));
        }
    }
    if !cell.outliers.is_empty() {
        let runs: Vec<_> = cell.outliers.iter().map(|at| (at + 1).to_string()).collect();
        let _ = write!(text, "<small>outlier: repetition {}</small>", runs.join(", "));
    }
    format!("<td>{text}</td>")
}

fn push_row(out: &mut String, summary: &Summary, row: &Row) {
    let parts = [row.unit.as_str(), words::direction(row.better)];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let class = if row.decides { "decides" } else { "shown" };
    let _ = write!(
        out,
        "<tr class=\"{class}\"><th scope=\"row\">{}<small>{}</small></th>",
        escape(&row.title),
        escape(&parts.join(", "))
    );
    for (index, cell) in row.cells.iter().enumerate() {
        out.push_str(&figure_cell(summary, row, index, cell));
    }
    out.push_str("</tr>\n");
}

/// A table of metrics, a column a variant.
fn push_rows<'a>(out: &mut String, summary: &Summary, rows: impl Iterator<Item = &'a Row>) {
    begin_table(out, "Figures", Some("figures"), &format!("<th></th>{}", variant_heads(summary)));
    rows.for_each(|row| push_row(out, summary, row));
    out.push_str(TABLE_END);
}

/// The metrics that decide nothing.
pub(super) fn push_informative(out: &mut String, summary: &Summary) {
    if summary.informative().next().is_some() {
        out.push_str("<details>\n<summary>Figures for information</summary>\n");
        push_rows(out, summary, summary.informative());
        out.push_str("</details>\n");
    }
}

/// The metrics that decide.
pub(super) fn push_figures(out: &mut String, summary: &Summary) {
    if !summary.deciding().any(Row::is_measured) {
        return;
    }
    let percent = summary.error_rate * 100.0;
    let _ = writeln!(
        out,
        "<h2>Figures</h2>\n<p>Median of the runs, smallest to largest; the ratio to the baseline \
         and its interval. What decides has an error rate of {percent:.0} % over all comparisons \
         together, everything else of {percent:.0} % for each comparison by itself. With a q \
         stands what still differs when a share of {percent:.0} % of such differences may be \
         chance.</p>"
    );
    push_rows(out, summary, summary.deciding());
}

/// What was compared: first what differs, then what was the same.
pub(super) fn push_variants(out: &mut String, summary: &Summary) {
    out.push_str("<h2>Variants</h2>\n");
    begin_table(out, "Variants", Some("settings"), &format!("<th></th>{}", variant_heads(summary)));
    let mut push = |name: &str, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        out.push_str(&row("", &escape(name), &cells));
    };
    let each = |of: fn(&hugewise_experiment::summary::Compared) -> String| {
        summary.variants.iter().map(of).collect::<Vec<_>>()
    };
    if summary.variants.iter().any(|variant| !variant.about.is_empty()) {
        push("What it is", each(|variant| variant.about.clone()));
    }
    push("Runs that count", each(|variant| variant.done.to_string()));
    if summary.runs.failed > 0 {
        push("Runs that failed", each(|variant| variant.failed.to_string()));
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
    for setting in summary.settings.iter().filter(|setting| setting.differs) {
        push(&setting.name, setting.values.iter().map(text).collect());
    }
    out.push_str(TABLE_END);
    let same: Vec<_> = summary.settings.iter().filter(|setting| !setting.differs).collect();
    if same.is_empty() {
        return;
    }
    out.push_str("<details>\n<summary>Settings that were the same for all</summary>\n");
    let first = |values: &[Option<String>]| values.first().map_or("-".into(), text);
    let same: Vec<_> = same.iter().map(|one| (one.name.as_str(), first(&one.values))).collect();
    push_pairs(out, same.iter().map(|(name, value)| (*name, value.as_str())));
    out.push_str("</details>\n");
}

/// Leaves of a JSON value with the way to them.
fn leaves(path: &str, value: &serde_json::Value, all: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}: {key}") };
    match value {
        serde_json::Value::Object(map) => {
            map.iter().for_each(|(key, value)| leaves(&below(key), value, all));
        }
        serde_json::Value::Array(list) if list.iter().all(|one| !one.is_object()) => {
            let texts: Vec<_> = list.iter().map(plain).collect();
            all.push((path.to_owned(), texts.join(", ")));
        }
        serde_json::Value::Array(list) => {
            let numbered = list.iter().enumerate();
            numbered.for_each(|(at, value)| leaves(&below(&(at + 1).to_string()), value, all));
        }
        value => all.push((path.to_owned(), plain(value))),
    }
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "unknown".into(),
        other => other.to_string(),
    }
}

/// The machine.
pub(super) fn push_environment(out: &mut String, summary: &Summary) {
    let mut all = vec![
        ("workload".to_owned(), summary.workload.clone()),
        ("began".into(), summary.began.clone().unwrap_or_else(|| "unknown".into())),
    ];
    leaves("", &summary.environment, &mut all);
    out.push_str("<h2>Machine</h2>\n");
    let named = all.iter().filter(|(name, _)| !name.is_empty());
    push_pairs(out, named.map(|(name, value)| (name.as_str(), value.as_str())));
}

/// A run's remarks: why it failed, why it was noisy, and its notes.
fn remarks(record: &Record) -> String {
    let mut all = Vec::new();
    all.extend(record.outcome.problem().map(|problem| format!("failed: {problem}")));
    all.extend(record.conditions.noisy.iter().cloned());
    if record.conditions.settled_s.is_none() {
        all.push("did not come to rest before".into());
    }
    all.extend(record.measured.notes.iter().cloned());
    all.join("; ")
}

/// Every value of every run.
pub(super) fn push_raw(out: &mut String, summary: &Summary, records: &[Record]) {
    if records.is_empty() {
        return;
    }
    let known = |key: &&String| summary.rows.iter().all(|row| row.key != **key);
    let more: BTreeSet<&String> =
        records.iter().flat_map(|record| record.measured.values.keys()).filter(known).collect();
    let keys: Vec<&String> = summary.rows.iter().map(|row| &row.key).chain(more).collect();
    out.push_str("<h2>Raw values</h2>\n<details>\n<summary>Every run</summary>\n");
    let fixed = ["Run", "Variant", "Repetition", "Began", "Took, s", "Others, %", "Stolen, %"];
    let mut heads: String = fixed.iter().map(|text| head(text)).collect();
    heads.extend(keys.iter().map(|key| head(key)));
    heads.push_str(&head("Remarks"));
    begin_table(out, "Raw values", Some("raw"), &heads);
    for (run, record) in records.iter().enumerate() {
        let percent = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.1}"));
        let class = match (record.is_done(), record.conditions.noisy.is_empty()) {
            (false, _) => "failed",
            (true, false) => "noisy",
            (true, true) => "done",
        };
        let mut cells = vec![
            record.variant.clone(),
            (record.repetition + 1).to_string(),
            record.began.clone().unwrap_or_else(|| "-".into()),
            format!("{:.1}", record.seconds),
            percent(record.conditions.busy_percent),
            percent(record.conditions.steal_percent),
        ];
        let value = |key: &&String| match record.measured.values.get(*key) {
            Some(value) => format!("{value}"),
            None => "-".into(),
        };
        cells.extend(keys.iter().map(value));
        cells.push(remarks(record));
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        out.push_str(&row(class, &(run + 1).to_string(), &cells));
    }
    out.push_str(TABLE_END);
    out.push_str("</details>\n");
}
