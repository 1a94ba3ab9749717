//! The space of Java's classes is full: each time the whole heap is collected.

use super::pauses::{Named, judged};
use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::GcMetaspace,
    severity: Severity::Warning,
    title: "The space of Java's classes is full: each time the whole heap is collected",
    id: "pauses.metaspace",
    question: "Is the heap collected because the space of classes is full?",
    how: "Pauses whose cause is the metaspace or the permanent generation.",
    limits: &[T::GcPause, T::GcShare],
    leads_to: &[Cause::GcPauses],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see whether classes are loaded again and again, and never unloaded",
            "jcmd PID GC.class_stats; jcmd PID VM.classloader_stats  # jmap -clstats PID",
            "many loaders of the same name: they leak",
        ),
        Remedy::new(
            Reach::Program,
            "begin with what it needs, and have a limit above that",
            "java -XX:MetaspaceSize=512m -XX:MaxMetaspaceSize=1g ...  # before JDK 8: \
                    -XX:MaxPermSize",
            "no pause with that cause after the start",
        ),
        Remedy::new(
            Reach::Program,
            "let go of class loaders: redeployments, scripts and proxies that make \
                    classes for each request",
            "jcmd PID GC.class_histogram | grep ClassLoader",
            "the number of loaders stays",
        ),
    ],
    judge,
};

const NAMED: &[Named] = &[(
    Field::GcCause,
    &[
        "Metadata GC Threshold",
        "Metadata GC Clear Soft References",
        "Last ditch collection",
        "permanent generation full",
    ],
)];

/// Is the heap collected because the space of classes is full?
fn judge(look: &Look<'_>) -> Answer {
    let limit = look.limit(T::GcPause);
    judged(look, NAMED, limit, 0.8)
}
