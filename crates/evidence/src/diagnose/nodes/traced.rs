//! What a trace of a program's system calls says by itself.

use super::prelude::*;

/// Calls that wait until data are safe.
const FLUSHES: [&str; 5] = ["fsync", "fdatasync", "msync", "sync_file_range", "syncfs"];

/// A program of which a trace says that it mostly waits for data to be safe.
pub(super) fn flushes(cx: &Context<'_>) -> Option<Evidence> {
    let flush = |subject: &Subject| FLUSHES.contains(&subject.to_string().as_str());
    let most = cx.top_of(Field::SyscallShare, flush)?;
    let each = cx.latest(Field::SyscallTime, &most.subject)?;
    let calls = cx.latest(Field::SyscallCalls, &most.subject)?;
    let much = most.value >= cx.limit(T::FlushBusy)
        && each.value >= cx.limit(T::FlushLong)
        && calls.value >= CALLS_MIN;
    let text = format!(
        "{}: {} calls took {} each, {} of the time in traced calls",
        most.subject,
        write::number(calls.value),
        write::milliseconds(each.value),
        write::value(Unit::Percent, most.value)
    );
    much.then(|| cx.say(&most, &text))
}

/// Fewer calls say nothing of the others.
const CALLS_MIN: f64 = 10.0;
