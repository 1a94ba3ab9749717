//! A fast disk whose user asks for one thing after the other.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::SerialRequests,
    severity: Severity::Warning,
    title: "Programs wait for one request after the other: the disk answers each at once",
    id: "disk.serial",
    question: "Do programs wait for one request after the other on a fast disk?",
    how: "A disk in use most of the time with few requests in its queue, each served within half \
          a millisecond.",
    limits: &[T::DiskInUse, T::DiskQueue],
    leads_to: &[
        Cause::Iowait,
        Cause::DiskLatency,
        Cause::IoPressure,
        Cause::Blocked,
        Cause::OneDisk,
    ],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which program it is, and whether it reads the same data again",
            "pidstat -d 1 5; cat /proc/PID/io",
            "one program has nearly all requests",
        ),
        Remedy::new(
            Reach::Program,
            "let it ask for more at once: larger blocks, read-ahead, io_uring or several threads; \
             or cache what it reads again",
            "blockdev --getra /dev/DISK",
            "aqu-sz rises above 1 and the rate with it",
        ),
    ],
    judge,
};

/// Flash answers within this time: 0.10 to 0.28 ms in tests/recordings/real (hdd, hddrnd, io).
const PROMPT_MS: f64 = 0.5;
/// Fewer requests a second are no bottleneck.
const RATE_MIN_PER_S: f64 = 500.0;
/// A disk that is in use for less has no user that waits for it all the time.
const BUSY_MIN_PERCENT: f64 = 60.0;

/// Do programs wait for one request after the other on a fast disk?
fn judge(cx: &Context<'_>) -> Answer {
    let disk = |subject: &Subject| matches!(subject, Subject::Disk(_));
    let Some(busiest) = cx.top_of(Field::DiskBusy, disk) else {
        return Answer::unknown(&[DISKS]);
    };
    let of = |field: Field| cx.peak(field, &busiest.subject).map(|seen| seen.value);
    let waits = [Field::DiskAwait, Field::DiskReadAwait, Field::DiskWriteAwait];
    let wait = waits.into_iter().filter_map(of).reduce(f64::max);
    let (Some(queue), Some(wait)) = (of(Field::DiskQueue), wait) else {
        return Answer::unknown(&[DISKS]);
    };
    let halves = [Field::DiskReads, Field::DiskWrites].into_iter().filter_map(of).sum();
    let rate: f64 = of(Field::DiskTransfers).unwrap_or(halves);
    let text = format!(
        "{}: {} requests a second, {} in its queue, each takes {}",
        busiest.subject,
        write::number(rate),
        write::number(queue),
        write::milliseconds(wait)
    );
    let waiting = cx.mean_of(Field::CpuIowait);
    let waited_for =
        waiting.as_ref().is_some_and(|mean| mean.value >= cx.limit(T::DiskInUse) / 3.0);
    let serial = queue < cx.limit(T::DiskQueue) && wait > 0.0 && wait < PROMPT_MS;
    let much = busiest.value >= BUSY_MIN_PERCENT && rate >= RATE_MIN_PER_S;
    let evidence = vec![cx.say(&busiest, &text)];
    Answer::when(serial && much && waited_for, busiest.value / 200.0, evidence)
        .backed(waiting.map(|seen| cx.quote(&seen)))
}
