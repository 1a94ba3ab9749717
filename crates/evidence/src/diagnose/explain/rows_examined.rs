//! Statements that look at far more rows than they give back.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::RowsExamined,
    severity: Severity::Warning,
    title: "A statement looks at far more rows than it gives back: an index is missing, or \
            is not used",
    id: "statements.rows",
    question: "Do statements look at far more rows than they give back?",
    how: "Rows examined against rows sent, of the statements of a slow log.",
    limits: &[],
    leads_to: &[Cause::LogErrors, Cause::PgStatement, Cause::StatementSlow],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see how the statement is carried out",
            "EXPLAIN ANALYZE STATEMENT",
            "a whole table is read (type ALL, Seq Scan)",
        ),
        Remedy::new(
            Reach::Program,
            "an index that fits its condition and order; a condition that can use one (no \
             leading wildcard)",
            "CREATE INDEX ... ON TABLE (COLUMNS)",
            "rows examined near rows sent",
        ),
    ],
    judge,
};

/// Fewer rows are read in a moment.
const ROWS_MIN: f64 = 100_000.0;
/// Rows examined for each that is sent.
const FACTOR_MIN: f64 = 1_000.0;

/// Do statements look at far more rows than they give back?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(most) = cx.top(Field::StatementExamined) else {
        return Answer::unknown(&[PG_STATEMENTS]);
    };
    let sent = cx.peak(Field::StatementSent, &most.subject).map_or(0.0, |sent| sent.value);
    let text = format!(
        "{}: {} rows examined for {} that it sent",
        most.subject,
        write::number(most.value),
        write::number(sent)
    );
    let much = most.value >= ROWS_MIN && most.value >= sent.max(1.0) * FACTOR_MIN;
    Answer::when(much, 0.4, vec![cx.say(&most, &text)])
}
