//! Listings of a heading and rows, and of lines that are always the same, by `data/listings.tsv`.

mod lines;
pub(super) mod measure;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::glance::{Glance, bits};
use super::prelude::*;
use super::ps;
use crate::table::Row;
use measure::Measure;
use table::{Layout, ROWS, TABLES, usual};

pub(super) use lines::{begins_line, may_line, put_line};

/// Whether a table may begin at a line.
pub(super) fn may(line: &Glance<'_>) -> bool {
    let headed = || TABLES.iter().any(|table| line.has_bits(table.letters));
    let cut = || {
        let measured = line.any("%") || line.any("im") && line.any("KMG") || line.words_min(8);
        line.any("0123456789") && measured
    };
    line.words_min(3) && (headed() || cut() || line.awaited)
}

/// The rows of a section that another reader knows.
pub(super) fn listed(section: &str) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.section == section)
}

/// Begins at a heading, or at a row of one command alone whose heading was cut off.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0);
    let words = words(line);
    if words.len() < 3 {
        return None;
    }
    // A number or a mark before the heading would set off every row.
    let headed = words.first().filter(|first| are_names(first));
    let letters = bits(line);
    let mut tables = TABLES.iter().filter(|table| letters & table.letters == table.letters);
    let headed = headed.and_then(|_| tables.find_map(|table| table.layout(&words)));
    let layout = match headed {
        // A heading without a row may be a sentence, unless a command prints it.
        Some(layout) => {
            let row = |by: usize| layout.row(&self::words(lines.ahead(by))).is_some();
            let printed = !out.latest_command().is_empty();
            (printed || (1..=ROWS_AHEAD).any(row)).then_some(layout)?
        }
        None => of_command(&words, out.latest_command())?,
    };
    let source = layout.table.source;
    Some(lines.resume(source, Listing { layout, sums: BTreeMap::new() }, out))
}

/// The layout of a row without its heading: what was typed may tell the columns.
fn of_command(words: &[&str], command: &str) -> Option<Layout> {
    let asked = ps::asked(command).and_then(|heading| {
        let heading: Vec<&str> = heading.split(' ').collect();
        TABLES.iter().find_map(|table| table.layout(&heading))
    });
    let asked = asked.filter(|layout| {
        layout.text(words, Measure::State).is_some() && layout.row(words).is_some()
    });
    asked.or_else(|| usual(words, command))
}

/// Classes of scheduling that run before all others: sched(7).
const REAL_TIME: [&str; 3] = ["FF", "RR", "DLN"];

/// How far below a heading its first row may be: a rule, a row of units or a blank line.
const ROWS_AHEAD: usize = 3;

struct Listing {
    layout: Layout,
    /// What is reported of all rows together.
    sums: BTreeMap<(Field, Subject), f64>,
}

impl Reader for Listing {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        if words.is_empty() || elided(line) {
            return Taken::Yes;
        }
        if let Some(layout) = self.layout.table.layout(&words) {
            self.end(out);
            self.layout = layout;
            return Taken::Yes;
        }
        let rule = words.iter().all(|word| word.bytes().all(|byte| b"-=+".contains(&byte)));
        let Some((subject, values)) = self.layout.row(&words) else {
            let torn = self.layout.is_torn(&words);
            if torn {
                out.problem("a row whose cells are not those of its heading; it is left out");
            }
            return if rule || torn { Taken::Yes } else { Taken::No };
        };
        if let Some(function) = self.layout.text(&words, Measure::Wait) {
            let blocked = values.contains(&(Field::ProcBlocked, 1.0));
            ps::waits(function, &subject, blocked, out);
        }
        let class = self.layout.text(&words, Measure::Class);
        let real_time = class.is_some_and(|class| REAL_TIME.contains(&class));
        for (field, value) in values {
            if field == Field::RealTimeCpu && !real_time {
                continue;
            }
            if self.layout.sums() {
                *self.sums.entry((field, subject.clone())).or_default() += value;
            } else {
                out.put(field, &subject, None, value);
            }
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        for ((field, subject), sum) in std::mem::take(&mut self.sums) {
            out.put(field, &subject, None, sum);
        }
    }
}
