//! What databases log about slow statements: of [`mysql`], [`postgres`] and [`mongo`]. Statements
//! are told without their literals.

mod mongo;
mod mysql;
mod postgres;

use std::collections::BTreeSet;

use super::glance::Glance;
use super::prelude::*;

/// Most statements that are told apart.
const STATEMENTS_MAX: usize = 2000;

/// Longest statement that is looked at, in bytes.
const STATEMENT_BYTES_MAX: usize = 64 << 10;

/// Whether such a log may begin at a line.
pub(super) fn may(line: &Glance<'_>) -> bool {
    let slow = line.begins("#") && line.any(":") || line.has(",Version:started");
    let postgres = line.any(":") && (line.has("LOG:") || line.has("FATL:") || line.has("ERO:"));
    slow || postgres || line.has("Slowquery") || line.has("planSumry:")
}

/// Such a log begins here.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let forms = [mysql::begins, postgres::begins, mongo::begins];
    forms.iter().find_map(|begins| begins(lines, out))
}

/// One run of a statement. Times are in milliseconds.
#[derive(Debug, Default)]
struct Run {
    at: Option<Stamp>,
    ms: Option<f64>,
    /// How long it waited for locks.
    locks: Option<f64>,
    examined: Option<f64>,
    sent: Option<f64>,
}

/// Statements of a server that are told apart so far.
#[derive(Debug, Default)]
struct Statements {
    names: BTreeSet<String>,
}

impl Statements {
    fn put(&mut self, service: &str, name: &str, run: &Run, out: &mut Builder) {
        let room = self.names.len() < STATEMENTS_MAX || self.names.contains(name);
        let name = if room { name } else { "other statements" };
        self.names.insert(name.to_owned());
        let part = Subject::part(service, name);
        for (field, value) in [
            (Field::StatementTime, run.ms),
            (Field::StatementLocks, run.locks),
            (Field::StatementExamined, run.examined),
            (Field::StatementSent, run.sent),
        ] {
            out.put_known(field, &part, run.at, value);
        }
    }
}

/// Adds a line to a statement that goes on.
fn add_line(statement: &mut String, line: &str) {
    if statement.len() + line.len() <= STATEMENT_BYTES_MAX {
        statement.push('\n');
        statement.push_str(line);
    }
}

/// The first date and time of day among words: `2024-03-05T09:12:44.1Z`, `2024-03-05 09:12:31`.
fn moment(text: &str) -> Option<Stamp> {
    let apart = |c: char| c.is_whitespace() || "T[]=,+Z".contains(c);
    let mut words = text.split(apart).filter(|word| !word.is_empty());
    let day = words.by_ref().find_map(date)?;
    let time = words.next().and_then(time_of_day)?;
    Some(joined(day, time))
}
