//! A profile of another event than CPU time.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::EventProfile,
    severity: Severity::Note,
    title: "A profile of an event shows who causes it; it says nothing about CPU time",
    id: "profile.event",
    question: "Does a profile of another event than CPU time name a cause of it?",
    how: "Samples of an event such as page faults, by program and function.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "profile the CPU time, where that is the question",
            "perf record -a -g -- sleep 10; perf report --stdio",
            "shares of CPU time",
        ),
        Remedy::new(
            Reach::Program,
            "change what the function does, where the event itself is too much",
            "perf report --stdio --sort comm,sym",
            "fewer such events",
        ),
    ],
    judge,
};

/// Most of what one function, or one that calls it, has.
const MOST_PERCENT: f64 = 30.0;
/// Most of them that are listed.
const LISTED_MAX: usize = 3;

/// Does a profile of another event than CPU time name a cause of it?
fn judge(cx: &Context<'_>) -> Answer {
    let all = cx.sorted(Field::EventPercent, |_| true);
    let Some(first) = all.first() else { return Answer::unknown(&[SYMBOLS]) };
    let event = first.subject.service().unwrap_or("the event").to_owned();
    let said = all.iter().take(LISTED_MAX).map(|seen| {
        let who = match &seen.subject {
            Subject::Part { name, .. } => name.clone(),
            other => other.to_string(),
        };
        let share = write::value(Unit::Percent, seen.value);
        cx.say(seen, &format!("{share} of the samples of {event}: {who}"))
    });
    Answer::when(first.value >= MOST_PERCENT, 0.3, said.collect())
}
