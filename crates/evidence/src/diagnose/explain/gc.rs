//! What stops Java for its collector, a table: the mechanism of pauses, or of parts of them, the
//! question, what a yes means and what to do.

use super::prelude::*;
use crate::diagnose::nodes::stood_still;
use crate::recording::Mechanism;

/// An explanation each: its fields, and what judges it: a mechanism, how long it is felt as a
/// multiple of gc_pause_high_ms, and what it weighs.
macro_rules! mechanisms {
    ($($name:ident ($mechanism:ident $felt:literal $weight:literal) { $($fields:tt)* })+) => {
        $(pub(super) mod $name {
            use crate::diagnose::explain::gc::judged;
            use crate::diagnose::explain::prelude::*;
            use crate::recording::Mechanism;

            pub(in crate::diagnose::explain) const EXPLANATION: Explanation = Explanation {
                severity: Severity::Warning,
                limits: &[T::GcPause, T::GcShare],
                judge: |cx| judged(cx, Mechanism::$mechanism, $felt, $weight),
                $($fields)*
            };
        })+
    };
}

mechanisms! {
    dump (Dump 0.5 0.95) {
        cause: Cause::GcDump,
        title: "Java stands still for a dump: it writes its heap, or counts its objects, \
                within the pause",
        id: "pauses.dump",
        question: "Is a heap dump or a histogram of classes taken within a pause?",
        how: "Parts of pauses, and pauses, that are a dump of the heap or a histogram of \
                classes.",
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
    }

    behind (Behind 1.0 0.7) {
        cause: Cause::GcBehind,
        title: "Java's collector falls behind: the heap is full before it has made room",
        id: "pauses.behind",
        question: "Does the heap fill up before the collector has made room?",
        how: "Pauses in which a concurrent mode failed, a promotion failed, the space to copy \
                to was exhausted or a concurrent collection had to stop the program, and \
                stalls of allocations.",
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
    }

    humongous (Humongous 1.0 0.6) {
        cause: Cause::GcHumongous,
        title: "Large objects fill whole regions of G1's heap and force collections",
        id: "pauses.humongous",
        question: "Do objects that are larger than half a region of G1 force collections?",
        how: "Pauses whose cause is a humongous allocation.",
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
    }

    explicit (Explicit 1.0 0.8) {
        cause: Cause::GcExplicit,
        title: "Somebody asks for collections of the whole heap: the program, by System.gc(), or a \
                tool",
        id: "pauses.explicit",
        question: "Are long collections asked for by the program?",
        how: "Pauses whose cause is System.gc(), from the program or from RMI, or a tool or agent \
              that asks for them, and those that interrupt a concurrent collection for that.",
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
    }

    metaspace (Classes 1.0 0.8) {
        cause: Cause::GcMetaspace,
        title: "The space of Java's classes is full: each time the whole heap is collected",
        id: "pauses.metaspace",
        question: "Is the heap collected because the space of classes is full?",
        how: "Pauses whose cause is the metaspace or the permanent generation.",
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
    }

    references (References 0.5 0.9) {
        cause: Cause::GcReferences,
        title: "Java's pauses are the work on references: weak, soft and final ones",
        id: "pauses.references",
        question: "Do references take most of a long pause?",
        how: "The part of a pause that works on references, if it is at least half of \
                gc_pause_high_ms.",
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
    }
}

/// Pauses, or parts of them, of one mechanism.
struct Reason {
    /// The longest of them.
    longest: Reading,
    count: usize,
    /// Their time, of that of all pauses, 0 to 1.
    share: f64,
}

/// The pauses of this mechanism. One that shows it in two ways counts once: its longest.
fn with(cx: &Context<'_>, wanted: Mechanism) -> Option<Reason> {
    let of = |subject: &Subject| subject.mechanism() == Some(wanted);
    let mut best: Option<(f64, Reason)> = None;
    for field in [Field::GcPart, Field::GcCause, Field::GcTrouble] {
        for line in cx.lines(field, of) {
            let sum: f64 = line.points.iter().map(|point| point.value).sum();
            let Some(peak) = cx.highest(&line) else { continue };
            let count = line.points.len();
            let Some((all, found)) = &mut best else {
                best = Some((sum, Reason { longest: peak, count, share: 1.0 }));
                continue;
            };
            *all = all.max(sum);
            found.count = found.count.max(count);
            if peak.value > found.longest.value {
                found.longest = peak;
            }
        }
    }
    let (sum, reason) = best?;
    let pauses = cx.lines(Field::GcPause, |_| true);
    let all: f64 = pauses.iter().flat_map(|line| &line.points).map(|point| point.value).sum();
    Some(Reason { share: if all > 0.0 { (sum / all).min(1.0) } else { 1.0 }, ..reason })
}

/// Whether Java stops for long for one of these: one such pause is felt, or they are most of the
/// time in which it stood still, where that is much.
fn judged(cx: &Context<'_>, mechanism: Mechanism, felt: f64, weight: f64) -> Answer {
    let known = [Field::GcPause, Field::GcTrouble, Field::GcPart];
    if known.into_iter().all(|field| cx.top(field).is_none()) {
        return Answer::unknown(&[GC]);
    }
    let Some(reason) = with(cx, mechanism) else { return Answer::no(Vec::new()) };
    let much = stood_still(cx)
        .is_some_and(|share| share * reason.share * 100.0 >= cx.limit(T::GcShare) / 2.0);
    let text = format!(
        "{}: {}, {:.0} % of the time of all pauses, the longest {}",
        reason.longest.subject.part_name().unwrap_or_default(),
        write::counted(reason.count as f64, "time", "times"),
        reason.share * 100.0,
        write::milliseconds(reason.longest.value)
    );
    let evidence = vec![cx.say(&reason.longest, &text)];
    let long = reason.longest.value >= cx.limit(T::GcPause) * felt;
    Answer::when(much || long, weight * reason.share, evidence)
}
