//! Programs whose heap was full.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::HeapExhausted,
    severity: Severity::Warning,
    title: "A program's heap is full: it could not allocate, whatever the machine has free",
    id: "heap.exhausted",
    question: "Does a program say that its heap is full?",
    how: "Errors of runtimes with a heap of a fixed size: Java, Node.js.",
    limits: &[],
    leads_to: &[Cause::GcPauses, Cause::LogErrors, Cause::ServerTrouble],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what fills the heap",
            "jcmd PID GC.class_histogram | head -20",
            "one class, or a few, hold most bytes",
        ),
        Remedy::new(
            Reach::Program,
            "keep less alive: bound the cache, the result or the batch that fills it",
            "jcmd PID GC.heap_dump /tmp/heap.hprof",
            "the heap after a full collection no longer grows",
        ),
        Remedy::new(
            Reach::Service,
            "a larger heap, where the machine or the cgroup has room beside it",
            "java -Xmx8g PROGRAM  # node --max-old-space-size=8192 PROGRAM",
            "the error does not come again, and no kill for memory instead",
        ),
    ],
    judge,
};

/// Does a program say that its heap is full?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::HeapErrors, |_| true);
    let Some(line) = lines.iter().max_by_key(|line| line.points.len()) else {
        return Answer::unknown(&[SERVER_LOG]);
    };
    let Some(seen) = cx.highest(line) else { return Answer::unknown(&[SERVER_LOG]) };
    let times = write::counted(line.points.len() as f64, "time", "times");
    Answer::yes(0.5, vec![cx.say(&seen, &format!("{}: its heap was full, {times}", line.subject))])
}
