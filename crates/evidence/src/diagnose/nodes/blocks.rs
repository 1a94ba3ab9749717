//! Blocks in one piece: whether they are free, and whether faults find them.

use super::prelude::*;

/// Is there no free block of a huge page's size though memory is free?
pub(super) fn fragmentation(cx: &Context<'_>) -> Answer {
    let index = cx.line(Field::Fmfi, &Subject::Machine);
    let seen = index.and_then(|line| cx.highest(&line));
    let Some(seen) = seen else { return Answer::unknown(&[BUDDYINFO]) };
    let blocks = cx.state(Field::FreeHugeBlocks).map(|seen| cx.quote(&seen));
    let evidence = vec![cx.quote(&seen)];
    Answer::when(seen.value >= cx.limit(T::FmfiHigh), 0.4, evidence).and(blocks)
}

/// Do faults that want a huge page get none?
pub(super) fn fallback(cx: &Context<'_>) -> Answer {
    let rates = (cx.mean_of(Field::ThpFaultFallback), cx.mean_of(Field::ThpFaultAlloc));
    let counts = || (cx.state(Field::ThpFaultFallbackCount), cx.state(Field::ThpFaultAllocCount));
    let (failed, given, since) = match (rates, counts()) {
        ((Some(failed), Some(given)), _) => (failed, given, " a second"),
        (_, (Some(failed), Some(given))) => (failed, given, " since boot"),
        _ => return Answer::unknown(&[VMSTAT]),
    };
    let all = failed.value + given.value;
    let percent = if all > 0.0 { failed.value / all * 100.0 } else { 0.0 };
    let text = format!(
        "{} of {} huge-page faults{since} found none: {percent:.0} %",
        write::number(failed.value),
        write::number(all)
    );
    let evidence = vec![cx.say(&failed, &text)];
    if failed.value >= 1.0 && percent >= cx.limit(T::ThpFallback) {
        Answer::yes(0.3, evidence)
    } else {
        // What was so since boot rules out nothing of now.
        Answer::no(evidence).if_close(since == " since boot" && failed.value > 0.0)
    }
}
