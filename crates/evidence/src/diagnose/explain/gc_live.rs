//! Java keeps more and more alive.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::GcLive,
    severity: Severity::Warning,
    title: "What Java keeps alive grows from one full collection to the next: it leaks, or takes \
            in without bound",
    id: "pauses.live",
    question: "Does what is left after full collections grow?",
    how: "The heap in use after full collections of a log: whether it rises steadily, and comes \
          near the heap's size.",
    limits: &[T::GcPause],
    leads_to: &[Cause::HeapFull, Cause::GcBehind, Cause::GcPauses, Cause::GcWaits],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see what grows: twice, some time apart",
            "jcmd PID GC.class_histogram | head -20; sleep 600; \
             jcmd PID GC.class_histogram | head -20",
            "one class has the growth",
        ),
        Remedy::new(
            Reach::Program,
            "bound the cache, queue, session or batch that holds it",
            "jcmd PID GC.heap_dump heap.hprof  # what holds it: its dominators",
            "the heap after full collections no longer rises",
        ),
    ],
    judge,
};

/// Fewer collections are a start.
const COLLECTIONS_MIN: usize = 4;
/// Judgement: less growth, or a heap with that much room, is no trouble yet.
const GROWTH_MIN_FACTOR: f64 = 1.3;
const FULL_MIN_SHARE: f64 = 0.6;
/// Of five steps one may go down.
const RISES_MIN_SHARE: f64 = 0.8;

/// Does what is left after full collections grow?
fn judge(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::GcHeapAfter, |_| true);
    let long = lines.iter().max_by_key(|line| line.points.len());
    let Some(line) = long.filter(|line| line.points.len() >= COLLECTIONS_MIN) else {
        return Answer::unknown(&[GC]);
    };
    let values: Vec<f64> = line.points.iter().map(|point| point.value).collect();
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return Answer::unknown(&[GC]);
    };
    let size = cx.peak(Field::GcHeapSize, &line.subject).map_or(f64::INFINITY, |seen| seen.value);
    let rises = values.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let steady = rises as f64 >= (values.len() - 1) as f64 * RISES_MIN_SHARE;
    let text = format!(
        "after {} full collections in use: {} at the first, {} at the last, of {}",
        values.len(),
        write::bytes(*first),
        write::bytes(*last),
        write::bytes(size)
    );
    let Some(peak) = cx.highest(line) else { return Answer::unknown(&[GC]) };
    let much = *last >= first * GROWTH_MIN_FACTOR && *last >= size * FULL_MIN_SHARE;
    Answer::when(steady && much, 0.9, vec![cx.say(&peak, &text)])
}
