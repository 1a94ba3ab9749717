//! Statements whose sorts and hashes do not fit into their memory.

use super::prelude::*;
use super::sums;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::TemporaryFiles,
    severity: Severity::Warning,
    title: "Statements sort, hash or keep rows on disk: the memory that each may use is too small \
        for them",
    id: "statements.temporary",
    question: "Do statements write temporary files?",
    how: "Sizes of temporary files and tables on disk that a server logs.",
    limits: &[],
    leads_to: &[Cause::StatementSlow],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which step writes to disk",
            "EXPLAIN (ANALYZE, BUFFERS) STATEMENT",
            "external merge Disk: ..., Batches: above 1, temp written",
        ),
        Remedy::new(
            Reach::Program,
            "let it sort less: an index in the order that is wanted, fewer rows and columns",
            "EXPLAIN STATEMENT",
            "no external merge",
        ),
        Remedy::new(
            Reach::Service,
            "more memory for this statement's role only (each step of each session may take it)",
            "psql -c 'alter role ROLE set work_mem = \"64MB\"'  # MySQL: tmp_table_size, \
                sort_buffer_size",
            "no temporary file is logged",
        ),
    ],
    judge,
};

/// What the page cache takes unnoticed.
const ONE_MIN_BYTES: f64 = 256.0 * 1048576.0;
const ALL_MIN_BYTES: f64 = 1024.0 * 1048576.0;

/// Do statements write temporary files?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::TemporaryFile, |_| true);
    let Some((line, sum, all)) = sums::largest(&lines) else {
        return Answer::unknown(&[SERVER_LOG]);
    };
    let Some(longest) = cx.highest(line) else { return Answer::unknown(&[SERVER_LOG]) };
    let text = format!(
        "{}: {} of temporary files, {}, the largest {}; {} of all statements",
        line.subject,
        write::bytes(sum),
        write::counted(line.points.len() as f64, "time", "times"),
        write::bytes(longest.value),
        write::bytes(all)
    );
    let much = longest.value >= ONE_MIN_BYTES || all >= ALL_MIN_BYTES;
    Answer::when(much, 0.4, vec![cx.say(&longest, &text)])
}
