//! A process that takes more and more memory within the recording.

use super::prelude::*;
use crate::diagnose::relate;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ProcessGrows,
    severity: Severity::Warning,
    title: "A process takes more and more memory: it leaks, or takes in without bound",
    id: "memory.grows",
    question: "Does a process take more and more memory?",
    how: "Resident memory of each process over its readings: the steady rise, in bytes and as a \
          factor.",
    limits: &[],
    leads_to: &[
        Cause::MemoryShort,
        Cause::Reclaim,
        Cause::Swapping,
        Cause::OomKills,
        Cause::MemoryPressure,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what grows: the heap, mapped files or shared memory, and whether it levels off",
            "grep -E 'RssAnon|RssFile|RssShmem' /proc/PID/status; sleep 60; \
             grep -E 'RssAnon|RssFile|RssShmem' /proc/PID/status",
            "one of them has the growth",
        ),
        Remedy::new(
            Reach::Program,
            "limit its queues, caches or heap in its own configuration, or restart it in time",
            "ps -o pid,etime,rss,comm -p PID",
            "its resident memory levels off",
        ),
        Remedy::new(
            Reach::Service,
            "a limit for its service, so that it fails before the machine does",
            "systemctl set-property --runtime SERVICE MemoryMax=SIZE",
            "others keep running when it reaches the limit",
        ),
    ],
    judge,
};

/// Judgement: less growth may be a cache that warms up. Both are needed.
const GROWTH_MIN_BYTES: f64 = 4_294_967_296.0;
const GROWTH_MIN_FACTOR: f64 = 1.5;

/// Readings from which on a rise is one.
const READINGS_MIN: usize = 3;

/// How much a process grew, where it hardly ever shrank.
fn growth(line: &Line) -> Option<(f64, f64)> {
    let values: Vec<f64> = line.points.iter().map(|point| point.value).collect();
    let (first, last) = (*values.first()?, *values.last()?);
    let rises = values.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let steady = values.len() >= READINGS_MIN && rises + 1 >= values.len() * 3 / 4;
    // A long recording has few readings that rise one after the other: its ramp decides.
    let ramp = relate::ramp(&line.points).is_some_and(|ramp| ramp.steadiness >= 0.9);
    (last > first && (steady || ramp)).then_some((first, last))
}

/// Does a process take more and more memory?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.all_readings(Field::ProcRss);
    let read_again = lines.iter().filter(|line| line.points.len() >= READINGS_MIN);
    let mut most: Option<(f64, f64, &Line)> = None;
    let mut seen_any = false;
    for line in read_again {
        seen_any = true;
        let Some((first, last)) = growth(line) else { continue };
        if most.is_none_or(|(from, to, _)| last - first > to - from) {
            most = Some((first, last, line));
        }
    }
    let Some((first, last, line)) = most else {
        return if seen_any { Answer::no(Vec::new()) } else { Answer::unknown(&[PROCESS_MEMORY]) };
    };
    let Some(peak) = cx.highest(line) else { return Answer::unknown(&[PROCESS_MEMORY]) };
    let text = format!(
        "{}: resident memory grew from {} to {} within {} readings",
        line.subject,
        write::bytes(first),
        write::bytes(last),
        line.points.len()
    );
    let much = last - first >= GROWTH_MIN_BYTES && last >= first.max(1.0) * GROWTH_MIN_FACTOR;
    let share = cx.memory_bytes().map_or(0.5, |total| (last - first) / total);
    Answer::when(much, share, vec![cx.say(&peak, &text)])
}
