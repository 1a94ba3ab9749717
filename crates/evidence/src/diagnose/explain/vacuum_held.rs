//! Dead rows that autovacuum must leave.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::VacuumHeld,
    severity: Severity::Warning,
    title: "Autovacuum cannot remove dead rows: an old transaction may still read them",
    id: "autovacuum.held",
    question: "Does something keep autovacuum from removing dead rows?",
    how: "Dead rows that autovacuum had to leave, of its latest runs on a table.",
    limits: &[],
    leads_to: &[Cause::StatementSlow, Cause::RowsExamined],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see who holds the oldest snapshot: a session, a prepared transaction, a replication \
                slot or a standby",
            "psql -c 'select pid, state, backend_xmin, xact_start from pg_stat_activity where \
                backend_xmin is not null order by age(backend_xmin) desc limit 5' -c 'select \
                slot_name, active, xmin from pg_replication_slots' -c 'select gid, prepared from \
                pg_prepared_xacts'",
            "one of them is far older than the others",
        ),
        Remedy::new(
            Reach::Service,
            "end that session, or drop the slot that nobody uses; limit how long a session may be \
                idle in a transaction",
            "psql -c 'select pg_terminate_backend(PID)'  # idle_in_transaction_session_timeout",
            "the next run of autovacuum removes the rows",
        ),
    ],
    judge,
};

/// Fewer are found again at once.
const ROWS_MIN: f64 = 100_000.0;

/// Does something keep autovacuum from removing dead rows?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(most) = cx.top(Field::AutovacuumDead) else {
        return Answer::unknown(&[SERVER_LOG]);
    };
    let text = format!(
        "{}: {} dead rows that autovacuum had to leave",
        most.subject,
        write::number(most.value)
    );
    let taken = cx.peak(Field::AutovacuumTime, &most.subject);
    let taken = taken.map(|taken| cx.quote(&taken));
    Answer::when(most.value >= ROWS_MIN, 0.4, vec![cx.say(&most, &text)]).backed(taken)
}
