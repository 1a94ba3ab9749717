//! The log of PostgreSQL, in text with any `log_line_prefix`, as CSV and as JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use super::runs::{Run, Statements, add_line, moment};
use crate::recording::readers::prelude::*;
use crate::recording::readers::served::POSTGRES;
use crate::recording::readers::statement::{SQL_TEXTS, plain};

/// What the server says before a message.
const LEVELS: [&str; 12] = [
    "LOG:",
    "ERROR:",
    "FATAL:",
    "PANIC:",
    "WARNING:",
    "NOTICE:",
    "INFO:",
    "DETAIL:",
    "HINT:",
    "CONTEXT:",
    "STATEMENT:",
    "QUERY:",
];

/// Most sessions that wait at a time.
const WAITERS_MAX: usize = 5000;

/// Columns of the log as CSV, since version 8: the process, the level, the message, its detail.
const CSV: [usize; 4] = [3, 11, 13, 14];

/// A message of the server. What follows it on further lines belongs to it.
#[derive(Debug, Default)]
struct Message {
    at: Option<Stamp>,
    text: String,
    detail: String,
}

/// A line of text: what the prefix is, the server's settings say; the level ends it.
fn of_text(line: &str) -> Option<Message> {
    let ends = |level: &&str| {
        let at = line.find(*level)?;
        let apart = at == 0 || line[..at].ends_with([' ', ']', ':', ',']);
        (apart && line[at + level.len()..].starts_with(' ')).then_some((at, at + level.len()))
    };
    let (at, end) = LEVELS.iter().filter_map(ends).min()?;
    let (prefix, text) = (line.get(..at)?, line.get(end..)?.trim().to_owned());
    Some(Message { at: moment(prefix), text, ..Message::default() })
}

/// A row of CSV whose texts end on its line.
fn of_csv(line: &str) -> Option<Message> {
    let at = Some(joined(date(line.get(..10)?)?, time_of_day(line.get(11..19)?)?));
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut()?.push(c),
        }
    }
    let [process, level, text, detail] = CSV.map(|at| cells.get(at).cloned());
    count(&process?)?;
    level.filter(|level| LEVELS.iter().any(|l| l.trim_end_matches(':') == level))?;
    Some(Message { at, text: text?, detail: detail.unwrap_or_default() })
}

/// An object of JSON, since version 15.
fn of_json(line: &str) -> Option<Message> {
    if !(line.starts_with('{') && line.contains("\"error_severity\"")) {
        return None;
    }
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let at = moment(&text("timestamp"));
    Some(Message { at, text: text("message"), detail: text("detail") })
}

fn message(line: &str) -> Option<Message> {
    of_json(line).or_else(|| of_csv(line)).or_else(|| of_text(line))
}

/// What a message says. Times are in milliseconds.
#[derive(Debug, PartialEq)]
enum Said<'a> {
    /// A statement took so long.
    Took(f64, &'a str),
    /// A session waits for a lock, or has it now: its process, the lock, for how long.
    Waits(u32, &'a str, f64),
    Acquired(u32, &'a str, f64),
    /// The first process that holds the lock, and how many wait.
    Holder(u32, f64),
    Checkpoints(f64),
    TemporaryFile(f64),
    Refused,
    Deadlock,
}

fn said(message: &Message) -> Option<Said<'_>> {
    let text = message.text.as_str();
    if let Some(rest) = text.strip_prefix("duration: ") {
        let (time, rest) = rest.split_once(" ms")?;
        let (_, statement) = rest.trim_start().split_once(": ")?;
        return Some(Said::Took(number(time)?, statement));
    }
    if let Some(rest) = text.strip_prefix("process ") {
        let (process, rest) = rest.split_once(' ')?;
        let (lock, time) = rest.rsplit_once(" after ")?;
        let time = number(time.strip_suffix(" ms")?)?;
        let process = process.parse().ok()?;
        let waits = lock.strip_prefix("still waiting for ");
        let waits = waits.map(|lock| Said::Waits(process, lock, time));
        return waits
            .or_else(|| Some(Said::Acquired(process, lock.strip_prefix("acquired ")?, time)));
    }
    if let Some(rest) = text.strip_prefix("checkpoints are occurring too frequently (") {
        return number(rest.split(' ').next()?).map(|seconds| Said::Checkpoints(seconds * 1e3));
    }
    if text.starts_with("temporary file: ") {
        return number(text.rsplit_once("size ")?.1.trim()).map(Said::TemporaryFile);
    }
    let refused = ["too many clients already", "remaining connection slots are reserved"];
    if refused.iter().any(|refused| text.contains(refused)) {
        return Some(Said::Refused);
    }
    (text == "deadlock detected").then_some(Said::Deadlock)
}

/// `Process holding the lock: 4127. Wait queue: 4131, 4140.`
fn holder(text: &str) -> Option<Said<'_>> {
    let (_, rest) = text.split_once("holding the lock: ")?;
    let (holders, queue) = rest.split_once(". Wait queue: ")?;
    let first = holders.split(',').next()?.trim().parse().ok()?;
    let waiting = queue.split(',').filter(|id| count(id.trim().trim_end_matches('.')).is_some());
    Some(Said::Holder(first, waiting.count() as f64))
}

/// A lock without its numbers: `ShareLock on transaction 88121`.
fn kind_of_lock(lock: &str) -> String {
    let words = lock.split([' ', ';']).filter(|word| {
        let word = word.trim_matches(|c: char| "(),".contains(c));
        !word.is_empty()
            && !word.bytes().all(|byte| byte.is_ascii_digit() || b",()/".contains(&byte))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Begins at a message that says something of time.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let first = message(lines.ahead(0))?;
    said(&first).or_else(|| holder(&first.text))?;
    Some(lines.resume(SourceKind::QueryLog, Log::default(), out))
}

#[derive(Default)]
struct Log {
    statements: Statements,
    /// The message so far.
    open: Option<Message>,
    /// Sessions that wait, by process: since their first complaint.
    waiting: BTreeMap<u32, (Option<Stamp>, String, f64)>,
}

impl Log {
    fn message_ends(&mut self, out: &mut Builder) {
        let Some(message) = self.open.take() else { return };
        let detail = [&message.text, &message.detail].into_iter().find_map(|text| holder(text));
        for said in said(&message).into_iter().chain(detail) {
            self.put(message.at, &said, out);
        }
    }

    fn put(&mut self, at: Option<Stamp>, said: &Said<'_>, out: &mut Builder) {
        let service = Subject::Service(POSTGRES.to_owned());
        match said {
            Said::Took(ms, statement) => {
                let run = Run { at, ms: Some(*ms), ..Run::default() };
                self.statements.put(POSTGRES, &plain(statement, SQL_TEXTS), &run, out);
            }
            Said::Waits(process, lock, ms) => {
                if self.waiting.len() < WAITERS_MAX || self.waiting.contains_key(process) {
                    self.waiting.insert(*process, (at, kind_of_lock(lock), *ms));
                }
            }
            Said::Acquired(process, lock, ms) => {
                self.waiting.remove(process);
                let lock = Subject::part(POSTGRES, &kind_of_lock(lock));
                out.put(Field::LockWait, &lock, at, *ms);
            }
            Said::Holder(process, waiting) => {
                let session = Subject::part(POSTGRES, &format!("session {process}"));
                out.put(Field::SessionsBlocked, &session, at, *waiting);
            }
            Said::Checkpoints(apart) => out.put(Field::CheckpointsApart, &service, at, *apart),
            Said::TemporaryFile(bytes) => out.put(Field::TemporaryFile, &service, at, *bytes),
            Said::Refused => out.put(Field::SessionsRefused, &service, at, 1.0),
            Said::Deadlock => out.put(Field::Deadlocks, &service, at, 1.0),
        }
    }
}

impl Reader for Log {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if let Some(message) = message(line) {
            self.message_ends(out);
            self.open = Some(message);
            return Taken::Yes;
        }
        // Further lines of a statement are set in.
        let goes_on = line.starts_with(char::is_whitespace) || line.is_empty();
        match &mut self.open {
            Some(open) if goes_on => add_line(&mut open.text, line),
            _ => return Taken::No,
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.message_ends(out);
        for (at, lock, ms) in std::mem::take(&mut self.waiting).into_values() {
            out.put(Field::LockWait, &Subject::part(POSTGRES, &lock), at, ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::readers::check::{all_understood, read, values};

    fn of(text: &str, field: Field, name: &str) -> Vec<f64> {
        values(&read(text), field, &Subject::part(POSTGRES, name))
    }

    #[test]
    fn statements_in_every_form_of_the_log() {
        let name = "select pg_sleep(?)";
        for text in [
            "2025-02-03 04:05:06.789 CET [77] a@b LOG:  duration: 1500.250 ms  statement: select \
             pg_sleep(1.5)\n",
            "77 db1 LOG:  duration: 1500.250 ms  execute <unnamed>: select\n\tpg_sleep(2)\n",
            "2025-02-03 04:05:06.789 CET,\"a\",\"b\",77,\"[local]\",6,1,\"SELECT\",2025-02-03 \
             04:00:00 CET,3/4,0,LOG,00000,\"duration: 1500.250 ms  statement: select \
             pg_sleep(3)\",,,,,,,,,\"psql\"\n",
            "{\"timestamp\":\"2025-02-03 04:05:06.789 CET\",\"pid\":77,\"error_severity\":\"LOG\",\
             \"message\":\"duration: 1500.250 ms  statement: select pg_sleep(4)\"}\n",
        ] {
            all_understood(&read(text));
            assert_eq!(of(text, Field::StatementTime, name), [1500.25], "{text}");
        }
    }

    #[test]
    fn sessions_wait_for_the_one_that_has_the_lock() {
        let text = "2025-02-03 04:05:06 UTC [31] LOG:  process 31 still waiting for ExclusiveLock \
                    on tuple (3,4) of relation 16384 of database 5 after 1000.5 ms\n\
                    2025-02-03 04:05:06 UTC [31] DETAIL:  Process holding the lock: 12. Wait \
                    queue: 31, 32, 33.\n\
                    2025-02-03 04:05:09 UTC [31] LOG:  process 31 acquired ExclusiveLock on tuple \
                    (3,4) of relation 16384 of database 5 after 4000.5 ms\n\
                    2025-02-03 04:06:06 UTC [44] LOG:  process 44 still waiting for ShareLock on \
                    transaction 77 after 1000.0 ms\n\
                    2025-02-03 04:06:07 UTC [45] FATAL:  sorry, too many clients already\n\
                    2025-02-03 04:06:08 UTC [9] LOG:  checkpoints are occurring too frequently (7 \
                    seconds apart)\n\
                    2025-02-03 04:06:09 UTC [46] LOG:  temporary file: path \"a/b\", size 4096\n";
        all_understood(&read(text));
        assert_eq!(of(text, Field::SessionsBlocked, "session 12"), [3.0]);
        let tuple = "ExclusiveLock on tuple of relation of database";
        assert_eq!(of(text, Field::LockWait, tuple), [4000.5]);
        assert_eq!(of(text, Field::LockWait, "ShareLock on transaction"), [1000.0]);
        let service = Subject::Service(POSTGRES.to_owned());
        let of_service = |field| values(&read(text), field, &service);
        assert_eq!(of_service(Field::CheckpointsApart), [7000.0]);
        assert_eq!(of_service(Field::TemporaryFile), [4096.0]);
        assert_eq!(of_service(Field::SessionsRefused), [1.0]);
    }

    #[test]
    fn logs_of_others_are_none() {
        for text in ["2025-02-03 04:05:06 LOG: started\n", "ERROR: duration: long\n"] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
