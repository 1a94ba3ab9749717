//! The slow log of MySQL, MariaDB and Percona Server.

use super::runs::{Run, Statements, add_line, moment};
use crate::recording::readers::prelude::*;
use crate::recording::readers::statement::{MYSQL_TEXTS, plain};

const MYSQL: &str = "mysql";

/// Most lines of one statement.
const LINES_MAX: usize = 1000;

/// What the server writes at the log's beginning.
fn is_banner(line: &str) -> bool {
    let started = line.contains(", Version: ") && line.ends_with("started with:");
    let names = line.starts_with("Time ") && line.ends_with("Argument");
    started || names || line.starts_with("Tcp port:") || line.starts_with("TCP Port:")
}

fn is_head(line: &str) -> bool {
    let known = ["# Time: ", "# User@Host: ", "# Query_time: ", "# Thread_id: "];
    known.iter().any(|start| line.starts_with(start))
}

/// Begins at a statement's head, or at what the server writes first.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let line = lines.ahead(0).trim_end();
    let timed = (0..8).any(|by| lines.ahead(by).contains("Query_time: "));
    let ours = is_banner(line) && line.contains("Version") || is_head(line) && timed;
    ours.then(|| lines.resume(SourceKind::QueryLog, SlowLog::default(), out))
}

#[derive(Default)]
struct SlowLog {
    statements: Statements,
    /// Of the heads so far: the time holds until the next one.
    run: Run,
    /// The statement so far, and its lines.
    statement: Option<(String, usize)>,
}

impl SlowLog {
    /// Amounts of a head: `Query_time: 6.120331  Lock_time: 6.093112 Rows_sent: 0`.
    fn amounts(&mut self, line: &str) {
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let value = words.peek().and_then(|word| number(word));
            let longer = |known: Option<f64>| value.map(|s| known.unwrap_or(0.0).max(s * 1e3));
            match word {
                "Query_time:" => self.run.ms = value.map(|seconds| seconds * 1e3),
                // Before MySQL 8 the first one has tables only.
                "Lock_time:" | "InnoDB_rec_lock_wait:" => {
                    self.run.locks = longer(self.run.locks).or(self.run.locks);
                }
                "Rows_sent:" => self.run.sent = value,
                "Rows_examined:" => self.run.examined = value,
                _ => {}
            }
        }
    }

    fn statement_ends(&mut self, out: &mut Builder) {
        let Some((statement, _)) = self.statement.take() else { return };
        let run = Run { at: self.run.at, ..Run::default() };
        let run = std::mem::replace(&mut self.run, run);
        let name = plain(&statement, MYSQL_TEXTS);
        if run.ms.is_some() && !name.is_empty() {
            self.statements.put(MYSQL, &name, &run, out);
        }
    }
}

impl Reader for SlowLog {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let line = line.trim_end();
        if line.starts_with("# ") && line.contains(':') && (is_head(line) || self.run.ms.is_some())
        {
            if is_head(line) {
                self.statement_ends(out);
            }
            if let Some(time) = line.strip_prefix("# Time: ") {
                if time.ends_with('Z') {
                    out.clock(Clock::Utc);
                }
                self.run.at = moment(time);
            }
            self.amounts(line);
            return Taken::Yes;
        }
        if line.is_empty() || is_banner(line) {
            return Taken::Yes;
        }
        if self.run.ms.is_none() && self.statement.is_none() {
            return Taken::No;
        }
        let setting = line.starts_with("use ") || line.starts_with("SET timestamp=");
        if setting && self.statement.is_none() {
            return Taken::Yes;
        }
        let (statement, lines) = self.statement.get_or_insert_default();
        *lines += 1;
        if *lines > LINES_MAX {
            self.statement = None;
            return Taken::No;
        }
        add_line(statement, line);
        if line.ends_with(';') {
            self.statement_ends(out);
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        self.statement_ends(out);
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
