//! Waits that a tracing tool shows, as a histogram or one by one.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::LongWaits,
    severity: Severity::Warning,
    title: "A trace shows long waits",
    id: "wait.histogram",
    question: "Does a tracing tool show long waits?",
    how: "The time within which 99 of 100 events of a histogram ended; the longest request, wait \
          for a CPU or call that a trace lists, calls that are there to wait left out.",
    limits: &[],
    leads_to: &[],
    remedies: &[Remedy::new(
        Reach::Look,
        "see the same by disk, or by process",
        "biolatency -D 10 1; runqlat -P 10 1",
        "one disk or one process has the long ones",
    )],
    judge,
};

/// What a user of a disk, or of a CPU, notices; disks that turn answer within 20 ms.
const LONG_MS: f64 = 100.0;
/// Fewer events say little about one in a hundred.
const EVENTS_MIN: f64 = 100.0;

/// Does a tracing tool show long waits?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(slow) = cx.top(Field::Latency99) else {
        return one_by_one(cx).unwrap_or_else(|| Answer::unknown(&[TRACED]));
    };
    let events = cx.peak(Field::LatencyEvents, &slow.subject).map_or(0.0, |seen| seen.value);
    let of = |field: Field| cx.peak(field, &slow.subject);
    let parts = of(Field::LatencyMedian).zip(of(Field::LatencyMost)).map(|(median, most)| {
        format!(
            "; half within {}, all within {}",
            write::milliseconds(median.value),
            write::milliseconds(most.value)
        )
    });
    let text = format!(
        "{}: 99 of 100 events within {}{}",
        slow.subject,
        write::milliseconds(slow.value),
        parts.unwrap_or_default()
    );
    let long = slow.value >= LONG_MS && events >= EVENTS_MIN;
    Answer::when(long, 0.4, vec![cx.say(&slow, &text)])
}

/// Calls that are there to wait.
const WAITING: [&str; 16] = [
    "accept",
    "accept4",
    "clock_nanosleep",
    "epoll_pwait",
    "epoll_wait",
    "futex",
    "io_getevents",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "restart_syscall",
    "select",
    "wait4",
    "waitid",
];

/// The longest event of a list of them.
fn one_by_one(cx: &Context<'_>) -> Option<Answer> {
    const LISTED: [Field; 3] = [Field::ProcRequest, Field::RunDelayEvent, Field::SyscallLongest];
    let works = |subject: &Subject| !WAITING.contains(&subject.to_string().as_str());
    let longest = most(LISTED.into_iter().filter_map(|field| cx.top_of(field, works)))?;
    Some(Answer::when(longest.value >= LONG_MS, 0.4, vec![cx.quote(&longest)]))
}
