//! Pages of programs and files that are dropped and read again at once.

use super::prelude::*;
use crate::diagnose::nodes::daemon;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::Thrashing,
    severity: Severity::Warning,
    title: "Thrashing: programs wait for pages of their own code and files that were just dropped",
    id: "memory.thrashing",
    question: "Are pages dropped that are needed again at once?",
    how: "Page faults that read a disk, as a share of all faults, beside pages that are reclaimed.",
    limits: &[T::ReclaimScan],
    leads_to: &[
        Cause::Churn,
        Cause::Faults,
        Cause::Reclaim,
        Cause::MemoryShort,
        Cause::MemoryPressure,
        Cause::Iowait,
        Cause::IoPressure,
        Cause::DiskSaturated,
        Cause::DiskRandom,
        Cause::DiskBandwidth,
        Cause::DiskLatency,
        Cause::KernelTime,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see who needs the memory, and who waits for its pages",
            "ps -eo pid,rss,maj_flt,comm --sort=-rss | head; pidstat -r 1 5",
            "one program has most memory, others have majflt/s above 0",
        ),
        Remedy::new(
            Reach::Program,
            "give the largest program less: buffer pool, heap or number of workers in its own \
             configuration",
            "ps -eo pid,rss,comm --sort=-rss | head",
            "sar -B 1 10: majflt/s and pgsteal/s near 0",
        ),
        Remedy::new(
            Reach::Service,
            "protect the working set of what must answer",
            "systemctl set-property --runtime SERVICE MemoryLow=SIZE",
            "workingset_refault_file in its memory.stat stops growing",
        ),
        Remedy::new(Reach::Hardware, "add memory", "free -h", "available memory stays above 5 %"),
    ],
    judge,
};

/// Judgement: fewer such faults a second are the start of a program (44 in
/// tests/recordings/real/bigheap.sar).
const MAJOR_MIN_PER_S: f64 = 50.0;
/// Of all faults: at most 1.8 in all samples of tests/recordings/real; a fifth is many.
const MAJOR_MIN_PERCENT: f64 = 20.0;

/// Are pages dropped that are needed again at once?
fn judge(cx: &Context<'_>) -> Answer {
    let machine = &Subject::Machine;
    let major = cx.line(Field::MajorFaults, machine).and_then(|line| cx.sustained(&line));
    let all = cx.line(Field::Faults, machine).and_then(|line| cx.sustained(&line));
    let (Some(major), Some(all)) = (major, all) else {
        return reread(cx).unwrap_or_else(|| Answer::unknown(&[PAGING]));
    };
    let percent = major.value / all.value.max(major.value).max(1.0) * 100.0;
    let text = format!(
        "{} of {} page faults a second read a disk",
        write::number(major.value),
        write::number(all.value)
    );
    let mut evidence = vec![cx.say(&major, &text)];
    let taken = [Field::Steal, Field::ScanDirect, Field::ScanKswapd, Field::Scan];
    let mut taken = taken.into_iter().filter_map(|field| cx.mean_of(field));
    let taken = taken.find(|seen| seen.value >= cx.limit(T::ReclaimScan));
    let little = machine::memory::room_percent(cx)
        .is_some_and(|room| room.reaches(cx.limit(T::AvailableAmple)) == Some(false));
    let reclaims = taken.is_some() || little;
    evidence.extend(taken.map(|seen| cx.quote(&seen)));
    let much = major.value >= MAJOR_MIN_PER_S && percent >= MAJOR_MIN_PERCENT && reclaims;
    Answer::when(much, 0.9, evidence)
}

/// CPUs that wait for a disk, of all, while kswapd works and little is left: judgement.
const WAITING_MIN_PERCENT: f64 = 20.0;

/// The same where nobody counts faults: kswapd works, hardly anything is available, and the CPUs
/// wait for the disk.
fn reread(cx: &Context<'_>) -> Option<Answer> {
    let waits = cx.mean_of(Field::CpuIowait)?;
    let room = machine::memory::room(cx)?;
    let kswapd = daemon(cx, "kswapd");
    if !kswapd.is_yes() {
        return None;
    }
    let percent = machine::memory::room_percent(cx)?;
    let little = percent.reaches(cx.limit(T::AvailableAmple)) == Some(false);
    let much = waits.value >= WAITING_MIN_PERCENT && little;
    let evidence = [cx.quote(&room.seen), cx.quote(&waits)];
    much.then(|| Answer::yes(0.7, kswapd.evidence).and(evidence).lacking(&[PAGING]))
}
