//! The program asks for collections of the whole heap itself, by System.gc().

use super::pauses::{Named, judged};
use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::GcExplicit,
    severity: Severity::Warning,
    title: "Somebody asks for collections of the whole heap: the program, by System.gc(), or a \
            tool",
    id: "pauses.explicit",
    question: "Are long collections asked for by the program?",
    how: "Pauses whose cause is System.gc(), from the program or from RMI, or a tool or agent that \
          asks for them, and those that interrupt a concurrent collection for that.",
    limits: &[T::GcPause, T::GcShare],
    leads_to: &[Cause::GcPauses],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see who calls it",
            "jstack PID | grep -B20 System.gc  # RMI: every hour",
            "a stack with java.lang.System.gc or sun.misc.GC",
        ),
        Remedy::new(
            Reach::Program,
            "let it be ignored; where direct buffers are freed that way, let it run \
                    beside the program",
            "java -XX:+DisableExplicitGC ...  # -XX:+ExplicitGCInvokesConcurrent",
            "no pause with that cause",
        ),
        Remedy::new(
            Reach::Program,
            "RMI asks less often",
            "java -Dsun.rmi.dgc.server.gcInterval=86400000 \
                    -Dsun.rmi.dgc.client.gcInterval=86400000 ...",
            "a day between them",
        ),
    ],
    judge,
};

const NAMED: &[Named] = &[
    (
        Field::GcCause,
        &["System.gc()", "System", "Diagnostic Command", "JvmtiEnv ForceGarbageCollection"],
    ),
    (Field::GcTrouble, &["concurrent mode interrupted"]),
];

/// Are long collections asked for by the program?
fn judge(look: &Look<'_>) -> Answer {
    let limit = look.limit(T::GcPause);
    judged(look, NAMED, limit, 0.8)
}
