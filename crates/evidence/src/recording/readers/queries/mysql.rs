//! The slow log of MySQL, MariaDB and Percona Server.

use std::mem;

use super::event::{Event, QueryReader, Statements, add_line, moment};
use crate::recording::readers::prelude::*;
use crate::recording::readers::statement::{MYSQL_TEXTS, plain};

const MYSQL: &str = "mysql";

type Words<'a> = std::iter::Peekable<std::str::SplitAsciiWhitespace<'a>>;

/// Most lines of one statement.
const LINES_MAX: usize = 1000;

/// Longer times are those of a clock that went back (they wrap around), in seconds.
const SECONDS_MAX: f64 = 1e9;

/// Lines that begin the head of an entry, or continue it, before the statement's time.
const HEADS: [&str; 7] =
    ["Time", "User@Host", "User", "Client", "Thread_id", "Schema", "Query_time"];

/// What the server writes at the log's beginning.
fn is_banner(line: &str) -> bool {
    let started = line.contains(", Version: ") && line.ends_with("started with:");
    let names = line.starts_with("Time ") && line.ends_with("Argument");
    started || names || line.starts_with("Tcp port:") || line.starts_with("TCP Port:")
}

/// The first name of a head: `# Time: ...`.
fn head(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("# ")?.split_once(':')?;
    HEADS.iter().find(|head| **head == name.trim_start()).copied()
}

/// What an entry may have before the client's statement: `use shop;`, `SET timestamp=5;`.
fn is_setting(line: &str) -> bool {
    const SETTINGS: [&str; 4] = ["use ", "SET timestamp=", "SET insert_id=", "SET last_insert_id="];
    SETTINGS.iter().any(|start| line.starts_with(start))
}

/// Begins at an entry's head, or at what the server writes first.
pub(super) fn opens(lines: &Lines<'_>) -> Option<SlowLog> {
    let line = lines.ahead(0).trim_end();
    let timed = || (0..8).any(|by| lines.ahead(by).contains("Query_time: "));
    let ours = is_banner(line) && line.contains("Version") || head(line).is_some() && timed();
    ours.then(SlowLog::default)
}

#[derive(Default)]
pub(super) struct SlowLog {
    statements: Statements,
    /// Of the heads so far: the time holds until the next one.
    entry: Event,
    /// Whether the entry has a time, known or not.
    timed: bool,
    /// Its statement so far, what stood before that, and lines of both.
    statement: String,
    setting: String,
    lines: usize,
}

impl SlowLog {
    /// Amounts of a head: `Query_time: 6.120331  Lock_time: 6.093112 Rows_sent: 0`.
    fn amounts(&mut self, line: &str) {
        let (mut on_disk, mut words) = (false, line.split_ascii_whitespace().peekable());
        while let Some(word) = words.next() {
            let value = |words: &mut Words<'_>| words.peek().and_then(|word| number(word));
            let ms = |words: &mut Words<'_>| {
                value(words).filter(|s| *s < SECONDS_MAX).map(|seconds| seconds * 1e3)
            };
            match word {
                "Query_time:" => (self.timed, self.entry.ms) = (true, ms(&mut words)),
                // Before MySQL 8 the first one has tables only.
                "Lock_time:" | "InnoDB_rec_lock_wait:" => {
                    let longest = self.entry.locks.into_iter().chain(ms(&mut words));
                    self.entry.locks = longest.reduce(f64::max);
                }
                "Rows_sent:" => self.entry.sent = value(&mut words),
                "Rows_examined:" => self.entry.examined = value(&mut words),
                "Tmp_disk_tables:" => {
                    on_disk = value(&mut words).is_some_and(|tables| tables > 0.0);
                }
                "Tmp_table_sizes:" if on_disk => self.entry.temporary = value(&mut words),
                "Last_errno:" => {
                    let code = value(&mut words).filter(|code| *code > 0.0);
                    self.entry.failed = code.map(|code| format!("error {code}"));
                }
                _ => {}
            }
        }
    }

    fn entry_ends(&mut self, out: &mut Builder) {
        let (at, utc) = (self.entry.at, self.entry.utc);
        let next = Event { at, utc, ..Event::default() };
        let mut event = std::mem::replace(&mut self.entry, next);
        let (statement, setting) = (mem::take(&mut self.statement), mem::take(&mut self.setting));
        self.lines = 0;
        if !mem::take(&mut self.timed) {
            return;
        }
        // It may be no more than that.
        let said = [&statement, &setting].into_iter().find(|said| !said.is_empty());
        event.fingerprint = said.map_or_else(String::new, |said| plain(said, MYSQL_TEXTS));
        self.statements.put(MYSQL, &event, out);
    }

    fn head(&mut self, line: &str, out: &mut Builder) {
        if let Some(time) = line.strip_prefix("# Time: ") {
            self.entry.utc = time.ends_with('Z');
            if self.entry.utc {
                out.clock(Clock::Utc);
            }
            self.entry.at = moment(time);
        }
        self.amounts(line);
    }
}

impl QueryReader for SlowLog {
    fn name(&self) -> (&'static str, &'static str) {
        (MYSQL, "MySQL slow log")
    }

    fn statements(&mut self) -> &mut Statements {
        &mut self.statements
    }
}

impl Reader for SlowLog {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim_end();
        let ended = self.statement.ends_with(';');
        if let Some(name) = head(line) {
            let again = self.timed && ["Time", "User@Host", "User", "Query_time"].contains(&name);
            if again || !self.statement.is_empty() {
                self.entry_ends(out);
            }
            self.head(line, out);
            return Taken::Yes;
        }
        if is_banner(line) {
            self.entry_ends(out);
            return Taken::Yes;
        }
        if let Some(command) = line.strip_prefix("# administrator command: ") {
            command.clone_into(&mut self.statement);
            return Taken::Yes;
        }
        if line.is_empty() || line.starts_with('#') && self.statement.is_empty() {
            self.amounts(line);
            return Taken::Yes;
        }
        if !self.timed || ended {
            return Taken::No;
        }
        self.lines += 1;
        if self.lines > LINES_MAX {
            self.entry_ends(out);
            return Taken::No;
        }
        if is_setting(line) && self.statement.is_empty() {
            line.clone_into(&mut self.setting);
        } else {
            add_line(&mut self.statement, line);
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.entry_ends(out);
    }
}

#[cfg(test)]
mod tests {
    use crate::recording::readers::check::{all_understood, read, values};
    use crate::recording::{Clock, Field, Subject};

    #[test]
    fn statements_with_the_time_they_waited() {
        let recording = read(
            "# Time: 2025-06-01T07:00:01.5Z\n# User@Host: a[a] @ h [192.0.2.1]  Id: 3\n\
             # Query_time: 2.5  Lock_time: 0.5 Rows_sent: 2  Rows_examined: 4000\n\
             use shop;\nSET timestamp=1;\nSELECT *\n  FROM t WHERE n = 'x; y'\n  LIMIT 2;\n\
             # User@Host: a[a] @ h [192.0.2.1]  Id: 4\n\
             # Thread_id: 4  Schema: shop  QC_hit: No\n\
             # Query_time: 1.25  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 9\n\
             # InnoDB_IO_r_ops: 0  InnoDB_rec_lock_wait: 1.200000\n\
             SELECT *\n  FROM t WHERE n = 'z'\n  LIMIT 3;\n",
        );
        all_understood(&recording);
        let part = Subject::part("mysql", "SELECT * FROM t WHERE n = ? LIMIT ?");
        let of = |field| values(&recording, field, &part);
        assert_eq!(of(Field::StatementTime), [2500.0, 1250.0]);
        assert_eq!(of(Field::StatementLocks), [500.0, 1200.0]);
        assert_eq!(of(Field::StatementExamined), [4000.0, 9.0]);
        assert_eq!(of(Field::StatementSent), [2.0, 1.0]);
        assert_eq!(recording.sources[0].clock, Clock::Utc);
    }

    #[test]
    fn comments_are_no_log() {
        assert!(read("# Time: to go\n# and more: words\n").hosts.is_empty());
    }
}
