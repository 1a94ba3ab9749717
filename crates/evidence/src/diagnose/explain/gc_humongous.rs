//! Large objects fill whole regions of G1's heap and force collections.

use super::pauses::{Named, judged};
use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::GcHumongous,
    severity: Severity::Warning,
    title: "Large objects fill whole regions of G1's heap and force collections",
    id: "pauses.humongous",
    question: "Do objects that are larger than half a region of G1 force collections?",
    how: "Pauses whose cause is a humongous allocation.",
    limits: &[T::GcPause, T::GcShare],
    leads_to: &[Cause::GcPauses],
    remedies: &[
        Remedy::only(
            When::JavaBefore(9),
            Reach::Look,
            "see how large the objects are",
            "java -XX:+PrintAdaptiveSizePolicy ...",
            "'allocation request' of half a region or more",
        ),
        Remedy::only(
            When::Java(9),
            Reach::Look,
            "see which objects are that large",
            "java -Xlog:gc+humongous=debug ...",
            "arrays of half a region or more",
        ),
        Remedy::new(
            Reach::Program,
            "larger regions: an object below half of one is an ordinary one",
            "java -XX:G1HeapRegionSize=32m ...",
            "G1 Humongous Allocation is no cause any more",
        ),
        Remedy::new(
            Reach::Program,
            "smaller buffers: read and write large data in pieces",
            "jcmd PID GC.class_histogram | head -20",
            "no array of megabytes among the first",
        ),
    ],
    judge,
};

const NAMED: &[Named] = &[(Field::GcCause, &["G1 Humongous Allocation"])];

/// Do objects that are larger than half a region of G1 force collections?
fn judge(look: &Look<'_>) -> Answer {
    let limit = look.limit(T::GcPause);
    judged(look, NAMED, limit, 0.6)
}
