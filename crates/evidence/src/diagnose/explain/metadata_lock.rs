//! Statements that wait for a table's definition.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::MetadataLock,
    severity: Severity::Warning,
    title: "Statements wait for the metadata lock of a table, behind a change of the table \
            that waits itself",
    id: "sessions.metadata",
    question: "Do sessions wait for the metadata lock of a table?",
    how: "Sessions in that wait, the longest of them, and sessions that are idle for \
          longer: one of them may hold the table in an open transaction.",
    limits: &[],
    leads_to: &[Cause::ConnectionsExhausted, Cause::LogErrors, Cause::StatementLocks],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which transaction is open on the table",
            "mysql -e \"select * from performance_schema.metadata_locks where \
             object_type='TABLE'; select * from information_schema.innodb_trx\"",
            "a session that sleeps has an open transaction",
        ),
        Remedy::new(
            Reach::Program,
            "change tables with lock_wait_timeout of a few seconds, so that they give up \
             instead of blocking others",
            "mysql -e \"set session lock_wait_timeout=5\"",
            "readers wait for five seconds at most",
        ),
        Remedy::new(
            Reach::Service,
            "end that session; the change goes on, and all that wait behind it",
            "mysql -e \"kill ID\"",
            "the list of waiting sessions empties",
        ),
    ],
    judge,
};

/// Sessions that wait: one that changes the table, and those behind it.
const WAITING_MIN: f64 = 2.0;

/// Do sessions wait for the metadata lock of a table?
fn judge(look: &Look<'_>) -> Answer {
    let of_table = |subject: &Subject| match subject {
        Subject::Part { name, .. } => name.contains("metadata lock"),
        _ => false,
    };
    let Some(waiting) = look.top_of(Field::SessionsWaiting, of_table) else {
        return Answer::unknown(&[PG_SESSIONS]);
    };
    let longest = look.top_of(Field::SessionWait, of_table);
    let mut text = write::counted(waiting.value, "session waits", "sessions wait");
    text.push_str(" for the metadata lock of a table");
    if let Some(longest) = &longest {
        text.push_str(&format!(", the longest for {}", write::milliseconds(longest.value)));
    }
    let idle = look.top(Field::SessionIdle);
    let idle = idle.filter(|idle| longest.as_ref().is_none_or(|wait| idle.value >= wait.value));
    let idle = idle.map(|idle| {
        let text = format!(
            "{} has been idle for {}, longer than they wait: it may hold the table",
            idle.subject,
            write::milliseconds(idle.value)
        );
        look.say(&idle, &text)
    });
    let many = waiting.value >= WAITING_MIN;
    Answer::when(many, 0.6, vec![look.say(&waiting, &text)]).backed(idle)
}
