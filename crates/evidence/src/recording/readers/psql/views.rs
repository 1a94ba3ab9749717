//! What the rows of `pg_stat_activity`, `pg_stat_database`, `pg_stat_statements`,
//! `pg_stat_bgwriter` and `pg_stat_checkpointer` say. Statements are kept without their literals.

use super::super::served::{POSTGRES, put_count, short};
use super::super::statement::{SQL_TEXTS, plain as without_literals};
use super::activity::Sessions;
use super::table::{Row, text};
use crate::recording::readers::prelude::*;

/// Most statements that are kept: `pg_stat_statements.max` is 5,000.
const STATEMENTS_MAX: usize = 10_000;

/// A view, by its columns.
pub(super) enum View {
    Activity(Sessions),
    Statements(usize),
    Database(f64, f64),
    Checkpoints,
}

impl View {
    /// The view with these columns.
    pub(super) fn of(columns: &[String]) -> Option<Self> {
        let has = |name: &str| columns.iter().any(|column| column == name);
        let timed = has("total_exec_time") || has("total_time");
        let waits = has("wait_event_type") || has("wait_event");
        let session = has("query") || has("pid") || has("count");
        if has("query") && has("calls") && timed {
            Some(Self::Statements(0))
        } else if (has("state") && (waits || session)) || (waits && session) {
            Some(Self::Activity(Sessions::of(has("state"), waits)))
        } else if has("blks_hit") && has("blks_read") {
            Some(Self::Database(0.0, 0.0))
        } else if has("checkpoints_timed") || has("num_requested") {
            Some(Self::Checkpoints)
        } else {
            None
        }
    }

    pub(super) fn row(&mut self, row: &Row, out: &mut Builder) {
        match self {
            Self::Activity(sessions) => sessions.row(row),
            Self::Statements(seen) => {
                *seen += 1;
                if *seen <= STATEMENTS_MAX {
                    statement(row, out);
                }
            }
            Self::Database(hits, misses) => {
                *hits += value(row, &["blks_hit"]).unwrap_or(0.0);
                *misses += value(row, &["blks_read"]).unwrap_or(0.0);
            }
            Self::Checkpoints => checkpoints(row, out),
        }
    }

    pub(super) fn end(&mut self, out: &mut Builder) {
        let server = Subject::Service(POSTGRES.to_owned());
        match self {
            Self::Activity(sessions) => sessions.put(out),
            Self::Database(hits, misses) => {
                out.put(Field::CacheHitCount, &server, None, *hits);
                out.put(Field::CacheMissCount, &server, None, *misses);
            }
            Self::Statements(seen) if *seen > STATEMENTS_MAX => {
                let left_out = *seen - STATEMENTS_MAX;
                out.cut(format!(
                    "more than {STATEMENTS_MAX} statements in a view: {left_out} are left out"
                ));
            }
            Self::Statements(_) | Self::Checkpoints => {}
        }
    }
}

fn value(row: &Row, names: &[&str]) -> Option<f64> {
    number(text(row, names)?)
}

/// A statement without its literals, short enough for a line: what is in quotes may be a secret.
fn plain(query: &str) -> String {
    short(&without_literals(query, SQL_TEXTS))
}

fn statement(row: &Row, out: &mut Builder) {
    let calls = value(row, &["calls"]);
    let total_ms = value(row, &["total_exec_time", "total_time"]);
    let (Some(calls), Some(total_ms), Some(query)) = (calls, total_ms, text(row, &["query"]))
    else {
        return out.problem("a statement without calls, time or text: left out");
    };
    let part = Subject::part(POSTGRES, &plain(query));
    out.put(Field::CommandCalls, &part, None, calls);
    put_count(out, (Field::CommandTime, None), &part, (total_ms, None));
}

fn checkpoints(row: &Row, out: &mut Builder) {
    let server = Subject::Service(POSTGRES.to_owned());
    let timed = value(row, &["checkpoints_timed", "num_timed"]);
    let requested = value(row, &["checkpoints_req", "num_requested"]);
    if let (Some(timed), Some(requested)) = (timed, requested) {
        out.put(Field::CheckpointsTimed, &server, None, timed);
        out.put(Field::CheckpointsRequested, &server, None, requested);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{all_understood, read, values};
    use super::*;

    fn server() -> Subject {
        Subject::Service("postgres".to_owned())
    }

    const ALIGNED: &str = "\
db1$ psql -c 'select pid, state, wait_event_type, ... from pg_stat_activity'
 pid  |        state        | wait_event_type |  wait_event   |      state_change      | query
------+---------------------+-----------------+---------------+------------------------+-----------
 1201 | active              | Lock            | transactionid | 2025-11-04 15:20:31+01 | UPDATE t +
      |                     |                 |               |                        | SET a = '|'
 1202 | active              | Lock            | transactionid | 2025-11-04 15:20:32+01 | UPDATE t
 1203 | idle in transaction | Client          | ClientRead    | 2025-11-04 15:00:02+01 | SELECT 1
 1204 | idle                | Client          | ClientRead    | 2025-11-04 15:20:02+01 | COMMIT
 1100 |                     | Activity        | WalWriterMain |                        |
(5 rows)

";

    #[test]
    fn sessions_in_an_aligned_table() {
        let recording = read(ALIGNED);
        all_understood(&recording);
        assert_eq!(values(&recording, Field::Sessions, &server()), [2.0]);
        assert_eq!(values(&recording, Field::SessionsIdleInTransaction, &server()), [1.0]);
        assert_eq!(values(&recording, Field::IdleInTransaction, &server()), [1_230_000.0]);
        let wait = Subject::part("postgres", "Lock:transactionid");
        assert_eq!(values(&recording, Field::SessionsWaiting, &wait), [2.0]);
    }

    #[test]
    fn counts_in_every_form() {
        for text in [
            " count | state  | wait_event_type | wait_event\n-------+--------+---+---\n\
             \u{20}    7 | active | IO | DataFileRead\n     2 | active |  | \n(2 rows)\n",
            "-[ RECORD 1 ]---+-------------\ncount           | 7\nstate           | active\n\
             wait_event_type | IO\nwait_event      | DataFileRead\n-[ RECORD 2 ]---+----\n\
             count           | 2\nstate           | active\nwait_event_type | \nwait_event | \n\n",
            "count,state,wait_event_type,wait_event\n7,active,IO,DataFileRead\n2,active,,\n",
            "count|state|wait_event_type|wait_event\n7|active|IO|DataFileRead\n2|active||\n\
             (2 rows)\n",
            "+-------+--------+----+----+\n| count | state | wait_event_type | wait_event |\n\
             +-------+--------+----+----+\n| 7 | active | IO | DataFileRead |\n\
             | 2 | active | | |\n+-------+--------+----+----+\n(2 rows)\n",
        ] {
            let recording = read(text);
            all_understood(&recording);
            let wait = Subject::part("postgres", "IO:DataFileRead");
            assert_eq!(values(&recording, Field::SessionsWaiting, &wait), [7.0], "{text}");
            assert_eq!(values(&recording, Field::Sessions, &server()), [9.0], "{text}");
        }
    }

    #[test]
    fn statements_without_their_literals() {
        let text = "query,calls,total_exec_time,mean_exec_time\n\
                    \"SELECT *\nFROM t2 WHERE name = 'secret' AND x = 17, $1\",200,60000.5,300.0\n\
                    COMMIT,90000,500,0.005\n";
        let recording = read(text);
        all_understood(&recording);
        let part = Subject::part("postgres", "SELECT * FROM t2 WHERE name = ? AND x = ?+");
        assert_eq!(values(&recording, Field::CommandTime, &part), [60_000.5]);
        assert_eq!(values(&recording, Field::CommandCalls, &part), [200.0]);
    }

    #[test]
    fn checkpoints_of_old_and_new_versions() {
        let old = "-[ RECORD 1 ]---------+----\ncheckpoints_timed     | 12\n\
                   checkpoints_req       | 340\ncheckpoint_write_time | 5\n";
        let new = " num_timed | num_requested | restartpoints_timed\n-----+-----+-----\n\
                   \u{20}12 | 340 | 0\n(1 row)\n";
        for text in [old, new] {
            let recording = read(text);
            all_understood(&recording);
            assert_eq!(values(&recording, Field::CheckpointsRequested, &server()), [340.0]);
        }
    }

    #[test]
    fn other_tables() {
        for text in ["a,b,c\n1,2,3\n", " name | size \n----+---\n x | 5\n(1 row)\n", "| a | b |\n"]
        {
            assert!(read(text).hosts.is_empty(), "{text}");
        }
    }
}
