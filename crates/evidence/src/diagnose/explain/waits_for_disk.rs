//! Tasks that wait for a disk that moves hardly any data.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::WaitsForDisk,
    severity: Severity::Warning,
    title: "Tasks wait for storage that moves hardly any data: each request takes long",
    id: "io.waits",
    question: "Do tasks wait for storage although hardly any data moves?",
    how: "Tasks in uninterruptible wait, against the most requests that so many bytes can be: by \
          Little's law a request takes at least tasks divided by requests a second.",
    limits: &[],
    leads_to: &[Cause::Iowait, Cause::IoPressure, Cause::Blocked],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see which disk is slow, and whether it complains",
            "iostat -x 1 5; dmesg -T | grep -iE 'i/o error|ata|nvme|timeout' | tail",
            "r_await or w_await of one disk is tens of milliseconds at a few requests a second",
        ),
        Remedy::new(
            Reach::Look,
            "see who waits, and in which function: network file systems wait there as well",
            "ps -eo pid,stat,wchan:32,comm | awk '$2 ~ /D/'",
            "names such as jbd2, nfs_ or rpc_ lead to the disk or server",
        ),
    ],
    judge,
};

/// Fewer samples are a moment.
const SAMPLES_MIN: usize = 4;
/// Half a task that waits all the time: judgement.
const TASKS_MIN: f64 = 0.5;
/// Disks that turn answer a random request within this time.
const LONG_MS: f64 = 10.0;
/// The least that a file system writes or reads.
const REQUEST_BYTES: f64 = 4096.0;

/// Do tasks wait for storage although hardly any data moves?
fn judge(cx: &Context<'_>) -> Answer {
    // Where disks are listed, their own times say more.
    if cx.top(Field::DiskBusy).is_some() {
        return Answer::unknown(&[DISKS]);
    }
    let waiting = cx.line(Field::Blocked, &Subject::Machine);
    let Some(waiting) = waiting.filter(|line| line.points.len() >= SAMPLES_MIN) else {
        return Answer::unknown(&[TASKS]);
    };
    let moved = [Field::PageIn, Field::PageOut].map(|field| cx.mean_of(field));
    let (Some(tasks), [Some(read), Some(written)]) = (cx.mean(&waiting), moved) else {
        return Answer::unknown(&[TASKS, DISKS]);
    };
    let Some(idle) = cx.mean_of(Field::CpuIowait) else { return Answer::unknown(&[CPU]) };
    let bytes = read.value + written.value;
    let least_ms = tasks.value / (bytes / REQUEST_BYTES).max(1.0) * 1e3;
    let text = format!(
        "{} tasks wait (mean) while {}/s move: a request takes {} at least",
        write::number(tasks.value),
        write::bytes(bytes),
        write::milliseconds(least_ms)
    );
    let long = tasks.value >= TASKS_MIN && least_ms >= LONG_MS;
    // Tasks that wait for something else leave the CPUs idle, not waiting.
    let of_storage = idle.value >= cx.limit(T::IowaitHigh) / 4.0;
    let answer = Answer::when(long && of_storage, 0.5, vec![cx.derive(&tasks, &text)]);
    answer.and([cx.quote(&idle)])
}
