//! A statement event, whichever server logged it, and what the readers of such logs share.

use std::collections::BTreeSet;

use crate::recording::readers::prelude::*;

/// Most statements that are distinguished.
const STATEMENTS_MAX: usize = 2000;

/// Longest statement that is looked at, in bytes.
const STATEMENT_BYTES_MAX: usize = 64 << 10;

/// One run of a statement, as a server's log has it. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) at: Option<Stamp>,
    /// Whether that is UTC; else it is the server's local time.
    pub(crate) utc: bool,
    pub(crate) ms: Option<f64>,
    /// How long it waited for locks.
    pub(crate) locks: Option<f64>,
    pub(crate) examined: Option<f64>,
    pub(crate) sent: Option<f64>,
    /// Bytes of its temporary tables or files on disk.
    pub(crate) temporary: Option<f64>,
    /// The statement without its literals; empty where the log does not say it.
    pub(crate) fingerprint: String,
    /// The kind of error with which it, or its session, ended.
    pub(crate) failed: Option<String>,
}

/// Statements of a server that are distinguished so far.
#[derive(Debug, Default)]
pub(super) struct Statements {
    names: BTreeSet<String>,
    /// Where somebody wants the events themselves: those since they were last taken.
    pub(super) events: Option<Vec<Event>>,
}

impl Statements {
    /// The part of the server that a statement is.
    fn part(&mut self, service: &str, fingerprint: &str) -> Subject {
        let known = self.names.contains(fingerprint);
        let room = known || self.names.len() < STATEMENTS_MAX;
        if room && !known {
            self.names.insert(fingerprint.to_owned());
        }
        Subject::part(service, if room { fingerprint } else { "other statements" })
    }

    pub(super) fn put(&mut self, service: &str, event: &Event, out: &mut Builder) {
        if let Some(events) = &mut self.events {
            return events.push(event.clone());
        }
        let failed = event.failed.as_deref();
        if let Some(name) = failed {
            out.put(Field::ServerErrors, &Subject::part(service, name), event.at, 1.0);
        }
        if event.fingerprint.is_empty() && failed.is_some() {
            return;
        }
        let named = Some(event.fingerprint.as_str()).filter(|name| !name.is_empty());
        let part = self.part(service, named.unwrap_or("no statement"));
        let untimed = event.ms.is_none() && event.temporary.is_none() && failed.is_none();
        for (field, value) in [
            (Field::StatementTime, event.ms),
            (Field::StatementRuns, untimed.then_some(1.0)),
            (Field::StatementLocks, event.locks),
            (Field::StatementExamined, event.examined),
            (Field::StatementSent, event.sent),
            (Field::TemporaryFile, event.temporary),
        ] {
            out.put_known(field, &part, event.at, value);
        }
    }

    /// Puts another quantity of a statement.
    pub(super) fn put_of(
        &mut self,
        (service, fingerprint): (&str, &str),
        (field, at, value): (Field, Option<Stamp>, f64),
        out: &mut Builder,
    ) {
        let part = self.part(service, fingerprint);
        out.put(field, &part, at, value);
    }
}

/// Reads the log of one server's statements.
pub(super) trait QueryReader: Reader {
    /// The server, and what its log is called.
    fn name(&self) -> (&'static str, &'static str);

    fn statements(&mut self) -> &mut Statements;
}

/// Events of a kind that are many, as one value a minute.
#[derive(Debug, Default)]
pub(super) struct Minute {
    at: Option<Stamp>,
    count: u32,
}

impl Minute {
    const SECONDS: i64 = 60;

    /// Counts one; those of the minute before are put.
    pub(super) fn count(
        &mut self,
        (field, subject): (Field, &Subject),
        at: Option<Stamp>,
        out: &mut Builder,
    ) {
        let minute = at.map(|at| Stamp(at.0 - at.0.rem_euclid(Self::SECONDS)));
        if minute != self.at {
            self.put((field, subject), out);
            self.at = minute;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Puts what was counted last.
    pub(super) fn put(&mut self, (field, subject): (Field, &Subject), out: &mut Builder) {
        let count = std::mem::take(&mut self.count);
        if count > 0 {
            out.put(field, subject, self.at, f64::from(count));
        }
    }
}

/// Adds a line to a statement that continues, as far as there is room.
pub(super) fn add_line(statement: &mut String, line: &str) {
    let room = STATEMENT_BYTES_MAX.saturating_sub(statement.len() + 1);
    if room > 0 {
        let fits = (0..=room.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
        statement.push('\n');
        statement.push_str(line.get(..fits.unwrap_or(0)).unwrap_or_default());
    }
}

/// The first date and time of day among words: `2024-03-05T09:12:44.1Z`, `2024-03-05 09:12:31`.
pub(super) fn moment(text: &str) -> Option<Stamp> {
    let apart = |c: char| c.is_ascii_whitespace() || "T[]=,+Z\"".contains(c);
    let mut words = text.split(apart).filter(|word| !word.is_empty());
    let day = words.by_ref().find_map(date)?;
    let time = words.next().and_then(|word| time_of_day(word.get(..8)?))?;
    Some(joined(day, time))
}
