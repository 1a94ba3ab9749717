//! Java's pauses are the work on references: weak, soft and final ones.

use super::pauses::{Named, judged};
use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::GcReferences,
    severity: Severity::Warning,
    title: "Java's pauses are the work on references: weak, soft and final ones",
    id: "pauses.references",
    question: "Do references take most of a long pause?",
    how: "The part of a pause that works on references, if it is at least half of \
            gc_pause_high_ms.",
    limits: &[T::GcPause, T::GcShare],
    leads_to: &[Cause::GcPauses],
    remedies: &[
        Remedy::only(
            When::JavaBefore(9),
            Reach::Look,
            "see which of them",
            "java -XX:+PrintReferenceGC ...",
            "one kind has most of the time",
        ),
        Remedy::only(
            When::Java(9),
            Reach::Look,
            "see which of them",
            "java -Xlog:gc+phases+ref=debug,gc+ref=debug ...",
            "one kind has most of the time",
        ),
        Remedy::new(
            Reach::Program,
            "work on them with all threads of the collector",
            "java -XX:+ParallelRefProcEnabled ...",
            "Ref Proc is a small part",
        ),
        Remedy::new(
            Reach::Program,
            "fewer of them: finalizers, weak caches, thread locals; soft ones that live \
                    less long",
            "java -XX:SoftRefLRUPolicyMSPerMB=10 ...",
            "their number in the log falls",
        ),
    ],
    judge,
};

const NAMED: &[Named] = &[(
    Field::GcPart,
    &[
        "Ref Proc",
        "Reference Processing",
        "weak refs processing",
        "SoftReference",
        "WeakReference",
        "FinalReference",
        "PhantomReference",
        "JNI Weak Reference",
        "Ref Enq",
    ],
)];

/// Do references take most of a long pause?
fn judge(look: &Look<'_>) -> Answer {
    let limit = look.limit(T::GcPause);
    judged(look, NAMED, limit / 2.0, 0.9)
}
