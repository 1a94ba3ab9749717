//! Statements that wait for each other's locks, as a server's own log shows.

use super::prelude::*;
use super::sums;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::StatementLocks,
    severity: Severity::Warning,
    title: "Statements wait for locks of other transactions",
    id: "statements.locks",
    question: "Do statements wait for locks?",
    how: "Time that statements of a log waited for locks, of their own time; and waits for \
          one lock that the server reports.",
    limits: &[],
    leads_to: &[
        Cause::LogErrors,
        Cause::ConnectionsExhausted,
        Cause::StatementSlow,
        Cause::PoolWaits,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see who holds the lock now, and what that session does",
            "mysql -e \"select * from sys.innodb_lock_waits\\\\G\"  # PostgreSQL: select \
             pid, pg_blocking_pids(pid), query from pg_stat_activity where \
             cardinality(pg_blocking_pids(pid)) > 0",
            "one session blocks the others",
        ),
        Remedy::new(
            Reach::Program,
            "commit sooner, take rows in one order, and move slow work out of the \
             transaction",
            "mysql -e \"show engine innodb status\\\\G\" | grep -A20 TRANSACTIONS",
            "no transaction is older than a second",
        ),
        Remedy::new(
            Reach::Service,
            "end the session that blocks, where it is idle within a transaction",
            "mysql -e \"kill ID\"  # PostgreSQL: select pg_terminate_backend(PID)",
            "the statements that waited go on",
        ),
    ],
    judge,
};

/// Of a statement's time from which on it mostly waited.
const WAITED_PERCENT: f64 = 50.0;
/// Shorter waits nobody notices.
const WAIT_MIN_MS: f64 = 1_000.0;

/// Do statements wait for locks?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::StatementLocks, |_| true);
    let times = cx.lines(Field::StatementTime, |_| true);
    let whole = sums::largest(&times).map_or(0.0, |(_, _, all)| all);
    let reported = cx.top(Field::LockWait).filter(|wait| wait.value >= WAIT_MIN_MS);
    let holder = cx.top(Field::SessionsBlocked).map(|seen| cx.quote(&seen));
    if let Some(wait) = reported {
        return Answer::yes(0.6, vec![cx.quote(&wait)]).and(holder);
    }
    if let Some(deadlock) = cx.top(Field::Deadlocks) {
        let lines = cx.lines(Field::Deadlocks, |subject| *subject == deadlock.subject);
        let count: usize = lines.iter().map(|line| line.points.len()).sum();
        let times = write::counted(count as f64, "time", "times");
        let text =
            format!("{}: sessions waited for each other (deadlock), {times}", deadlock.subject);
        return Answer::yes(0.5, vec![cx.say(&deadlock, &text)]).and(holder);
    }
    let Some((line, waited, all)) = sums::largest(&lines) else {
        return Answer::unknown(&[PG_SESSIONS]);
    };
    let Some(seen) = cx.highest(line) else { return Answer::unknown(&[PG_SESSIONS]) };
    let text = format!(
        "{}: its {} waited {} for locks",
        line.subject,
        write::counted(line.points.len() as f64, "run", "runs"),
        write::milliseconds(waited)
    );
    let much = seen.value >= WAIT_MIN_MS && all * 100.0 >= whole * WAITED_PERCENT;
    Answer::when(much, 0.6, vec![cx.say(&seen, &text)]).backed(holder)
}
