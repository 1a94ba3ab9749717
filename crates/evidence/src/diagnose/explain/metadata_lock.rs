//! Statements that wait for a lock on a whole table or schema.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::MetadataLock,
    severity: Severity::Warning,
    title: "Statements wait for a lock on a table or schema, behind one that holds it or waits \
            itself",
    id: "sessions.metadata",
    question: "Do sessions wait for a lock on a table or schema?",
    how: "Sessions in such a wait, the longest of them and its statement, and sessions that are \
          idle for longer: one of them may hold the table in an open transaction.",
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

/// Do sessions wait for a lock on a table or schema?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(waiting) = cx.top(Field::LockWaiters) else { return Answer::unknown(&[SESSIONS]) };
    let lock = match &waiting.subject {
        Subject::Part { name, .. } => name.clone(),
        other => other.to_string(),
    };
    let longest = cx.top(Field::SessionWait);
    let for_long = longest.as_ref().map_or_else(String::new, |longest| {
        format!(", the longest for {}", write::milliseconds(longest.value))
    });
    let text = format!(
        "{} for the {lock}{for_long}",
        write::counted(waiting.value, "session waits", "sessions wait")
    );
    let many = waiting.value >= WAITING_MIN;
    let answer = Answer::when(many, 0.6, vec![cx.say(&waiting, &text)]);
    answer.backed(first(cx)).backed(holder(cx, longest.as_ref()))
}

/// The statement that has waited longest: the others queue behind it.
fn first(cx: &Context<'_>) -> Option<Evidence> {
    let of_statement = |subject: &Subject| matches!(subject, Subject::Threads { .. });
    let seen = cx.top_of(Field::SessionWait, of_statement)?;
    let Subject::Threads { what, .. } = &seen.subject else { return None };
    let sessions = cx.peak(Field::SessionsIn, &seen.subject).map_or(1.0, |seen| seen.value);
    let text =
        format!("the first to wait: {what} ({})", write::counted(sessions, "session", "sessions"));
    Some(cx.say(&seen, &text))
}

/// A session that has been idle for longer than the others wait.
fn holder(cx: &Context<'_>, longest: Option<&Reading>) -> Option<Evidence> {
    let idle = cx.top(Field::SessionIdle)?;
    let longer = longest.is_none_or(|wait| idle.value >= wait.value);
    let text = format!(
        "{} has been idle for {}, longer than they wait: it may hold the table",
        idle.subject,
        write::milliseconds(idle.value)
    );
    longer.then(|| cx.say(&idle, &text))
}
