//! A process that works in the kernel, where nobody watched the machine.

use super::prelude::*;

pub(super) const EXPLANATION: Explanation = Explanation {
    cause: Cause::ProcessInKernel,
    severity: Severity::Warning,
    title: "A process spends most of its CPU time in the kernel",
    id: "process.kernel",
    question: "Does a process spend most of its CPU time in the kernel?",
    how: "CPU of each process in the kernel against all of its own, where no source has the \
          CPU states of the machine.",
    limits: &[],
    leads_to: &[],
    remedies: &[
        Remedy::new(
            Reach::Look,
            "see where in the kernel",
            "perf record -a -g -- sleep 10; perf report --stdio",
            "a few functions have most samples",
        ),
        Remedy::new(
            Reach::Program,
            "ask for less of it: larger reads and writes, memory that is kept instead of \
             given back, fewer wake-ups",
            "timeout 10 strace -f -c -p PID",
            "one call has most of the time",
        ),
    ],
    judge,
};

/// A CPU that the kernel has for it most of the time; less is what servers need for their network.
const SYSTEM_MIN_PERCENT: f64 = 70.0;
/// Of the CPU time of the process.
const MOSTLY_PERCENT: f64 = 60.0;

/// Does a process spend most of its CPU time in the kernel?
fn judge(cx: &Context<'_>) -> Answer {
    // Where the machine's own states are known, what the kernel does is asked from there.
    if cx.kernel(&Subject::Machine).is_some() {
        return Answer::unknown(&[]);
    }
    let Some(most) = cx.top_mean(Field::ProcSystem) else {
        return counted(cx).unwrap_or_else(|| Answer::unknown(&[PROCESSES]));
    };
    let user = cx.mean_at(Field::ProcUser, &most.subject).map_or(0.0, |seen| seen.value);
    let percent = most.value / (most.value + user).max(1.0) * 100.0;
    let text = format!(
        "{}: {} of a CPU in the kernel, {percent:.0} % of its CPU time",
        most.subject,
        write::value(Unit::Percent, most.value)
    );
    let beside = [Field::ProcMinorFaults, Field::ProcMajorFaults, Field::ContextSwitches];
    let beside = beside.into_iter().filter_map(|field| cx.mean_at(field, &most.subject));
    let beside = beside.filter(|seen| seen.value >= RATE_MIN_PER_S).map(|seen| cx.quote(&seen));
    // Threads of the kernel have no time outside of it, and findings of their own.
    let program = user > 0.0;
    let much = program && most.value >= SYSTEM_MIN_PERCENT && percent >= MOSTLY_PERCENT;
    Answer::when(much, 0.5, vec![cx.say(&most, &text)]).backed(beside)
}

/// Fewer events a second take no time worth a word.
const RATE_MIN_PER_S: f64 = 1_000.0;

/// The same of a command that `perf stat` ran.
fn counted(cx: &Context<'_>) -> Option<Answer> {
    const SECOND_MS: f64 = 1_000.0;
    let (system, user) = (cx.state(Field::PerfSystem)?, cx.state(Field::PerfUser)?);
    let percent = system.value / (system.value + user.value).max(1.0) * 100.0;
    let text = format!(
        "the command used {} in the kernel, {percent:.0} % of its CPU time",
        write::milliseconds(system.value)
    );
    let much = system.value >= SECOND_MS && percent >= MOSTLY_PERCENT;
    Some(Answer::when(much, 0.4, vec![cx.say(&system, &text)]))
}
