//! Statements that run for long, as a server's own log shows.

use super::prelude::*;
use super::sums;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::StatementSlow,
    severity: Severity::Warning,
    title: "A statement takes most of the time that the log of statements has",
    id: "statements.time",
    question: "Does one statement take most of the time?",
    how: "Time of all runs of each statement of a log, of that of all statements, and its longest \
        run.",
    limits: &[],
    leads_to: &[Cause::ConnectionsExhausted, Cause::PoolWaits],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see how the statement is carried out",
            "EXPLAIN ANALYZE STATEMENT",
            "a step with far more rows, or time, than the others",
        ),
        Remedy::new(
            Reach::Program,
            "let it do less: an index that fits, fewer rows, parts of it at a time",
            "EXPLAIN STATEMENT",
            "the time of a run falls",
        ),
    ],
    judge,
};

/// Nobody waits for a shorter run.
const RUN_MIN_MS: f64 = 1_000.0;
/// A slow log has the slow runs only: a few short ones are no trouble.
const ALL_RUNS_MIN_MS: f64 = 5_000.0;
/// Of the time of all statements from which on it is most.
const SHARE_MIN_PERCENT: f64 = 50.0;

/// Does one statement take most of the time?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::StatementTime, |_| true);
    let Some((line, sum, all)) = sums::largest(&lines) else {
        return Answer::unknown(&[PG_STATEMENTS]);
    };
    let Some(longest) = cx.highest(line) else { return Answer::unknown(&[PG_STATEMENTS]) };
    let share = if all > 0.0 { sum / all * 100.0 } else { 0.0 };
    let text = format!(
        "{}: {} of the time of all statements of the log, {}, the longest {}",
        line.subject,
        write::value(Unit::Percent, share),
        write::counted(line.points.len() as f64, "run", "runs"),
        write::milliseconds(longest.value)
    );
    let long = longest.value >= RUN_MIN_MS && sum >= ALL_RUNS_MIN_MS;
    let much = long && share >= SHARE_MIN_PERCENT;
    Answer::when(much, 0.3, vec![cx.say(&longest, &text)])
}
