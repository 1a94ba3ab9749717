//! `vmstat` of procps: one table for the machine.

use super::prelude::*;
use super::sysstat::{Cell, cell, factor, is_elision, moment, number, of_key, words};
use crate::recording::words::LISTING_COLUMNS;
use crate::recording::{SeriesId, Span};
use crate::table::Row;
use std::sync::LazyLock;

/// kB of vmstat are 1024 bytes. `-S` changes the unit, which nothing in the listing says, but the
/// command behind the prompt may.
const KB: f64 = 1024.0;

/// Bytes of the unit that a command asks for: vmstat(8), `-S`.
fn unit(command: &str) -> f64 {
    let mut words = command.split_whitespace();
    if words.next().is_none_or(|name| name.rsplit('/').next() != Some("vmstat")) {
        return KB;
    }
    let asked = words.clone().zip(words.clone().skip(1).chain([""])).find_map(|(word, next)| {
        let (short, long) = (word.strip_prefix("-S"), word.strip_prefix("--unit="));
        let value = short.or(long)?;
        Some(if value.is_empty() { next } else { value })
    });
    match asked {
        Some("k") => 1000.0,
        Some("m") => 1e6,
        Some("M") => KB * KB,
        _ => KB,
    }
}

/// The columns with a field, and what their values are to be multiplied with.
static COLUMNS: LazyLock<Vec<(&str, Field, f64)>> = LazyLock::new(|| {
    let column = |row: &Row| {
        let [name, field, unit] = row.fields();
        (name, of_key(row, field), factor(row, unit))
    };
    LISTING_COLUMNS.iter().filter(|row| row.section == "vmstat").map(column).collect()
});

/// Where a field is in the rows.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    field: Field,
    factor: f64,
    series: Option<SeriesId>,
}

#[derive(Debug, Default)]
struct Vmstat {
    width: usize,
    /// Bytes of its unit against the usual one.
    scale: f64,
    places: Vec<Place>,
    /// Averages of the first row, which are since the machine started if another row follows.
    waiting: Option<Vec<(usize, Option<Stamp>, f64)>>,
    rows: usize,
}

/// Finds the line of groups, or the one of columns.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let columns = if is_groups(line) { lines.ahead(1) } else { line };
    if !is_columns(&words(columns)) {
        return None;
    }
    out.begin(SourceKind::Vmstat, lines.number());
    let scale = unit(out.latest_command()) / KB;
    Some(Box::new(Vmstat { scale, ..Vmstat::default() }))
}

fn is_groups(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c == '-' || c.is_whitespace());
    line.starts_with("procs") && line.contains("----") && line.to_lowercase().contains("swap")
}

fn is_columns(words: &[&str]) -> bool {
    words.starts_with(&["r", "b", "swpd"])
        && ["si", "so", "bi", "bo"].iter().all(|w| words.contains(w))
}

/// The name of a column. Those of memory are translated, and stand behind `swpd`: free, and
/// buffers and cache, or with `-a` inactive and active.
fn canonical<'a>(words: &[&'a str], word: &'a str) -> &'a str {
    let place = |wanted: &str| words.iter().position(|word| *word == wanted);
    let (Some(at), Some(swpd)) = (place(word), place("swpd")) else { return word };
    let active = words.get(swpd + 2).is_some_and(|second| second.starts_with("ina"));
    match (at.checked_sub(swpd), active) {
        (Some(1), _) => "free",
        (Some(2), false) => "buff",
        (Some(3), false) => "cache",
        (Some(2), true) => "inact",
        (Some(3), true) => "active",
        _ => word,
    }
}

impl Vmstat {
    fn columns(&mut self, words: &[&str], out: &mut Builder) {
        // What follows the columns names the time zone of `-t`.
        let known = |word: &&str| {
            matches!(*word, "w" | "swpd") || COLUMNS.iter().any(|(name, ..)| name == word)
        };
        self.width = words.iter().rposition(known).map_or(0, |last| last + 1);
        self.places = COLUMNS
            .iter()
            .filter_map(|(name, field, factor)| {
                let at = words.iter().position(|word| canonical(words, word) == *name)?;
                let series = out.series(*field, &Subject::Machine);
                // Blocks of I/O are of 1024 bytes whatever the unit: vmstat(8).
                let memory = *factor == KB && !matches!(*name, "bi" | "bo");
                let factor = if memory { factor * self.scale } else { *factor };
                Some(Place { at, field: *field, factor, series })
            })
            .collect();
    }

    fn row(&mut self, words: &[&str], out: &mut Builder) -> Taken {
        let numbers = words.iter().take(self.width).filter(|word| number(word).is_some()).count();
        if self.width == 0 || numbers < words.len().min(self.width) || words.is_empty() {
            return Taken::No;
        }
        if words.len() < self.width {
            out.problem(format!(
                "truncated: a row of {} of {} columns; it is left out",
                words.len(),
                self.width
            ));
            return Taken::Yes;
        }
        let rest = words.get(self.width..).unwrap_or_default();
        let at = rest.get(..2).and_then(|rest| moment(&rest.join(" "), false));
        if at.is_none() && rest.first().is_some_and(|word| number(word).is_some()) {
            out.problem("a row has more columns than its header; it is left out");
            return Taken::Yes;
        }
        // The first row is the mean since the machine started, but for what is counted at once.
        let first = self.rows == 0;
        self.rows += 1;
        self.waiting = first.then(Vec::new);
        for (index, place) in self.places.iter().enumerate() {
            let word = words.get(place.at).copied().unwrap_or("");
            let Cell::Number(value) = cell(word) else { continue };
            let value = value * place.factor;
            if !super::sysstat::is_sane(place.field, value) {
                out.problem(format!("{word} as {}, which cannot be", place.field.about().key));
                continue;
            }
            match (&mut self.waiting, place.field.about().span, place.series) {
                (Some(waiting), Span::Average, _) => waiting.push((index, at, value)),
                (_, _, Some(id)) => out.push(id, at, value),
                (_, _, None) => {}
            }
        }
        Taken::Yes
    }
}

impl Reader for Vmstat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() || is_elision(line) {
            return Taken::Yes;
        }
        let words = words(line);
        if is_groups(line) {
            // Another run, unless this is the first line.
            return Taken::Yes;
        }
        if is_columns(&words) {
            self.columns(&words, out);
            return Taken::Yes;
        }
        self.row(&words, out)
    }

    fn end(&mut self, out: &mut Builder) {
        // No other row follows: this one is all there is.
        for (index, at, value) in self.waiting.take().unwrap_or_default() {
            if let Some(id) = self.places.get(index).and_then(|place| place.series) {
                out.push(id, at, value);
            }
        }
    }
}
