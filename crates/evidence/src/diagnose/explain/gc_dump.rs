//! Java stands still for a dump: it writes its heap, or counts its objects, within the pause.

use super::pauses::{Named, judged};
use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::GcDump,
    severity: Severity::Warning,
    title: "Java stands still for a dump: it writes its heap, or counts its objects, \
            within the pause",
    id: "pauses.dump",
    question: "Is a heap dump or a histogram of classes taken within a pause?",
    how: "Parts of pauses, and pauses, that are a dump of the heap or a histogram of \
            classes.",
    limits: &[T::GcPause, T::GcShare],
    leads_to: &[Cause::GcPauses, Cause::GcWaits, Cause::GcBehind],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see who asks for it: a switch of the program, or a tool",
            "jcmd PID VM.flags | tr ' ' '\\n' | grep -E 'HeapDump|ClassHistogram'; pgrep \
                    -af 'jmap|jcmd'",
            "the switch, or the tool, by its name",
        ),
        Remedy::new(
            Reach::Program,
            "leave that out where users wait",
            "java -XX:-HeapDumpBeforeFullGC -XX:-HeapDumpAfterFullGC \
                    -XX:-PrintClassHistogram ...",
            "the pause without its dump",
        ),
        Remedy::new(
            Reach::Program,
            "where it is needed, write to a fast disk",
            "java -XX:HeapDumpPath=/dev/shm ...  # as large as the heap",
            "its part in seconds instead of minutes",
        ),
    ],
    judge,
};

const NAMED: &[Named] = &[
    (Field::GcPart, &["Heap Dump", "Class Histogram"]),
    (Field::GcCause, &["Heap Dump Initiated GC", "Heap Inspection Initiated GC"]),
];

/// Is a heap dump or a histogram of classes taken within a pause?
fn judge(look: &Look<'_>) -> Answer {
    let limit = look.limit(T::GcPause);
    judged(look, NAMED, limit / 2.0, 0.95)
}
