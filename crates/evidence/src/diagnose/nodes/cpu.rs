//! Which CPU state stands out.

use super::prelude::*;
use crate::diagnose::relate;

/// The whole of it: does any state stand out, and which one takes most?
pub(super) fn any(cx: &Context<'_>) -> Answer {
    let states = [kernel, iowait, interrupts, steal, user].map(|test| test(cx));
    if states.iter().all(|answer| answer.verdict == Verdict::Unknown) {
        return Answer::unknown(&[CPU]);
    }
    let evidence = shares(cx);
    if states.iter().any(Answer::is_yes) {
        let weight = states.iter().map(|answer| answer.weight).fold(0.0, f64::max);
        Answer::yes(weight, evidence)
    } else {
        Answer::no(evidence)
    }
}

/// Mean and highest value of each state in one sentence, the largest first.
pub(in crate::diagnose) fn shares(cx: &Context<'_>) -> Vec<Evidence> {
    let machine = &Subject::Machine;
    let lines = [
        cx.user(machine),
        cx.kernel(machine),
        cx.line(Field::CpuIowait, machine),
        cx.interrupts(machine),
        cx.line(Field::CpuSteal, machine),
        cx.line(Field::CpuIdle, machine),
    ];
    let mut seen: Vec<_> = lines
        .iter()
        .flatten()
        .filter_map(|line| Some((cx.mean(line)?, cx.highest(line)?)))
        .filter(|(_, peak)| peak.value > 0.0)
        .collect();
    seen.sort_by(|a, b| b.0.value.total_cmp(&a.0.value));
    let Some((first, _)) = seen.first() else { return Vec::new() };
    let part = |(mean, peak): &(Reading, Reading)| {
        let about = mean.field.about();
        let [mean, peak] = [mean, peak].map(|seen| write::value(about.unit, seen.value));
        // Of a single sample both are the same.
        let peak = if peak == mean { String::new() } else { format!(" (highest {peak})") };
        format!("{} {mean}{peak}", about.name)
    };
    let mut parts: Vec<String> = seen.iter().map(part).collect();
    let full = cx.mean_busy().filter(|busy| busy.value >= cx.limit(T::BusyHigh));
    parts.extend(full.map(|busy| {
        format!("CPU in use {}: hardly any is left", write::value(Unit::Percent, busy.value))
    }));
    vec![cx.say(first, &format!("averages: {}", parts.join("; ")))]
}

/// The lines of single CPUs.
fn single_cpus(cx: &Context<'_>, line: impl Fn(&Subject) -> Option<Line>) -> Vec<Line> {
    let cpus = cx.lines(Field::CpuIdle, |subject| matches!(subject, Subject::Cpu(_)));
    cpus.iter().filter_map(|cpu| line(&cpu.subject)).collect()
}

/// A single CPU whose mean reaches the limit, though the machine as a whole does not.
fn one_cpu(cx: &Context<'_>, limit: T, line: impl Fn(&Subject) -> Option<Line>) -> Option<Answer> {
    let means = single_cpus(cx, line).into_iter().filter_map(|line| cx.mean(&line));
    let top = most(means)?;
    (top.value >= cx.limit(limit)).then(|| of_one_cpu(cx, &top))
}

/// Yes, with the weight of one CPU among all.
fn of_one_cpu(cx: &Context<'_>, seen: &Reading) -> Answer {
    // Of an unknown number of CPUs it is taken to be half of the machine, which is not critical.
    let cpus = cx.cpus().unwrap_or(2.0).max(1.0);
    Answer::yes(seen.value / 100.0 / cpus, vec![cx.quote(seen)])
}

/// A thread of the kernel that works on memory and takes a CPU, which the mean of many CPUs hides.
fn busy_daemon(cx: &Context<'_>) -> Option<Answer> {
    const NAMES: [&str; 4] = ["khugepaged", "kcompactd", "kswapd", "ksmd"];
    let ours = |subject: &Subject| {
        let name = subject.process_name().unwrap_or_default();
        NAMES.iter().any(|start| name.starts_with(start))
    };
    let lines = cx.lines(Field::ProcCpu, ours);
    let all = super::pick::listed(cx, lines.iter()).into_iter();
    let all = all.filter_map(|line| Some((cx.sustained(&line)?, cx.highest(&line)?)));
    let (mean, peak) = most_by(all, |(mean, _)| mean.value)?;
    // In bursts it takes all of a CPU, and then none.
    let much = peak.value >= cx.limit(T::KernelCpuHigh) && mean.value >= cx.limit(T::DaemonCpu);
    much.then(|| of_one_cpu(cx, &mean))
}

/// A slow rise that no episode shows.
fn slow_rise(cx: &Context<'_>, line: &Line) -> Option<Answer> {
    let ramp = relate::ramp(&line.points)?;
    let rises = ramp.to - ramp.from >= cx.limit(T::RampPoints)
        && ramp.steadiness >= cx.limit(T::RampSteadiness);
    if !rises {
        return None;
    }
    let at = Interval { from: ramp.between.0, to: ramp.between.1 };
    let text = format!(
        "{} rises slowly from {} to {} (steadiness {:.2}) from {at}",
        line.field.about().name,
        write::value(line.field.about().unit, ramp.from),
        write::value(line.field.about().unit, ramp.to),
        ramp.steadiness,
    );
    let evidence = cx.say(&line.seen(ramp.to, at), &text);
    Some(Answer::yes(ramp.to / 100.0, vec![evidence]))
}

/// A slow rise of the kernel's time that is not just more work: programs' time rises less.
fn kernel_rise(cx: &Context<'_>, kernel: &Line) -> Option<Answer> {
    let points = |line: &Line| relate::ramp(&line.points).map(|ramp| ramp.to - ramp.from);
    let user = cx.user(&Subject::Machine).and_then(|line| points(&line));
    let more = points(kernel)?;
    if user.is_some_and(|user| user >= more) { None } else { slow_rise(cx, kernel) }
}

/// Does the kernel take much of the CPU?
pub(super) fn kernel(cx: &Context<'_>) -> Answer {
    let line = cx.kernel(&Subject::Machine);
    let rise = line.as_ref().and_then(|line| kernel_rise(cx, line));
    let (enter, keep) = (cx.limit(T::KernelHigh), cx.limit(T::KernelKeep));
    let answer = cx.stands_out(line, enter, keep, &[CPU]);
    if answer.is_yes() {
        let times = answer.intervals.clone();
        let then = Context { times: &times, ..*cx };
        let who = super::kernel::who(&then, Field::ProcSystem);
        return answer
            .and(who)
            .and(super::profile::ways(cx).or_else(|| super::profile::top(cx)))
            .and(super::kernel::thp_uncounted(cx));
    }
    if let Some(rise) = rise {
        return rise.and(super::kernel::thp_uncounted(cx));
    }
    // Interrupts on one CPU are a question of their own.
    let system =
        |subject: &Subject| cx.line(Field::CpuSystem, subject).or_else(|| cx.kernel(subject));
    one_cpu(cx, T::KernelCpuHigh, system).or_else(|| busy_daemon(cx)).unwrap_or(answer)
}

/// Are CPUs idle because disks are slow?
pub(super) fn iowait(cx: &Context<'_>) -> Answer {
    let line = cx.line(Field::CpuIowait, &Subject::Machine);
    let answer = cx.reaches(line, T::IowaitHigh, &[CPU]);
    if !answer.is_yes() {
        return answer;
    }
    let cpus = single_cpus(cx, |subject| cx.line(Field::CpuIowait, subject));
    let top = cpus.iter().filter_map(|line| cx.highest(line));
    let top = most(top);
    answer.and(top.map(|seen| cx.quote(&seen)))
}

/// Do interrupts take much of the CPU, or of one CPU?
pub(super) fn interrupts(cx: &Context<'_>) -> Answer {
    let line = cx.interrupts(&Subject::Machine);
    let answer = cx.reaches(line, T::InterruptHigh, &[CPU]);
    let machine = answer.is_yes().then_some(answer.clone());
    let single = || one_cpu(cx, T::InterruptCpuHigh, |subject| cx.interrupts(subject));
    let Some(yes) = machine.or_else(single) else { return answer };
    // Of the CPU, or the machine, that the answer is about.
    let whose = yes.evidence.first().and_then(|evidence| evidence.subject.clone());
    let all = cx.lines(Field::CpuIrq, |subject| Some(subject.to_string()) == whose);
    let hard = all.first().and_then(|line| super::named::hardware_part(cx, &line.subject));
    // Evenly spread, with much left, it is what the traffic takes.
    let idle = cx.mean_of(Field::CpuIdle).is_some_and(|idle| idle.value >= cx.limit(T::IdleLow));
    let known = cx.lines(Field::CpuSoftirq, |subject| *subject != Subject::Machine);
    let even = !known.is_empty() && single().is_none();
    yes.and(hard).and(super::named::line(cx)).mild(idle && even)
}

/// Does the hypervisor take CPU away?
pub(super) fn steal(cx: &Context<'_>) -> Answer {
    let line = cx.line(Field::CpuSteal, &Subject::Machine);
    let Some(line) = line else { return Answer::unknown(&[CPU]) };
    // A hypervisor that is busy for a moment is no matter.
    let Some(mean) = cx.sustained(&line) else { return Answer::unknown(&[CPU]) };
    let evidence = vec![cx.quote(&mean)];
    Answer::when(mean.value >= cx.limit(T::StealHigh), mean.value / 100.0, evidence)
}

/// Do programs themselves use the CPU up?
pub(super) fn user(cx: &Context<'_>) -> Answer {
    cx.reaches(cx.user(&Subject::Machine), T::UserHigh, &[CPU])
}

const KERNEL_FIRST: &str = "the kernel takes much of the CPU: that comes first";

/// Do far more tasks want to run than there are CPUs?
pub(super) fn saturated(cx: &Context<'_>) -> Answer {
    // The load average counts tasks in uninterruptible wait as well; the CPU's use decides.
    // It lags by a minute, so that its highest value is what a short recording has.
    let load = || cx.peak(Field::Load1, &Subject::Machine);
    let queue = cx.mean_of(Field::RunQueue).or_else(load);
    let Some(queue) = queue else { return Answer::unknown(&[QUEUE]) };
    let Some(cpus) = cx.cpus() else { return Answer::unknown(&[CPU_COUNT]) };
    let Some(busy) = cx.mean_busy() else { return Answer::unknown(&[CPU]) };
    let text = format!(
        "{} for {}",
        write::counted(queue.value, "task runs or waits", "tasks run or wait"),
        write::counted(cpus, "CPU", "CPUs")
    );
    let used = format!("CPU in use {} (mean)", write::value(busy.field.about().unit, busy.value));
    let evidence = vec![cx.say(&queue, &text), cx.say(&busy, &used)];
    if kernel(cx).is_yes() {
        return Answer::no(evidence).and([Evidence::derived(KERNEL_FIRST)]);
    }
    let full =
        queue.value >= cx.limit(T::QueuePerCpu) * cpus && busy.value >= cx.limit(T::BusyHigh);
    let who = delayed_threads(cx).map(|(most, _)| cx.quote(&most));
    Answer::when(full, busy.value / 100.0, evidence).backed(who)
}

/// The process whose threads wait most for a CPU, and how many tasks of all such processes do.
fn delayed_threads(cx: &Context<'_>) -> Option<(Reading, f64)> {
    let lines = cx.lines(Field::ProcRunDelay, |_| true);
    let means: Vec<Reading> = lines.iter().filter_map(|line| cx.mean(line)).collect();
    let all = means.iter().map(|seen| seen.value).sum::<f64>() / 100.0;
    Some((most(means)?, all))
}

/// Do tasks wait for a CPU, as the scheduler counts it?
pub(super) fn delayed(cx: &Context<'_>) -> Answer {
    let threads = delayed_threads(cx);
    let whole = cx.mean_of(Field::RunDelay);
    // Where the kernel does not count all tasks: those of busy processes, which are less.
    let part = threads.as_ref().map(|(most, all)| Reading { value: *all, ..most.clone() });
    let least = if whole.is_some() { "" } else { "at least " };
    let Some(waits) = whole.or(part) else { return Answer::unknown(&[RUN_DELAY]) };
    let Some(cpus) = cx.cpus() else { return Answer::unknown(&[CPU_COUNT]) };
    let text = format!(
        "{least}{} for a CPU at any time, as a mean, on {}",
        write::counted(waits.value, "task waits", "tasks wait"),
        write::counted(cpus, "CPU", "CPUs")
    );
    let mut evidence = vec![cx.say(&waits, &text)];
    let limit = cx.limit(T::DelayPerCpu) * cpus;
    // A part that is below it rules nothing out.
    let close = cx.is_close(waits.value, limit) || !least.is_empty();
    if waits.value < limit {
        return Answer::no(evidence).if_close(close);
    }
    evidence.extend(threads.map(|(most, _)| cx.quote(&most)));
    let busy = cx.mean_busy();
    let Some(busy) = busy else {
        return Answer::yes(0.5, evidence).mild(true).lacking(&[CPU]);
    };
    let used = format!("CPU in use {} (mean)", write::value(busy.field.about().unit, busy.value));
    evidence.push(cx.say(&busy, &used));
    if busy.value < cx.limit(T::BusyHigh) {
        let why = "the CPUs have room: a quota, or a binding to few CPUs, makes these tasks wait";
        return Answer::no(evidence).and([Evidence::derived(why)]).if_close(true);
    }
    if kernel(cx).is_yes() {
        return Answer::no(evidence).and([Evidence::derived(KERNEL_FIRST)]);
    }
    Answer::yes(busy.value / 100.0, evidence)
}

/// Share of all its periods from which on a cgroup is throttled most of the time, now as well.
const MOSTLY_PERCENT: f64 = 50.0;

/// What a single look at the counts of cgroups says: of all the time since each began, which tells
/// little about now.
fn ever_throttled(cx: &Context<'_>) -> Answer {
    let top = cx.top(Field::CgroupThrottledEver);
    let Some(top) = top else { return Answer::unknown(&[CGROUPS]) };
    let mut evidence = cx.quote(&top);
    if top.value < cx.limit(T::ThrottledHigh) {
        return Answer::no(vec![evidence]).if_close(true).lacking(&[CGROUPS]);
    }
    if top.value >= MOSTLY_PERCENT {
        // More than half of all time is no history: it counts as what is so now.
        evidence.field = Some(Field::CgroupThrottled);
    }
    Answer::yes(top.value / 100.0, vec![evidence]).lacking(&[CGROUPS])
}

/// Does a cgroup use up its CPU quota?
pub(super) fn throttled(cx: &Context<'_>) -> Answer {
    let Some(top) = cx.top_mean(Field::CgroupThrottled) else {
        return ever_throttled(cx);
    };
    let evidence = vec![cx.quote(&top)];
    Answer::when(top.value >= cx.limit(T::ThrottledHigh), top.value / 100.0, evidence)
}
