//! Java's collector falls behind: the heap is full before it has made room.

use super::pauses::{Named, judged};
use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::GcBehind,
    severity: Severity::Warning,
    title: "Java's collector falls behind: the heap is full before it has made room",
    id: "pauses.behind",
    question: "Does the heap fill up before the collector has made room?",
    how: "Pauses in which a concurrent mode failed, a promotion failed, the space to copy \
            to was exhausted or a concurrent collection had to stop the program, and \
            stalls of allocations.",
    limits: &[T::GcPause, T::GcShare],
    leads_to: &[Cause::GcPauses, Cause::GcWaits, Cause::OneCpu],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see how full the heap is when a collection begins, and how fast it fills",
            "hugewise diagnose gc.log  # jstat -gcutil PID 1000",
            "the old part is nearly full when the collector begins",
        ),
        Remedy::new(
            Reach::Program,
            "begin to collect earlier",
            "java -XX:InitiatingHeapOccupancyPercent=35 -XX:G1ReservePercent=20 ...  # \
                    CMS:    -XX:CMSInitiatingOccupancyFraction=60 \
                    -XX:+UseCMSInitiatingOccupancyOnly",
            "no such pause any more",
        ),
        Remedy::new(
            Reach::Program,
            "a larger heap, where the machine or the container has the memory; or more \
                    threads that    collect beside the program",
            "java -Xmx8g -XX:ConcGCThreads=4 ...  # free -h: below what is available",
            "room is left at the end of each concurrent cycle",
        ),
    ],
    judge,
};

const NAMED: &[Named] = &[(
    Field::GcTrouble,
    &[
        "concurrent mode failure",
        "promotion failed",
        "to-space exhausted",
        "degenerated collection",
        "allocation stall",
        "full collection as a last resort",
    ],
)];

/// Does the heap fill up before the collector has made room?
fn judge(look: &Look<'_>) -> Answer {
    let limit = look.limit(T::GcPause);
    judged(look, NAMED, limit, 0.7)
}
