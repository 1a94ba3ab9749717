//! Old row versions that a database must keep.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::UndoLog,
    severity: Severity::Warning,
    title: "Old versions of rows pile up: a transaction is open for long",
    id: "sessions.undo",
    question: "Does the database keep very many old versions of rows?",
    how: "Length of InnoDB's history list, and the longest open transaction.",
    limits: &[],
    leads_to: &[Cause::StatementLocks, Cause::ConnectionsExhausted],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which transaction is open, and since when",
            "mysql -e \"select trx_mysql_thread_id, trx_started, trx_query from \
             information_schema.innodb_trx order by trx_started limit 5\"",
            "one is hours old",
        ),
        Remedy::new(
            Reach::Service,
            "end it, so that old versions are purged",
            "mysql -e \"kill ID\"",
            "History list length falls",
        ),
    ],
    judge,
};

/// MySQL's manual (Purge Configuration): the list is short where purge keeps up. Judgement: a
/// million is none that a burst leaves.
const UNDO_MIN: f64 = 1_000_000.0;

/// Does the database keep very many old versions of rows?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(undo) = cx.top(Field::UndoLength) else { return Answer::unknown(&[SESSIONS]) };
    let open = cx.top(Field::TransactionTime).map(|seen| cx.quote(&seen));
    Answer::when(undo.value >= UNDO_MIN, 0.4, vec![cx.quote(&undo)]).backed(open)
}
