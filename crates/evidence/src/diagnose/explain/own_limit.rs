//! Memory of which a program lets itself have so much and no more, beside a heap.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::OwnLimit,
    severity: Severity::Warning,
    title: "A program has reached a limit of memory that it has set itself, whatever the machine \
            has free",
    id: "memory.own_limit",
    question: "Does a program say that it reached its own limit of memory?",
    how: "Messages of Java about its direct buffers, metaspace and code cache, of ClickHouse about \
          queries and the server, of Elasticsearch about its breakers.",
    limits: &[],
    leads_to: &[Cause::GcPauses, Cause::LogErrors, Cause::ServerTrouble],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what takes it",
            "jcmd PID VM.native_memory summary  # SELECT query, memory_usage FROM system.processes",
            "one part, or one statement, has most",
        ),
        Remedy::new(
            Reach::Program,
            "ask for less at once: smaller results and batches, buffers that are given back, \
             fewer classes made at run time",
            "jcmd PID VM.classloader_stats  # SET max_bytes_before_external_group_by = 1000000000",
            "the message does not come again",
        ),
        Remedy::new(
            Reach::Service,
            "raise the limit, where the machine or the cgroup has room beside it",
            "java -XX:MaxDirectMemorySize=1g -XX:MaxMetaspaceSize=512m \
             -XX:ReservedCodeCacheSize=512m PROGRAM  # ClickHouse: max_server_memory_usage",
            "the message does not come again, and no kill for memory instead",
        ),
    ],
    judge,
};

/// Does a program say that it reached its own limit of memory?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::OwnLimit, |_| true);
    let Some(line) = lines.iter().max_by_key(|line| line.points.len()) else {
        return Answer::unknown(&[SERVER_LOG]);
    };
    let Some(seen) = cx.highest(line) else { return Answer::unknown(&[SERVER_LOG]) };
    let times = write::counted(line.points.len() as f64, "time", "times");
    let told = cx.line(Field::OwnLimitBytes, &line.subject);
    let limit = told.and_then(|told| cx.highest(&told));
    let limit =
        limit.map_or_else(String::new, |limit| format!(" of {}", write::bytes(limit.value)));
    let text = format!("{}: the limit{limit} was reached, {times}", line.subject);
    Answer::yes(0.5, vec![cx.say(&seen, &text)])
}
