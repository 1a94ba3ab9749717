//! What `pg_stat_activity` says: who works, who waits for what, and who is in the way.

use crate::recording::readers::prelude::*;
use std::collections::BTreeMap;

use super::super::served::{POSTGRES, short};
use super::roles::split_wait;
use super::table::{Row, text};

/// Waits that are no trouble: for the client, for work, on purpose (table "Wait Event Types" of
/// PostgreSQL 17's manual, monitoring-stats).
const IDLE: [&str; 4] = ["Activity", "Client", "Extension", "Timeout"];

/// Most sessions whose blockers are followed: `max_connections` is rarely above 5,000.
const SESSIONS_MAX: usize = 10_000;

/// Most kinds of wait: PostgreSQL 17 has about 270.
const WAITS_MAX: usize = 1000;

/// Most sessions in the way of others that are named.
const HEADS_MAX: usize = 100;

/// One session as far as locks go.
struct Session {
    pid: u64,
    /// What it does: `idle in transaction`.
    state: String,
    /// Whose locks it waits for.
    blockers: Vec<u64>,
}

/// What was counted of the sessions.
pub(super) struct Sessions {
    /// Whether there are columns of states and of waits; without states all are at work.
    states: bool,
    waits: bool,
    active: f64,
    idle_in_transaction: f64,
    waiting: BTreeMap<String, f64>,
    sessions: Vec<Session>,
    /// Sessions, and kinds of wait, that were too many.
    left_out: [usize; 2],
    /// The latest time of any row, which is near the time of the listing.
    latest: Option<Stamp>,
    /// Since when sessions are idle in a transaction, the earliest.
    since: Option<Stamp>,
    longest_ms: Option<f64>,
}

/// A time as PostgreSQL prints it: `2025-11-04 15:20:31.123456+01`. Zones are alike in one listing.
fn stamp(text: &str) -> Option<Stamp> {
    let (day, time) = text.split_once([' ', 'T'])?;
    Some(joined(date(day)?, time_of_day(time.get(..8)?)?))
}

/// An interval in milliseconds: `00:12:33.12`, `1 day 02:03:04`.
fn interval_ms(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace().peekable();
    let mut ms = 0.0;
    while let Some(word) = words.next() {
        if let Some((hours, rest)) = word.split_once(':') {
            let (minutes, seconds) = rest.split_once(':')?;
            let parts = [number(hours)?, number(minutes)?, number(seconds)?];
            return Some(ms + (parts[0] * 3600.0 + parts[1] * 60.0 + parts[2]) * 1000.0);
        }
        let days = number(word)?;
        words.next_if(|unit| unit.starts_with("day"))?;
        ms += days * 86_400_000.0;
    }
    (ms > 0.0).then_some(ms)
}

/// The processes in `{31002,20114}`.
fn list(text: &str) -> Vec<u64> {
    let inner = text.trim_start_matches('{').trim_end_matches('}');
    inner.split(',').filter_map(|pid| count(pid.trim())).collect()
}

impl Sessions {
    pub(super) const fn of(states: bool, waits: bool) -> Self {
        Self {
            states,
            waits,
            active: 0.0,
            idle_in_transaction: 0.0,
            waiting: BTreeMap::new(),
            sessions: Vec::new(),
            left_out: [0; 2],
            latest: None,
            since: None,
            longest_ms: None,
        }
    }

    pub(super) fn row(&mut self, row: &Row) {
        let many = text(row, &["count"]).and_then(count).unwrap_or(1);
        #[expect(clippy::cast_precision_loss, reason = "a number of sessions")]
        let many = many as f64;
        let client = text(row, &["backend_type"])
            .is_none_or(|kind| ["client backend", "parallel worker"].contains(&kind));
        let state = text(row, &["state"]).unwrap_or_default();
        self.keep(row, state);
        for name in ["query_start", "state_change", "xact_start", "now"] {
            self.latest = self.latest.max(text(row, &[name]).and_then(stamp));
        }
        if state.starts_with("idle in transaction") {
            self.idle_in_transaction += many;
            let since = text(row, &["state_change", "xact_start"]).and_then(stamp);
            self.since = [self.since, since].into_iter().flatten().min();
            // However the column is called: `now() - xact_start` is mostly given a name.
            let age = row.values().filter_map(|value| interval_ms(value)).reduce(f64::max);
            self.longest_ms = [self.longest_ms, age].into_iter().flatten().reduce(f64::max);
        }
        let kind = text(row, &["wait_event_type"]).unwrap_or_default();
        let (kind, event) =
            split_wait(kind).unwrap_or_else(|| (kind, text(row, &["wait_event"]).unwrap_or("?")));
        let idle = IDLE.contains(&kind);
        let at_work = if self.states { state == "active" } else { !idle };
        if !at_work || !client {
            return;
        }
        self.active += many;
        if !kind.is_empty() && !idle {
            let wait = format!("{}:{}", short(kind), short(event));
            if self.waiting.len() < WAITS_MAX || self.waiting.contains_key(&wait) {
                *self.waiting.entry(wait).or_default() += many;
            } else {
                self.left_out[1] += 1;
            }
        }
    }

    /// Keeps whose locks a session waits for.
    fn keep(&mut self, row: &Row, state: &str) {
        let pid = text(row, &["pid", "procpid"]).and_then(count);
        let Some(pid) = pid else { return };
        if self.sessions.len() >= SESSIONS_MAX {
            self.left_out[0] += 1;
            return;
        }
        let blockers = text(row, &["pg_blocking_pids", "blocked_by", "blocking_pids"]);
        let blockers = blockers.map(list).unwrap_or_default();
        self.sessions.push(Session { pid, state: short(state), blockers });
    }

    /// Who is in the way: sessions that wait for nobody, by how many wait for them, also through
    /// others.
    fn heads(&self) -> BTreeMap<String, f64> {
        let by_pid: BTreeMap<u64, &Session> =
            self.sessions.iter().map(|session| (session.pid, session)).collect();
        let blocker = |pid: u64| by_pid.get(&pid)?.blockers.first().copied();
        let mut heads = BTreeMap::new();
        let mut head_of: BTreeMap<u64, u64> = BTreeMap::new();
        for first in self.sessions.iter().filter_map(|session| session.blockers.first()) {
            let (mut head, mut passed) = (*first, Vec::new());
            while !head_of.contains_key(&head)
                && let Some(next) = blocker(head)
            {
                // A circle of locks has no head but where it closes; the server ends it by itself.
                head_of.insert(head, head);
                passed.push(head);
                head = next;
            }
            let head = head_of.get(&head).copied().unwrap_or(head);
            head_of.extend(passed.into_iter().map(|pid| (pid, head)));
            let state = by_pid.get(&head).map_or("", |session| session.state.as_str());
            let comma = if state.is_empty() { "" } else { ", " };
            let name = format!("session {head}{comma}{state}");
            if heads.len() < HEADS_MAX || heads.contains_key(&name) {
                *heads.entry(name).or_default() += 1.0;
            }
        }
        heads
    }

    pub(super) fn put(&self, out: &mut Builder) {
        for (left_out, most, what) in [
            (self.left_out[0], SESSIONS_MAX, "sessions"),
            (self.left_out[1], WAITS_MAX, "kinds of wait"),
        ] {
            if left_out > 0 {
                out.cut(format!("more than {most} {what} in a view: {left_out} are left out"));
            }
        }
        let server = &Subject::Service(POSTGRES.to_owned());
        // Without a column of waits nobody can say that nobody waits.
        if self.waits {
            out.put(Field::Sessions, server, None, self.active);
        }
        if self.states {
            let idle = self.idle_in_transaction;
            out.put(Field::SessionsIdleInTransaction, server, None, idle);
        }
        for (wait, many) in &self.waiting {
            out.put(Field::SessionsWaiting, &Subject::part(POSTGRES, wait), None, *many);
        }
        for (head, many) in self.heads() {
            out.put(Field::SessionsBlocked, &Subject::part(POSTGRES, &head), None, many);
        }
        let measured = self.latest.zip(self.since).map(|(latest, since)| {
            #[expect(clippy::cast_precision_loss, reason = "seconds of a session")]
            let seconds = latest.0.saturating_sub(since.0) as f64;
            seconds * 1000.0
        });
        out.put_known(Field::IdleInTransaction, server, None, self.longest_ms.or(measured));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::{all_understood, read, values};
    use super::*;

    #[test]
    fn renamed_columns_and_who_is_in_the_way() {
        let text = "\
app=> select pid, state, wait_event_type wt, wait_event we, pg_blocking_pids(pid) blk,
app->   now()-xact_start as xa, left(query,20) q from pg_stat_activity;
  pid  |        state        |   wt   |     we     |   blk   |       xa        |       q
-------+---------------------+--------+------------+---------+-----------------+------------------
 20114 | idle in transaction | Client | ClientRead | {}      | 00:52:10       | SELECT 1 FROM o
 31002 | active              | Lock   | relation   | {20114} | 00:11:02.5      | ALTER TABLE o ADD
 31188 | active              | Lock   | relation   | {31002} | 00:11:00.1      | SELECT * FROM o
 31189 | active              | Lock   | relation   | {31002} | 00:10:59.9      | SELECT * FROM o
(4 rows)
";
        let recording = read(text);
        all_understood(&recording);
        let part = |name: &str| Subject::part("postgres", name);
        let of = |field, name: &str| values(&recording, field, &part(name));
        assert_eq!(of(Field::SessionsWaiting, "Lock:relation"), [3.0]);
        let head = "session 20114, idle in transaction";
        assert_eq!(of(Field::SessionsBlocked, head), [3.0]);
        let server = Subject::Service("postgres".to_owned());
        let idle = values(&recording, Field::IdleInTransaction, &server);
        assert_eq!(idle, [3_130_000.0]);
    }

    #[test]
    fn groups_of_waits_without_states() {
        let text = " wait_event_type | wait_event | count\n-----------------+---+---\n\
                    \u{20}LWLock          | WALWrite   |    41\n\
                    \u{20}IO              | WALSync    |     1\n\
                    \u{20}Client          | ClientRead |    60\n   |     |     3\n\
                    (4 rows)\n";
        let recording = read(text);
        all_understood(&recording);
        let server = Subject::Service("postgres".to_owned());
        assert_eq!(values(&recording, Field::Sessions, &server), [45.0]);
        let wait = Subject::part("postgres", "LWLock:WALWrite");
        assert_eq!(values(&recording, Field::SessionsWaiting, &wait), [41.0]);
    }

    #[test]
    fn without_waits_nobody_is_said_not_to_wait() {
        let text = " pid | state | query\n-----+---+---\n 7 | active | SELECT 1\n(1 row)\n";
        let recording = read(text);
        let server = Subject::Service("postgres".to_owned());
        assert!(values(&recording, Field::Sessions, &server).is_empty());
    }

    #[test]
    fn intervals_and_circles() {
        assert_eq!(interval_ms("00:12:33.5"), Some(753_500.0));
        assert_eq!(interval_ms("1 day 00:00:01"), Some(86_401_000.0));
        assert_eq!(interval_ms("3 weeks"), None);
        let mut sessions = Sessions::of(true, true);
        for (pid, blocker) in [("1", "{2}"), ("2", "{1}")] {
            let row = [("pid", pid), ("pg_blocking_pids", blocker)];
            let row = row.map(|(key, value)| (key.to_owned(), value.to_owned()));
            sessions.row(&row.into_iter().collect());
        }
        assert_eq!(sessions.heads().values().sum::<f64>(), 2.0);
    }
}
