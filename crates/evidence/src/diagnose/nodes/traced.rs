//! What a trace of a program's system calls says by itself.

use super::prelude::*;

/// Calls that wait until data are safe.
const FLUSHES: [&str; 5] = ["fsync", "fdatasync", "msync", "sync_file_range", "syncfs"];

/// A program of which a trace says that it mostly waits for data to be safe.
pub(super) fn flushes(look: &Look<'_>) -> Option<Evidence> {
    let flush = |subject: &Subject| FLUSHES.contains(&subject.to_string().as_str());
    let most = look.top_of(Field::SyscallShare, flush)?;
    let each = look.latest(Field::SyscallTime, &most.subject)?;
    let calls = look.latest(Field::SyscallCalls, &most.subject)?;
    let much = most.value >= look.limit(T::FlushBusy)
        && each.value >= look.limit(T::FlushLong)
        && calls.value >= CALLS_MIN;
    let text = format!(
        "{}: {} calls took {} each, {} of the time in traced calls",
        most.subject,
        write::number(calls.value),
        write::milliseconds(each.value),
        write::value(Unit::Percent, most.value)
    );
    much.then(|| look.say(&most, &text))
}

/// Fewer calls say nothing of the others.
const CALLS_MIN: f64 = 10.0;
