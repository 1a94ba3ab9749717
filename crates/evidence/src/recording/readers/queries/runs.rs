//! Runs of statements, whichever server logged them, and what the readers of such logs share.

use std::collections::BTreeSet;

use crate::recording::readers::prelude::*;

/// Most statements that are told apart.
const STATEMENTS_MAX: usize = 2000;

/// Longest statement that is looked at, in bytes.
const STATEMENT_BYTES_MAX: usize = 64 << 10;

/// One run of a statement. Times are in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) at: Option<Stamp>,
    pub(super) ms: Option<f64>,
    /// How long it waited for locks.
    pub(super) locks: Option<f64>,
    pub(super) examined: Option<f64>,
    pub(super) sent: Option<f64>,
}

/// Statements of a server that are told apart so far.
#[derive(Debug, Default)]
pub(super) struct Statements {
    names: BTreeSet<String>,
}

impl Statements {
    pub(super) fn put(&mut self, service: &str, name: &str, run: &Run, out: &mut Builder) {
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
pub(super) fn add_line(statement: &mut String, line: &str) {
    if statement.len() + line.len() <= STATEMENT_BYTES_MAX {
        statement.push('\n');
        statement.push_str(line);
    }
}

/// The first date and time of day among words: `2024-03-05T09:12:44.1Z`, `2024-03-05 09:12:31`.
pub(super) fn moment(text: &str) -> Option<Stamp> {
    let apart = |c: char| c.is_whitespace() || "T[]=,+Z".contains(c);
    let mut words = text.split(apart).filter(|word| !word.is_empty());
    let day = words.by_ref().find_map(date)?;
    let time = words.next().and_then(time_of_day)?;
    Some(joined(day, time))
}
