//! Whether Java's heap is full: collections that free hardly anything.

use super::prelude::*;

/// One full collection that frees little may have come just before a large part was dropped.
const COLLECTIONS_MIN: usize = 2;
/// Where that little is free after a long one, one is enough: -XX:GCHeapFreeLimit of 2 %.
const BRIM_SHARE: f64 = 0.98;

/// Is the heap full after collections of all of it?
pub(super) fn full(cx: &Context<'_>) -> Answer {
    let logged = cx.lines(Field::GcHeapAfter, |_| true).into_iter().find_map(|after| {
        let size = cx.line(Field::GcHeapSize, &after.subject)?;
        Some(of_log(cx, &after, &size))
    });
    let counted = cx.lines(Field::GcOld, |_| true).into_iter().find_map(|old| of_jstat(cx, &old));
    match (logged, counted) {
        (Some(yes), _) | (_, Some(yes)) if yes.is_yes() => yes,
        (Some(no), _) | (None, Some(no)) => no,
        (None, None) => Answer::unknown(&[GC]),
    }
}

fn of_log(cx: &Context<'_>, after: &Line, size: &Line) -> Answer {
    let limit = cx.limit(T::HeapFull) / 100.0;
    let pairs = || after.points.iter().zip(&size.points);
    let full = pairs().filter(|(after, size)| after.value >= size.value * limit).count();
    let Some((last, of)) = pairs().next_back() else { return Answer::unknown(&[GC]) };
    let at = Interval { from: None, to: last.at };
    let text = format!(
        "after {full} of {} full collections the heap was as good as full: {} of {} at the last",
        after.points.len(),
        write::bytes(last.value),
        write::bytes(of.value)
    );
    let evidence = vec![cx.say(&after.seen(last.value, at), &text)];
    let long = cx.top(Field::GcPause).is_some_and(|pause| pause.value >= cx.limit(T::GcPause));
    let brim = long && last.value >= of.value * BRIM_SHARE;
    let enough = full >= COLLECTIONS_MIN || brim;
    Answer::when(enough && last.value >= of.value * limit, 0.7, evidence)
}

fn of_jstat(cx: &Context<'_>, old: &Line) -> Option<Answer> {
    let lowest = cx.lowest(old)?;
    let busy = cx.mean_at(Field::GcBusy, &old.subject);
    let pauses = cx.line(Field::GcPause, &old.subject).map_or(0, |line| line.points.len());
    let text = format!("{}: never less in {} looks", write::sentence(&lowest), old.points.len());
    let evidence = vec![cx.say(&lowest, &text)];
    let full = lowest.value >= cx.limit(T::HeapFull) && pauses >= COLLECTIONS_MIN;
    let busy: Option<Evidence> = busy.map(|seen| {
        let share = write::value(Unit::Percent, seen.value);
        cx.say(&seen, &format!("{share} of the time in garbage collection"))
    });
    Some(Answer::when(full, 0.7, evidence).backed(busy))
}
