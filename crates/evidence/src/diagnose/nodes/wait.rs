//! Waiting without CPU: blocked tasks, pressure, pauses of Java.

use super::prelude::*;
use std::collections::BTreeSet;

use super::tasks;

/// Do tasks wait while CPUs are idle?
pub(super) fn any(cx: &Context<'_>) -> Answer {
    let tests = [
        blocked(cx),
        tasks::dirty(cx),
        tasks::random(cx),
        tasks::remote(cx),
        memory_pressure(cx),
        io_pressure(cx),
        pauses(cx),
    ];
    let evidence: Vec<Evidence> = tests.iter().flat_map(|a| a.evidence.first().cloned()).collect();
    if let Some(weight) = tests.iter().filter(|a| a.is_yes()).map(|a| a.weight).reduce(f64::max) {
        Answer::yes(weight, evidence)
    } else if evidence.is_empty() {
        Answer::unknown(&[QUEUE, PRESSURE])
    } else {
        Answer::no(evidence)
    }
}

/// Most functions in which tasks wait that are reported.
const FUNCTIONS_MAX: usize = 3;

/// CPUs of a machine of which no source says how many it has.
const CPUS_UNKNOWN: f64 = 4.0;

/// Do tasks hang in uninterruptible wait?
pub(super) fn blocked(cx: &Context<'_>) -> Answer {
    let functions = || tasks::waiting(cx).into_iter().take(FUNCTIONS_MAX).map(|w| w.say(cx));
    if let Some(hung) = hung(cx) {
        return Answer::yes(0.4, vec![hung]).and(functions()).mild(tasks::hung_long_ago(cx));
    }
    let counted = cx.mean_of(Field::Blocked).or_else(|| listed(cx));
    let Some(seen) = counted else { return Answer::unknown(&[QUEUE]) };
    // Of an unknown number of CPUs: more than one busy disk keeps waiting in passing.
    let cpus = cx.cpus().unwrap_or(CPUS_UNKNOWN);
    let text = format!("{} tasks in uninterruptible wait (mean)", write::number(seen.value));
    let evidence = vec![cx.say(&seen, &text)];
    let limit = cx.limit(T::BlockedTasks) * cpus;
    if let Some(same) = tasks::crowded(cx) {
        return Answer::yes(0.4, vec![same.say(cx)]).and(evidence);
    }
    if seen.value < limit || seen.value < 1.0 {
        return Answer::no(evidence).and(functions()).if_close(seen.value >= 1.0);
    }
    let names: Vec<String> = cx
        .lines(Field::ProcBlocked, |_| true)
        .iter()
        .filter(|line| cx.highest(line).is_some_and(|seen| seen.value > 0.0))
        .filter_map(|line| line.subject.process_name().map(str::to_owned))
        .collect();
    let named = names.first().map(|name| {
        Evidence::derived(format!("{} of them listed by name, such as {name}", names.len()))
    });
    let answer = Answer::yes(0.4, evidence).and(functions());
    if named.is_none() { answer.lacking(&[PROCESSES]) } else { answer.and(named) }
}

/// Tasks of which the kernel's log says that they hang.
fn hung(cx: &Context<'_>) -> Option<Evidence> {
    let all = cx.lines(Field::ProcHung, |_| true);
    let first = all.first().and_then(|line| cx.highest(line))?;
    let names: BTreeSet<&str> = all.iter().filter_map(|l| l.subject.process_name()).collect();
    let names: Vec<&str> = names.into_iter().take(4).collect();
    let text = format!(
        "the kernel's log says that tasks hang for minutes: {} of them, such as {}{}",
        all.len(),
        names.join(", "),
        tasks::hung_when(cx)
    );
    Some(cx.say(&first, &text))
}

/// Blocked tasks of a process list, where no tool counted them.
fn listed(cx: &Context<'_>) -> Option<Reading> {
    let lines = cx.lines(Field::ProcBlocked, |_| true);
    let points = || lines.iter().flat_map(|line| &line.points).filter(|point| cx.in_times(point));
    // A task is in few of the lists, so the sum of its means would be too much.
    let lists: BTreeSet<_> = points().map(|point| point.at).collect();
    let blocked: f64 = points().map(|point| point.value).sum();
    let mean = blocked / lists.len().max(1) as f64;
    lines.first().map(|line| line.seen(mean, Interval::ALWAYS))
}

fn pressure(cx: &Context<'_>, field: Field) -> Answer {
    let Some(mean) = cx.mean_of(field) else { return Answer::unknown(&[PRESSURE]) };
    let text = format!("{} (mean)", write::sentence(&mean));
    let evidence = vec![cx.say(&mean, &text)];
    let limit = cx.limit(T::PsiHigh);
    Answer::when(mean.value >= limit, mean.value / 100.0, evidence)
        .or_close(cx.is_close(mean.value, limit))
}

/// Do tasks wait for memory?
pub(super) fn memory_pressure(cx: &Context<'_>) -> Answer {
    pressure(cx, Field::PsiMemorySome)
}

/// Do tasks wait for I/O?
pub(super) fn io_pressure(cx: &Context<'_>) -> Answer {
    pressure(cx, Field::PsiIoSome)
}

/// Fewer pauses, or a shorter log, say nothing of their share: a start has some in its first
/// second.
const PAUSES_MIN: usize = 5;
const LOG_S_MIN: i64 = 2;

/// The share of its time in which a program stood still, 0 to 1, with the sentence that says so.
fn paused(line: &Line) -> Option<(f64, String)> {
    let (first, last) = (line.points.first()?.at?, line.points.last()?.at?);
    let seconds = last.0.saturating_sub(first.0);
    // What came before the first one is not known.
    let sum: f64 = line.points.iter().skip(1).map(|point| point.value).sum();
    let enough = line.points.len() >= PAUSES_MIN && seconds >= LOG_S_MIN;
    // Times are whole seconds: the stretch may be longer by one.
    let share = (sum / 1e3 / (seconds + 1) as f64).min(1.0);
    let text = format!(
        "{} pauses in {seconds} s took {:.0} % of the time",
        line.points.len(),
        share * 100.0
    );
    enough.then_some((share, text))
}

/// Pauses of Java, of collections and others.
fn pause_lines(cx: &Context<'_>) -> Vec<Line> {
    let fields = [Field::GcPause, Field::Safepoint, Field::SafepointReach];
    fields.iter().flat_map(|field| cx.lines(*field, |_| true)).collect()
}

/// The largest share of a log's time in which Java stood still, 0 to 1.
pub(in crate::diagnose) fn stood_still(cx: &Context<'_>) -> Option<f64> {
    pause_lines(cx).iter().filter_map(paused).map(|(share, _)| share).reduce(f64::max)
}

/// Does Java stop for long?
pub(super) fn pauses(cx: &Context<'_>) -> Answer {
    let lines = pause_lines(cx);
    let peaks = lines.iter().filter_map(|line| cx.highest(line).map(|peak| (line, peak)));
    let Some((line, peak)) = most(peaks) else {
        return Answer::unknown(&[GC]);
    };
    let limit = cx.limit(T::GcPause);
    let long = line.points.iter().filter(|point| point.value >= limit).count();
    let mut evidence = vec![cx.quote(&peak)];
    if long == 0 {
        let share = most_by(lines.iter().filter_map(paused), |(share, _)| *share);
        let Some((share, text)) = share else { return Answer::no(evidence) };
        evidence.insert(0, cx.say(&peak, &text));
        let much = share * 100.0 >= cx.limit(T::GcShare);
        return Answer::when(much, share, evidence);
    }
    let text = format!(
        "{long} of {} pauses took {} or more",
        line.points.len(),
        write::milliseconds(limit)
    );
    evidence.push(Evidence::derived(text));
    Answer::yes(0.5, evidence).and(about_pauses(cx, peak.value))
}

/// Most parts of a pause that are reported.
const PARTS_MAX: usize = 3;

/// What the longest pause was for, what went wrong in it, and what took a quarter of it.
fn about_pauses(cx: &Context<'_>, longest: f64) -> Vec<Evidence> {
    let name = |seen: &Reading| match seen.subject.part_name() {
        Some(name) => name.to_owned(),
        None => seen.subject.to_string(),
    };
    let long = |field, share: f64| -> Vec<Reading> {
        let all = cx.sorted(field, |_| true);
        all.into_iter().filter(|seen| seen.value >= longest * share).take(PARTS_MAX).collect()
    };
    let mut all = Vec::new();
    for (field, share, what) in [
        (Field::GcTrouble, 0.9, "in the longest pause"),
        (Field::GcCause, 0.9, "its cause"),
        (Field::GcPart, 0.25, "its longest parts"),
    ] {
        let found = long(field, share);
        let said = |seen: &Reading| match field {
            Field::GcPart => format!("{} {}", name(seen), write::milliseconds(seen.value)),
            _ => name(seen),
        };
        let names: Vec<String> = found.iter().map(said).collect();
        let first =
            found.first().map(|seen| cx.say(seen, &format!("{what}: {}", names.join(", "))));
        all.extend(first);
    }
    all
}

/// CPU time of the pauses that are long: their length, CPU outside the kernel and in it.
fn timed(cx: &Context<'_>) -> Vec<(Reading, f64, f64)> {
    let limit = cx.limit(T::GcPause);
    let lines = cx.lines(Field::GcTimed, |_| true);
    let all = lines.iter().flat_map(|pauses| {
        let cpu = [Field::GcUser, Field::GcSystem].map(|field| cx.line(field, &pauses.subject));
        let [Some(user), Some(system)] = cpu else { return Vec::new() };
        let rows = pauses.points.iter().zip(&user.points).zip(&system.points);
        let long = rows.filter(|((pause, _), _)| pause.value >= limit);
        let seen = long.map(|((pause, user), system)| {
            let at = Interval { from: None, to: pause.at };
            (pauses.seen(pause.value, at), user.value, system.value)
        });
        seen.collect()
    });
    all.collect()
}

/// A collector of one thread uses as much CPU as its pause is long. Less than half of that says
/// that it mostly waited.
const WAITED_SHARE: f64 = 0.5;

/// In long pauses: does Java get hardly any CPU, so that it waits rather than collects?
pub(super) fn waiting_in_pauses(cx: &Context<'_>) -> Answer {
    let all = timed(cx);
    if all.is_empty() {
        return Answer::unknown(&[GC]);
    }
    let waited =
        |(pause, user, system): &&(Reading, f64, f64)| user + system < pause.value * WAITED_SHARE;
    let long = all.len();
    let (mut waited, mut worked): (Vec<_>, Vec<_>) = all.iter().partition(waited);
    waited.sort_by(|a, b| b.0.value.total_cmp(&a.0.value));
    worked.sort_by(|a, b| b.0.value.total_cmp(&a.0.value));
    let Some((pause, user, system)) = waited.first().or(worked.first()) else {
        return Answer::unknown(&[GC]);
    };
    let text = format!(
        "{} of {long} long pauses used less CPU than half their length, such as {} with {} s of \
         CPU",
        waited.len(),
        write::milliseconds(pause.value),
        write::number((user + system) / 1e3)
    );
    // The longest one says what most of the time was.
    let longest = |all: &[&(Reading, f64, f64)]| all.first().map_or(0.0, |(pause, ..)| pause.value);
    let mostly = longest(&waited) >= longest(&worked);
    let follows = "the collector did not work meanwhile: it waited for a disk, for memory that was \
                   swapped out, for a CPU, or to write its log";
    let evidence = vec![cx.say(pause, &text)];
    Answer::when(mostly, 0.6, evidence).backed([Evidence::derived(follows)])
}

/// In such a pause: does the kernel use more CPU than the collector?
pub(super) fn kernel_in_pauses(cx: &Context<'_>) -> Answer {
    let users = cx.lines(Field::GcUser, |_| true);
    let found = users.iter().find_map(|user| {
        let system = cx.line(Field::GcSystem, &user.subject)?;
        let worst = system.points.iter().zip(&user.points).filter(|(s, u)| s.at == u.at);
        let (system_ms, user_ms) = most_by(worst, |(system, _)| system.value)?;
        Some((
            system.seen(system_ms.value, Interval { from: None, to: system_ms.at }),
            user_ms.value,
        ))
    });
    let Some((system, user_ms)) = found else { return Answer::unknown(&[GC]) };
    let text = format!(
        "a pause used {} s of CPU in the kernel and {} s outside it",
        write::number(system.value / 1e3),
        write::number(user_ms / 1e3)
    );
    let evidence = vec![cx.say(&system, &text)];
    let much = system.value > user_ms && system.value >= cx.limit(T::GcPause) / 2.0;
    let follows = "the collector itself hardly works: it waits for the kernel, which hands \
                       out, compacts or swaps its memory";
    Answer::when(much, 0.6, evidence).backed([Evidence::derived(follows)])
}

/// From this many milliseconds on a stop is felt where it comes again and again: a request of
/// people takes as long.
const REACH_FELT_MS: f64 = 50.0;
/// So often it has come again and again.
const REACHES_MIN: usize = 3;

/// Does it take long until all threads stop: once, or again and again longer than the work then?
pub(super) fn safepoint_reach(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::SafepointReach, |_| true);
    let peak = lines.first().and_then(|line| cx.highest(line));
    let Some(peak) = peak else { return Answer::unknown(&[GC]) };
    let sum = |lines: &[Line]| -> f64 {
        lines.iter().flat_map(|line| &line.points).map(|point| point.value).sum()
    };
    let (reach_ms, stopped_ms) = (sum(&lines), sum(&cx.lines(Field::Safepoint, |_| true)));
    let felt = lines.iter().flat_map(|line| &line.points);
    let felt = felt.filter(|point| point.value >= REACH_FELT_MS).count();
    let mostly = felt >= REACHES_MIN && 2.0 * reach_ms > stopped_ms;
    let mut evidence = vec![cx.quote(&peak)];
    if mostly {
        let text = format!(
            "{} of {} until all threads stood still",
            write::milliseconds(reach_ms),
            write::milliseconds(stopped_ms)
        );
        evidence.push(Evidence::derived(&text));
    }
    let long = peak.value >= cx.limit(T::GcPause) / 2.0;
    Answer::when(long || mostly, 0.4, evidence)
}
