//! Programs that a trace shows to be started.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ProgramStarts,
    severity: Severity::Note,
    title: "A trace shows short-lived programs that are started again and again",
    id: "tasks.starts",
    question: "Does a trace show programs that are started again and again?",
    how: "Starts of programs that execsnoop or a tool like it lists, by program.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see how many a second there are, and which program starts them",
            "vmstat -f; sleep 10; vmstat -f; execsnoop -T",
            "the difference is the number of forks in ten seconds",
        ),
        Remedy::new(
            Reach::Program,
            "do the work in a program that stays: a library instead of a command, one call for \
             many files",
            "pstree -sp PID",
            "far fewer forks",
        ),
    ],
    judge,
};

/// Judgement: a program that is started so often within one trace comes again and again.
const STARTS_MIN: f64 = 3.0;
/// Most programs that are listed.
const LISTED_MAX: usize = 3;

/// Does a trace show programs that are started again and again?
fn judge(cx: &Context<'_>) -> Answer {
    let started = cx.sorted(Field::ProcStarts, |_| true);
    let Some(most) = started.first() else { return Answer::unknown(&[TRACED]) };
    let listed = started.iter().take(LISTED_MAX).map(|seen| {
        let times = write::counted(seen.value, "time", "times");
        cx.say(seen, &format!("{}: started {times}", seen.subject))
    });
    Answer::when(most.value >= STARTS_MIN, 0.3, listed.collect())
}
