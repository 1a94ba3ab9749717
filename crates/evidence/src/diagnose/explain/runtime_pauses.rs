//! Programs of other languages than Java that stop to collect garbage.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::RuntimePauses,
    severity: Severity::Warning,
    title: "A program stops for long to collect garbage",
    id: "wait.runtime",
    question: "Does a program of Go or JavaScript stop for long to collect garbage?",
    how: "Pauses that the runtime logs, the longest of them.",
    limits: &[T::GcPause],
    leads_to: &[Cause::OneCpu, Cause::WorkersFull],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see how its heap grows between collections",
            "GODEBUG=gctrace=1 PROGRAM  # node --trace-gc PROGRAM",
            "the heap after collections rises: a leak; or it is near its limit",
        ),
        Remedy::new(
            Reach::Program,
            "keep less alive, or give the heap more room",
            "node --max-old-space-size=MIB PROGRAM  # GOGC=200 GOMEMLIMIT=SIZE PROGRAM",
            "pauses below a tenth of a second",
        ),
    ],
    judge,
};

/// Does a program of Go or JavaScript stop for long to collect garbage?
fn judge(cx: &Context<'_>) -> Answer {
    let Some(longest) = cx.top(Field::RuntimePause) else { return Answer::unknown(&[GC]) };
    let heap = cx.peak(Field::RuntimeHeapAfter, &longest.subject).map(|seen| cx.quote(&seen));
    let limit = cx.limit(T::GcPause);
    let evidence = vec![cx.quote(&longest)];
    Answer::when(longest.value >= limit, 0.5, evidence).backed(heap)
}
