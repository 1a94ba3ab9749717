//! What databases log about statements: of [`mysql`], [`postgres`], its pool [`pgbouncer`], and
//! [`mongo`]. Each run is an [`event`], with the statement without its literals.

mod event;
mod message;
mod mongo;
mod mysql;
mod pgbouncer;
mod postgres;

pub(crate) use event::Event;

use self::event::QueryReader;
use super::glance::Glance;
use super::prelude::*;

/// Whether such a log may begin at a line.
pub(super) fn may(line: &Glance<'_>) -> bool {
    let slow = line.begins("#") && line.any(":") || line.has(",Version:started");
    let failed = line.has("FATL") || line.has("ERO") || line.has("PANIC");
    let level = failed || line.has("LOG") || line.has("WARNIG") || line.has("DETAIL:");
    let postgres = level && line.any(":");
    slow || postgres || line.has("Slowquery") || line.has("planSumry:")
}

/// The log of a server's statements that begins here.
fn opens(lines: &Lines<'_>) -> Option<Box<dyn QueryReader>> {
    let boxed = mysql::opens(lines).map(|log| Box::new(log) as Box<dyn QueryReader>);
    boxed
        .or_else(|| postgres::opens(lines).map(|log| Box::new(log) as Box<dyn QueryReader>))
        .or_else(|| mongo::opens(lines).map(|log| Box::new(log) as Box<dyn QueryReader>))
}

/// Such a log begins here.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    if let Some(log) = opens(lines) {
        out.resume(SourceKind::QueryLog, lines.number());
        return Some(log);
    }
    pgbouncer::begins(lines, out)
}

/// A log of statements as its events, line by line.
pub(crate) struct QueryLog {
    log: Box<dyn QueryReader>,
    /// What else it says: nobody asks.
    rest: Builder,
    lines: usize,
}

/// Lines after which what nobody asks for is forgotten.
const REST_LINES: usize = 1024;

impl QueryLog {
    /// The log that begins in these lines.
    pub(crate) fn of(lines: &[String]) -> Option<Self> {
        let at = |at| Lines { around: lines, at, number: at + 1 };
        let mut log = (0..lines.len()).find_map(|place| opens(&at(place)))?;
        log.statements().events = Some(Vec::new());
        Some(Self { log, rest: Builder::new(), lines: 0 })
    }

    /// The server, and what its log is called.
    pub(crate) fn name(&self) -> (&'static str, &'static str) {
        self.log.name()
    }

    /// Takes a line; whether it is one of this log.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        self.lines += 1;
        if self.lines.is_multiple_of(REST_LINES) {
            self.rest = Builder::new();
        }
        self.log.take(line, &mut self.rest) == Taken::Yes
    }

    /// No more lines follow.
    pub(crate) fn end(&mut self) {
        self.log.end(&mut self.rest);
    }

    /// The runs of statements since they were last asked for.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        let events = self.log.statements().events.as_mut();
        events.map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnose::{Cause, Thresholds, diagnose};
    use crate::recording::readers::check::read;

    /// A literal that must not be shown.
    const SECRET: &str = "hunter2";

    /// Texts with the literal in each place where a server writes one.
    fn logs() -> Vec<String> {
        let head = "2031-02-03 04:05:06.789 UTC [77] a@b ";
        let literals = [
            "select * from t where pw = 'hunter2'",
            "select * from t where dir = 'C:\\' and pw = 'hunter2'",
            "select E'it\\'s' , 'hunter2'",
            "select $x$hunter2$x$",
            "insert into t values (1, 'a'), (2, 'hunter2') /* hunter2 */ -- hunter2",
            "select 'hunter2",
        ];
        let mut all = Vec::new();
        for sql in literals {
            all.push(format!("{head}LOG:  duration: 5000.1 ms  statement: {sql}\n"));
            all.push(format!("{head}LOG:  statement: {sql}\n{head}LOG:  duration: 7.5 ms\n"));
            all.push(format!(
                "{head}LOG:  duration: 9.5 ms  execute s1: select $1\n{head}DETAIL:  parameters: \
                 $1 = 'hunter2'\n{head}LOG:  temporary file: path \"x\", size 99999999\n\
                 {head}STATEMENT:  {sql}\n{head}ERROR:  no row for hunter2\n{head}DETAIL:  Key \
                 (pw)=(hunter2) exists.\n{head}CONTEXT:  of hunter2\n{head}STATEMENT:  {sql}\n"
            ));
        }
        for sql in [
            "select * from t where pw = 'hunter2'",
            "select * from t where pw = \"hunter2\"",
            "select 'it\\'s', 'hunter2'",
            "select 1 # hunter2",
            "SET PASSWORD = 'hunter2'",
        ] {
            all.push(format!(
                "# Time: 2031-02-03T04:05:06.5Z\n# User@Host: a[a] @ h []  Id: 3\n# Query_time: \
                 9.5 Lock_time: 9.1 Rows_sent: 1  Rows_examined: 9000000\nSET timestamp=5;\n\
                 {sql};\n"
            ));
        }
        all.push(
            "{\"t\":{\"$date\":\"2031-02-03T04:05:06.789+00:00\"},\"s\":\"I\",\"c\":\"COMMAND\",\
             \"msg\":\"Slow query\",\"attr\":{\"type\":\"command\",\"ns\":\"a.b\",\"command\":\
             {\"find\":\"b\",\"filter\":{\"pw\":\"hunter2\"}},\"durationMillis\":412}}\n"
                .to_owned(),
        );
        all
    }

    #[test]
    fn logs_say_what_is_wrong() {
        let head = "2031-02-03 04:05:06.789 UTC [77] a@b ";
        let slow = "LOG:  duration: 9500.1 ms  statement: select a from t order by b";
        let (pooled, c) = ("2031-02-03 04:05:06.789 UTC [78] LOG ", "C-0x5: shop/app@192.0.2.9:5");
        for (log, cause) in [
            (format!("{head}{slow}\n"), Cause::StatementSlow),
            (
                format!(
                    "{head}LOG:  temporary file: path \"x\", size 900000000\n{head}STATEMENT:  \
                     select a from t order by b\n{head}{slow}\n"
                ),
                Cause::TemporaryFiles,
            ),
            (
                format!(
                    "{head}LOG:  automatic vacuum of table \"a.b.c\": index scans: 0\n\ttuples: 0 \
                     removed, 950000 remain, 640000 are dead but not yet removable\n\tsystem \
                     usage: CPU: user: 1.5 s, system: 0.2 s, elapsed: 9.5 s\n"
                ),
                Cause::VacuumHeld,
            ),
            (
                format!(
                    "{pooled}{c} login attempt: db=shop user=app tls=no\n{pooled}stats: 5 xacts/s, \
                     6 queries/s, in 7 B/s, out 8 B/s, xact 9000 us, query 900 us, wait 70000 us\n"
                ),
                Cause::PoolWaits,
            ),
            (
                format!(
                    "{head}LOG:  process 77 still waiting for ShareLock on transaction 5 after \
                     1000.1 ms\n{head}DETAIL:  Process holding the lock: 70. Wait queue: 77, 78.\n\
                     {head}LOG:  process 77 acquired ShareLock on transaction 5 after 9400.1 ms\n\
                     {head}{slow}\n"
                ),
                Cause::StatementLocks,
            ),
            (
                format!("{head}LOG:  checkpoints are occurring too frequently (9 seconds apart)\n"),
                Cause::PgCheckpoints,
            ),
            (
                format!("{head}FATAL:  sorry, too many clients already\n"),
                Cause::ConnectionsExhausted,
            ),
        ] {
            let diagnosis = diagnose(&read(&log), &Thresholds::default());
            let first = diagnosis.findings.first().map(|finding| finding.cause);
            assert_eq!(first, Some(cause), "{log}");
        }
    }

    #[test]
    fn literals_of_statements_are_in_no_output() {
        for log in logs() {
            assert!(log.contains(SECRET), "{log}");
            let recording = read(&log);
            assert!(!recording.hosts.is_empty(), "{log}");
            let diagnosis = diagnose(&recording, &Thresholds::default());
            for told in [format!("{recording:?}"), format!("{diagnosis:?}")] {
                assert!(!told.contains(SECRET), "{log}\n{told}");
            }
        }
    }
}
