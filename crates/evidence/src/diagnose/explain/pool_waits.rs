//! Clients that wait for a connection of a pool in front of a database.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::PoolWaits,
    severity: Severity::Warning,
    title: "Clients of a pool wait for a connection to the server longer than their statements \
        take",
    id: "pool.waits",
    question: "Do clients of a pool wait for a connection to the server?",
    how: "Mean wait for a connection, against the mean time of a statement, as the pool's own \
        statistics have them.",
    limits: &[],
    leads_to: &[Cause::ConnectionsExhausted],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which pool has waiting clients, and what its connections do",
            "psql -p 6432 pgbouncer -c 'show pools'",
            "cl_waiting above 0, all connections active: sv_idle 0",
        ),
        Remedy::new(
            Reach::Program,
            "hold a connection for shorter: no work of others within a transaction",
            "psql -c 'select state, count(*) from pg_stat_activity group by 1'",
            "few are idle in transaction",
        ),
        Remedy::new(
            Reach::Service,
            "a larger pool, while the server has CPUs and disks to spare; pool_mode = transaction \
                where sessions idle",
            "psql -p 6432 pgbouncer -c 'show config'  # default_pool_size",
            "the wait falls, and the statements' time does not rise",
        ),
    ],
    judge,
};

/// A wait that clients notice.
const WAIT_MIN_MS: f64 = 10.0;

/// Do clients of a pool wait for a connection to the server?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(wait) = cx.top(Field::PoolWait) else { return Answer::unknown(&[SERVER_LOG]) };
    let query = cx.peak(Field::PoolQuery, &wait.subject);
    let own = query.as_ref().map_or(0.0, |query| query.value);
    let text = format!(
        "{}: a client waits {} on average for a connection to the server",
        wait.subject,
        write::milliseconds(wait.value)
    );
    let long = wait.value >= WAIT_MIN_MS && wait.value > own;
    let query = query.map(|query| cx.quote(&query));
    Answer::when(long, 0.5, vec![cx.say(&wait, &text)]).backed(query)
}
