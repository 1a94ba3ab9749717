//! The log of PostgreSQL: what its [messages](super::message) say.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::event::{Event, Minute, QueryReader, Statements};
use super::message::{Level, Lexer, LogLine, Message};
use crate::recording::readers::prelude::*;
use crate::recording::readers::served::POSTGRES;
use crate::recording::readers::statement::{SQL_TEXTS, plain};
use crate::recording::readers::statements;
use crate::table::{Row, table};

/// Most sessions of which something is remembered at a time.
const SESSIONS_MAX: usize = 5000;

/// A kind of error: its name, its SQLSTATE, and how its messages begin and continue.
struct Condition {
    name: &'static str,
    state: &'static str,
    begins: &'static str,
    has: &'static str,
}

fn condition(row: &Row) -> Condition {
    let [name, state, message] = row.fields.as_slice() else {
        row.refuse("a name, a SQLSTATE and a message are wanted")
    };
    let (begins, has) = message.split_once('*').unwrap_or((message, ""));
    Condition { name, state, begins, has }
}

static CONDITIONS: LazyLock<Vec<Condition>> =
    LazyLock::new(|| table!("postgres_errors.tsv").rows().iter().map(condition).collect());

/// What an error is called: never its own words, which may have values of rows.
fn error(message: &Message) -> &'static str {
    let said = |known: &&Condition| {
        message.text.starts_with(known.begins) && message.text.contains(known.has)
    };
    let by_state = |known: &&Condition| message.state == known.state;
    let known = CONDITIONS.iter().find(said).or_else(|| CONDITIONS.iter().find(by_state));
    let other = match message.level {
        Level::Fatal => "fatal error",
        Level::Panic => "panic",
        _ => "error",
    };
    known.map_or(other, |known| known.name)
}

/// What a message says. Times are in milliseconds.
#[derive(Debug, PartialEq)]
enum LogEntry<'a> {
    /// A statement took so long; so long to be parsed and planned.
    Took(f64, &'a str),
    Planned(f64, &'a str),
    /// A statement begins; the one that the session began took so long.
    Starts(&'a str),
    Ends(f64),
    /// A session waits for a lock, or no longer: its process, the lock, for how long.
    Waits(u32, &'a str, f64),
    Waited(u32, &'a str, f64),
    /// Checkpoints follow each other so soon.
    Checkpoints(f64),
    /// One begins, by the clock or not; one took so long, and to write to the disk.
    CheckpointStarts(bool),
    Checkpoint(f64, Option<f64>),
    TemporaryFile(f64),
    Connected,
    /// Autovacuum or autoanalyze of a table: how long, and dead rows that it had to leave.
    Vacuum(&'a str, Option<f64>, Option<f64>),
}

/// The number between two texts.
fn between(text: &str, before: &str, behind: &str) -> Option<f64> {
    let rest = text.split_once(before)?.1;
    let (value, _) = if behind.is_empty() { (rest, "") } else { rest.split_once(behind)? };
    number(value.trim())
}

/// `duration: 5.1 ms  statement: select ...`, of several kinds.
fn duration(text: &str) -> Option<LogEntry<'_>> {
    let (time, rest) = text.split_once(" ms")?;
    let ms = number(time)?;
    let rest = rest.trim_start();
    if rest.is_empty() {
        return Some(LogEntry::Ends(ms));
    }
    let (kind, statement) = rest.split_once(':')?;
    let statement = statement.trim();
    Some(match kind.split(' ').next()? {
        "parse" | "bind" => LogEntry::Planned(ms, statement),
        // Of auto_explain: the plan follows it.
        "plan" => LogEntry::Took(ms, statement.strip_prefix("Query Text: ")?.split("\n\t").next()?),
        _ => LogEntry::Took(ms, statement),
    })
}

/// `process 77 still waiting for ShareLock on transaction 5 after 1000.1 ms`.
fn lock(text: &str) -> Option<LogEntry<'_>> {
    let (process, rest) = text.split_once(' ')?;
    let process = process.parse().ok()?;
    let (said, time) = rest.rsplit_once(" after ")?;
    let ms = number(time.split_once(" ms")?.0)?;
    let waits = said.starts_with("still waiting for ");
    let named = said.split(' ').find(|word| word.ends_with("Lock"))?;
    let lock = said.get(said.find(named)?..)?;
    Some(if waits {
        LogEntry::Waits(process, lock, ms)
    } else {
        LogEntry::Waited(process, lock, ms)
    })
}

/// `automatic vacuum of table "a.b.c": index scans: 0 ...`, over several lines.
fn vacuum(text: &str) -> Option<LogEntry<'_>> {
    const KINDS: [&str; 2] = ["vacuum ", "analyze "];
    KINDS.iter().find(|kind| {
        text.split_once(" of table").is_some_and(|(k, _)| k.contains(kind.trim_end()))
    })?;
    let (_, rest) = text.split_once('"')?;
    let (table, rest) = rest.split_once('"')?;
    let elapsed = between(rest, "elapsed: ", " s").or_else(|| between(rest, "elapsed ", " sec"));
    Some(LogEntry::Vacuum(table, elapsed.map(|s| s * 1e3), dead(rest)))
}

/// `tuples: 5 removed, 60 remain, 7 are dead but not yet removable`.
fn dead(text: &str) -> Option<f64> {
    let (before, _) = text.split_once(" are dead but not yet removable")?;
    number(before.rsplit(' ').next()?)
}

fn said(message: &Message) -> Option<LogEntry<'_>> {
    let text = message.text.as_str();
    let after = |begins: &str| text.strip_prefix(begins);
    if let Some(rest) = after("duration: ") {
        return duration(rest);
    }
    if let Some(statement) = after("statement: ") {
        return Some(LogEntry::Starts(statement));
    }
    if let Some((_, statement)) = after("execute ").and_then(|rest| rest.split_once(": ")) {
        return Some(LogEntry::Starts(statement));
    }
    if let Some(rest) = after("process ") {
        return lock(rest);
    }
    if let Some(rest) = after("automatic ") {
        return vacuum(rest);
    }
    if let Some(rest) = after("checkpoints are occurring too frequently (") {
        return number(rest.split(' ').next()?).map(|seconds| LogEntry::Checkpoints(seconds * 1e3));
    }
    if let Some(rest) = after("checkpoint starting: ") {
        return Some(LogEntry::CheckpointStarts(rest.trim() == "time"));
    }
    if let Some(rest) = after("checkpoint complete: ") {
        let sync = between(rest, "sync=", " s").map(|s| s * 1e3);
        return between(rest, "total=", " s").map(|s| LogEntry::Checkpoint(s * 1e3, sync));
    }
    if after("temporary file: ").is_some() {
        return number(text.rsplit_once("size ")?.1.trim()).map(LogEntry::TemporaryFile);
    }
    after("connection authorized: ").map(|_| LogEntry::Connected)
}

/// `Process holding the lock: 4127. Wait queue: 4131, 4140.`: the first that holds it, and how many
/// wait.
fn holder(text: &str) -> Option<(u32, f64)> {
    let (_, rest) = text.split_once("holding the lock: ")?;
    let (holders, queue) = rest.split_once(". Wait queue: ")?;
    let first = holders.split(',').next()?.trim().parse().ok()?;
    let waiting = queue.split(',').filter(|id| count(id.trim().trim_end_matches('.')).is_some());
    Some((first, waiting.count() as f64))
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

/// Begins at a message, where it is written as no other program's or says what no other says.
pub(super) fn opens(lines: &Lines<'_>) -> Option<Log> {
    let mut lexer = Lexer::default();
    let opens = match lexer.take(lines.ahead(0))? {
        LogLine::Message(message) => {
            let headed = message.level == Level::Log || message.at.is_some();
            said(&message).is_some() || lexer.is_sure() && headed
        }
        LogLine::Part(Level::Detail, text) => holder(&text).is_some(),
        LogLine::Part(..) | LogLine::More(_) => false,
        LogLine::Nothing => true,
    };
    opens.then(Log::default)
}

#[derive(Default)]
pub(super) struct Log {
    lexer: Lexer,
    statements: Statements,
    /// The message so far.
    open: Option<Message>,
    /// Sessions that wait, by process: since their first complaint.
    waiting: BTreeMap<u32, (Option<Stamp>, String, f64)>,
    /// Statements that began, by process: of some logs the time stands in a message of its own.
    begun: BTreeMap<u32, Event>,
    connected: Minute,
    /// Checkpoints so far, by the clock and not.
    checkpoints: [u32; 2],
}

/// What of a map of sessions has room.
fn has_room<V>(sessions: &BTreeMap<u32, V>, process: u32) -> bool {
    sessions.len() < SESSIONS_MAX || sessions.contains_key(&process)
}

fn server() -> Subject {
    Subject::Service(POSTGRES.to_owned())
}

impl Log {
    fn message_ends(&mut self, out: &mut Builder) {
        let Some(message) = self.open.take() else { return };
        let at = message.at;
        if matches!(message.level, Level::Error | Level::Fatal | Level::Panic) {
            let name = error(&message);
            let fingerprint = plain(&message.statement, SQL_TEXTS);
            let failed = Some(name.to_owned());
            let utc = message.utc;
            let event = Event { at, utc, failed, fingerprint, ..Event::default() };
            self.statements.put(POSTGRES, &event, out);
            if name == "deadlock_detected" {
                out.put(Field::Deadlocks, &server(), at, 1.0);
            }
        }
        let detail = holder(&message.detail);
        match said(&message) {
            Some(said) => self.put(&message, &said, out),
            // What other readers know of it.
            None if detail.is_none() => statements::put(&format!("LOG:  {}", message.text), out),
            None => {}
        }
        if let Some((process, waiting)) = detail {
            let session = Subject::part(POSTGRES, &format!("session {process}"));
            out.put(Field::SessionsBlocked, &session, at, waiting);
        }
    }

    /// Puts what a session began, without a time if none followed.
    fn begun_ends(&mut self, process: u32, ms: Option<f64>, out: &mut Builder) {
        if let Some(event) = self.begun.remove(&process) {
            self.statements.put(POSTGRES, &Event { ms, ..event }, out);
        }
    }

    fn put(&mut self, message: &Message, said: &LogEntry<'_>, out: &mut Builder) {
        let at = message.at;
        let event = |statement: &str, ms: Option<f64>| {
            let fingerprint = plain(statement, SQL_TEXTS);
            Event { at, utc: message.utc, ms, fingerprint, ..Event::default() }
        };
        match said {
            LogEntry::Took(ms, statement) => {
                self.statements.put(POSTGRES, &event(statement, Some(*ms)), out);
            }
            LogEntry::Planned(ms, statement) => {
                let fingerprint = plain(statement, SQL_TEXTS);
                let value = (Field::StatementPlan, at, *ms);
                self.statements.put_of((POSTGRES, &fingerprint), value, out);
            }
            LogEntry::Starts(statement) => {
                let event = event(statement, None);
                match message.process.filter(|process| has_room(&self.begun, *process)) {
                    Some(process) => {
                        self.begun_ends(process, None, out);
                        self.begun.insert(process, event);
                    }
                    None => self.statements.put(POSTGRES, &event, out),
                }
            }
            LogEntry::Ends(ms) => {
                if let Some(process) = message.process {
                    self.begun_ends(process, Some(*ms), out);
                }
            }
            LogEntry::TemporaryFile(bytes) if !message.statement.is_empty() => {
                let temporary = Some(*bytes);
                let event = Event { temporary, ..event(&message.statement, None) };
                self.statements.put(POSTGRES, &event, out);
            }
            LogEntry::TemporaryFile(bytes) => out.put(Field::TemporaryFile, &server(), at, *bytes),
            LogEntry::Waits(process, lock, ms) => {
                if has_room(&self.waiting, *process) {
                    self.waiting.insert(*process, (at, kind_of_lock(lock), *ms));
                }
            }
            LogEntry::Waited(process, lock, ms) => {
                self.waiting.remove(process);
                let lock = Subject::part(POSTGRES, &kind_of_lock(lock));
                out.put(Field::LockWait, &lock, at, *ms);
            }
            LogEntry::Connected => self.connected.count((Field::ConnOpened, &server()), at, out),
            LogEntry::Vacuum(table, ms, dead) => {
                let table = Subject::part(POSTGRES, &format!("table {table}"));
                out.put_known(Field::AutovacuumTime, &table, at, *ms);
                out.put_known(Field::AutovacuumDead, &table, at, *dead);
            }
            LogEntry::Checkpoints(..)
            | LogEntry::CheckpointStarts(..)
            | LogEntry::Checkpoint(..) => {
                self.checkpoint(at, said, out);
            }
        }
    }

    fn checkpoint(&mut self, at: Option<Stamp>, said: &LogEntry<'_>, out: &mut Builder) {
        match said {
            LogEntry::Checkpoints(apart) => out.put(Field::CheckpointsApart, &server(), at, *apart),
            LogEntry::CheckpointStarts(by_clock) => {
                let [timed, requested] = &mut self.checkpoints;
                let count = if *by_clock { timed } else { requested };
                *count = count.saturating_add(1);
            }
            LogEntry::Checkpoint(ms, sync) => {
                out.put(Field::CheckpointTime, &server(), at, *ms);
                out.put_known(Field::CheckpointSync, &server(), at, *sync);
            }
            _ => {}
        }
    }
}

impl QueryReader for Log {
    fn name(&self) -> (&'static str, &'static str) {
        (POSTGRES, "PostgreSQL log")
    }

    fn statements(&mut self) -> &mut Statements {
        &mut self.statements
    }
}

impl Reader for Log {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if self.lexer.ends(line) {
            self.message_ends(out);
            return Taken::Yes;
        }
        match self.lexer.take(line) {
            None => return Taken::No,
            Some(LogLine::Message(message)) => {
                self.message_ends(out);
                self.open = Some(message);
            }
            Some(LogLine::Part(level, text)) => {
                self.open.get_or_insert_default().add_part(level, &text);
            }
            Some(LogLine::More(text)) => match &mut self.open {
                Some(open) => open.add_line(&text),
                None => return Taken::No,
            },
            Some(LogLine::Nothing) => {}
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.message_ends(out);
        for (at, lock, ms) in std::mem::take(&mut self.waiting).into_values() {
            out.put(Field::LockWait, &Subject::part(POSTGRES, &lock), at, ms);
        }
        for event in std::mem::take(&mut self.begun).into_values() {
            self.statements.put(POSTGRES, &event, out);
        }
        self.connected.put((Field::ConnOpened, &server()), out);
        let fields = [Field::CheckpointsTimed, Field::CheckpointsRequested];
        for (field, count) in fields.into_iter().zip(std::mem::take(&mut self.checkpoints)) {
            if count > 0 {
                out.put(field, &server(), None, f64::from(count));
            }
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
        assert_eq!(of_service(Field::ConnRefused), [1.0]);
    }

    #[test]
    fn a_listing_below_is_none_of_it() {
        let text = "2025-02-03 04:05:06 UTC [31] LOG:  duration: 9000.5 ms  statement: select\n\
                    \tfrom t\n\n              total        used        free\nMem:       24684092 \
                         912700    23281700\n";
        let recording = read(text);
        all_understood(&recording);
        let of = |field| values(&recording, field, &Subject::Machine);
        assert_eq!(of(Field::MemTotal).len(), 1);
    }

    #[test]
    fn logs_of_others_are_none() {
        for text in ["2025-02-03 04:05:06 LOG: started\n", "ERROR: duration: long\n"] {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
