//! What the kernel does with its CPU time, but for memory shortage (see `reclaim`).
//!
//! Kernel time is taken apart by what can be counted: events in a second times what one costs,
//! against all kernel time in the same intervals. What no count explains is left for system calls.

use super::events::{
    Events, compaction_events, disk_events, explained, explains, fault_events, fork_events,
    huge_fault_events, kernel_seconds, packet_events, switch_events,
};
use super::prelude::*;
use super::profile;
use crate::diagnose::machine;
use crate::diagnose::remedy::{self, Reach};
use crate::functions::{COMPACTION, RECLAIM};
use hugewise_base::size::Size;

/// Huge pages are handed out in faults, and no source counts them: to be said before anything is
/// concluded from the rest.
pub(super) fn thp_uncounted(cx: &Context<'_>) -> Option<Evidence> {
    let uncounted = huge_fault_events(cx).is_none();
    let always = uncounted && super::defaults::thp_always(cx).is_yes();
    always.then(|| {
        Evidence::assumed(
            "THP is 'always' and these sources do not count its page faults: they can be a part \
             of it (thp_fault_alloc and compact_stall in /proc/vmstat say)",
        )
    })
}

/// Do page faults that hand out huge pages take the time?
pub(super) fn huge_faults(cx: &Context<'_>) -> Answer {
    with_switch(cx, hands_out_huge(cx))
}

/// Where nobody asked for huge pages, the switch is what removes them.
fn with_switch(cx: &Context<'_>, answer: Answer) -> Answer {
    match answer.is_yes() && super::defaults::thp_always(cx).is_yes() {
        true => answer.mended_by(remedy::with_first("huge_faults", Reach::Machine)),
        false => answer,
    }
}

fn hands_out_huge(cx: &Context<'_>) -> Answer {
    if let Some(profiled) = profile::huge_faults(cx).or_else(|| cleared_by_always(cx)) {
        return profiled;
    }
    let answer = explains(cx, huge_fault_events(cx), VMSTAT);
    let close = huge_fault_events(cx).is_some_and(|events| could_explain(cx, &events));
    if answer.is_yes() { answer.and(huge_memory(cx)) } else { answer.if_close(close) }
}

/// The process with most memory in huge pages, where a source looked.
fn huge_memory(cx: &Context<'_>) -> Option<Evidence> {
    let top = cx.top(Field::ProcHuge)?;
    let all = cx.latest(Field::ProcRss, &top.subject)?;
    let text = format!(
        "{}: {} of {} resident are in huge pages",
        top.subject,
        write::bytes(top.value),
        write::bytes(all.value)
    );
    Some(cx.say(&top, &text))
}

/// Clearing of pages has the kernel's time, and page faults of all programs ask for huge ones.
fn cleared_by_always(cx: &Context<'_>) -> Option<Answer> {
    let (cleared, always) = (profile::clearing(cx)?, super::defaults::thp_always(cx));
    let text = "the profile has no chains of calls; with 'always' most pages that are cleared in \
                such a lot are those of huge pages";
    let assumed = [Evidence::assumed(text)];
    always.is_yes().then(|| cleared.and(always.evidence).and(assumed).lacking(&[VMSTAT]))
}

/// A huge page takes several times as long where many CPUs clear memory at once or where it must be
/// compacted first: 0.2 ms alone, 2.4 to 28 ms at worst
/// (docs/measurements.md#kernel-time-of-events).
const HUGE_FAULT_FACTOR: f64 = 5.0;

/// Whether huge-page faults explain enough if each takes [`HUGE_FAULT_FACTOR`] times as long.
fn could_explain(cx: &Context<'_>, events: &Events) -> bool {
    let share = explained(cx, events).map_or(0.0, |(share, _)| share);
    share * HUGE_FAULT_FACTOR * 100.0 >= cx.limit(T::ExplainedShare)
}

/// Do page faults take the time?
pub(super) fn faults(cx: &Context<'_>) -> Answer {
    if let Some(evidence) = faults_of_forks(cx) {
        return Answer::no(vec![evidence]);
    }
    let answer = explains(cx, fault_events(cx), PAGING);
    let who = who(cx, Field::ProcMinorFaults);
    match answer.verdict {
        Verdict::Yes => answer.and(who),
        Verdict::Unknown => cleared(cx).map_or(answer, |cleared| cleared.and(who)),
        Verdict::No => answer,
    }
}

/// Clearing of pages has the kernel's time, and nothing says whether of base pages or huge ones.
fn cleared(cx: &Context<'_>) -> Option<Answer> {
    if cleared_by_always(cx).is_some() {
        return None;
    }
    let text = "the profile has no chains of calls; pages are cleared in such a lot for page \
                faults, of base pages or of huge ones";
    let most = profile::clearing(cx).filter(|answer| answer.weight >= CLEARED_MIN);
    most.map(|answer| answer.and([Evidence::assumed(text)]).lacking(&[VMSTAT]))
}

/// Share of the kernel's samples in clearing of pages from which on page faults are the cause,
/// though nothing counts them: nothing else can be a larger one.
const CLEARED_MIN: f64 = 0.5;

/// Where new tasks are a cause, the page faults that they bring are not another one.
fn faults_of_forks(cx: &Context<'_>) -> Option<Evidence> {
    let (tasks, faults) = (fork_events(cx)?, fault_events(cx)?);
    let each = faults.seen.value / tasks.seen.value;
    let share = explained(cx, &tasks).ok()?.0 + explained(cx, &faults).ok()?.0;
    let theirs = tasks.seen.value >= FORKS_MIN
        && share * 100.0 >= cx.limit(T::ExplainedShare)
        && each <= cx.limit(T::ForkFaults);
    let text = format!(
        "{} page faults a second are {each:.0} for each new task: theirs",
        write::number(faults.seen.value)
    );
    theirs.then(|| cx.say(&faults.seen, &text))
}

/// Fewer new tasks a second are what a machine has in passing.
const FORKS_MIN: f64 = 100.0;

/// Is memory taken and given back all the time?
pub(super) fn churn(cx: &Context<'_>) -> Answer {
    let share = fault_events(cx).and_then(|events| explained(cx, &events).ok());
    let (faults, freed) = (cx.mean_of(Field::Faults), cx.mean_of(Field::PagesFreed));
    let (Some(faults), Some(freed)) = (faults, freed) else { return Answer::unknown(&[PAGING]) };
    let text = format!(
        "{} base pages freed a second beside {} page faults",
        write::number(freed.value),
        write::number(faults.value)
    );
    let evidence = vec![cx.say(&freed, &text)];
    // Pages that the kernel takes away are freed as well: nobody gave them back.
    let taken = cx.mean_of(Field::Steal).filter(|taken| taken.value * 2.0 >= freed.value);
    if let Some(taken) = taken {
        return Answer::no(evidence).and([cx.quote(&taken)]);
    }
    Answer::when(
        freed.value * 100.0 >= faults.value * cx.limit(T::FreedShare),
        share.map_or(0.2, |(share, _)| share),
        evidence,
    )
}

/// Do new processes take the time?
pub(super) fn forks(cx: &Context<'_>) -> Answer {
    let counted = counted_forks(cx);
    match profile::lives(cx).filter(|_| !counted.is_yes()) {
        Some(profiled) => {
            profiled.and(counted.evidence).and(who(cx, Field::ProcSystem)).lacking(&[TASKS])
        }
        None => counted,
    }
}

/// The same by their number.
fn counted_forks(cx: &Context<'_>) -> Answer {
    let alone = explains(cx, fork_events(cx), TASKS);
    let Some(theirs) = faults_of_forks(cx).filter(|_| !alone.is_yes()) else { return alone };
    let all = [fork_events(cx), fault_events(cx)].into_iter().flatten();
    let share = all.filter_map(|events| explained(cx, &events).ok()).map(|(share, _)| share);
    Answer::yes(share.sum::<f64>().min(1.0), alone.evidence).and([theirs])
}

/// Do context switches take the time?
pub(super) fn switches(cx: &Context<'_>) -> Answer {
    explains(cx, switch_events(cx), TASKS)
}

/// Does the network stack take the time?
pub(super) fn network(cx: &Context<'_>) -> Answer {
    explains(cx, packet_events(cx), NETWORK)
}

/// Do disk requests take the time?
pub(super) fn disk_requests(cx: &Context<'_>) -> Answer {
    explains(cx, disk_events(cx), DISKS)
}

/// Do programs stop to make huge blocks of free memory?
pub(super) fn compaction(cx: &Context<'_>) -> Answer {
    if let Some(answer) = profile::named(cx, &COMPACTION) {
        let counts = [Field::CompactStall, Field::CompactFail].map(|field| cx.mean_of(field));
        return answer.and(counts.into_iter().flatten().map(|seen| cx.quote(&seen)));
    }
    let stalls = cx.line(Field::CompactStall, &Subject::Machine);
    let answer = cx.reaches(stalls, T::CompactHigh, &[VMSTAT]);
    if !answer.is_yes() {
        return answer;
    }
    let failed = cx.mean_of(Field::CompactFail).map(|seen| cx.quote(&seen));
    let Some(events) = compaction_events(cx) else { return answer.and(failed) };
    let Ok((share, evidence)) = explained(cx, &events) else { return answer.and(failed) };
    if share * 100.0 >= cx.limit(T::ExplainedShare) {
        let answer = answer.and(failed).and([evidence]);
        return Answer { weight: share.clamp(0.0, 1.0), ..answer };
    }
    // In fragmented memory most are in vain, and each looks through all of it.
    let text = format!(
        "{} direct compactions a second: each takes 1 ms, or up to {COMPACT_FACTOR} times as long \
         where memory is fragmented and most give nothing",
        write::number(events.seen.value)
    );
    let answer = answer.and(failed).and([cx.say(&events.seen, &text)]);
    Answer { weight: (share * COMPACT_FACTOR).clamp(0.0, 1.0), ..answer }
}

/// How many times as long as usual a compaction takes at worst
/// (docs/measurements.md#kernel-time-of-events).
const COMPACT_FACTOR: f64 = 28.0;

/// Fewer processes are the first lines of a list.
const LISTED_FEW: usize = 20;

/// Does a kernel thread of this name take the time?
pub(in crate::diagnose) fn daemon(cx: &Context<'_>, name: &str) -> Answer {
    let ours = |subject: &Subject| subject.process_name().is_some_and(|n| n.starts_with(name));
    let mut lines = super::pick::listed(cx, cx.lines(Field::ProcCpu, ours).iter());
    if lines.is_empty() {
        // BusyBox shows shares of all CPUs: of one it is as much at least.
        lines = cx.lines(Field::ProcShare, ours);
    }
    let peaks = lines.iter().filter_map(|line| cx.highest(line).map(|peak| (line, peak)));
    let Some((line, peak)) = most(peaks) else {
        // A list of processes without it says that it uses nothing worth listing.
        // ... at the time in question: one of another time says nothing.
        let lists = cx.lines(Field::ProcCpu, |_| true);
        if lists.iter().all(|line| cx.highest(line).is_none()) {
            return Answer::unknown(&[PROCESSES]);
        }
        let count = lists.len();
        let text = match count {
            0..LISTED_FEW => format!("{name} is not among the {count} processes that are listed"),
            _ => format!("{name} is in no list of processes"),
        };
        return Answer::no(vec![Evidence::derived(text)]);
    };
    let limit = cx.limit(T::DaemonCpu);
    if peak.value < limit {
        return Answer::no(vec![cx.quote(&peak)]).if_close(cx.is_close(peak.value, limit));
    }
    let answer = cx.reaches(Some(line.clone()), T::DaemonCpu, &[PROCESSES]);
    // One listing of the moment does not say since when.
    if line.points.len() == 1 { Answer { intervals: Vec::new(), ..answer } } else { answer }
}

/// Does khugepaged take the time?
pub(super) fn khugepaged(cx: &Context<'_>) -> Answer {
    let answer = daemon(cx, "khugepaged");
    let made = cx.mean_of(Field::ThpCollapse).map(|seen| cx.quote(&seen));
    answer.backed(made).backed(beside_kswapd(cx))
}

/// That kswapd works as well though much memory is available: both look for large blocks.
fn beside_kswapd(cx: &Context<'_>) -> Option<Evidence> {
    let kswapd = daemon(cx, "kswapd");
    let percent = machine::memory::room_percent(cx)?.low;
    let seen = machine::memory::room(cx)?.seen;
    let text = format!(
        "kswapd works as well though {percent:.0} % of the memory is available: both look for \
         large blocks"
    );
    (kswapd.is_yes() && percent >= cx.limit(T::AvailableAmple)).then(|| cx.say(&seen, &text))
}

/// Does kcompactd take the time?
pub(super) fn kcompactd(cx: &Context<'_>) -> Answer {
    daemon(cx, "kcompactd")
}

/// Huge-page faults that follow from the pages freed for each fault, where nothing counts them.
///
/// With h the share of huge faults, a fault takes, and later frees, n h + (1 - h) base pages, n
/// being those of a huge page.
/// Pages that were only read from files, or reclaimed, are freed as well: then nothing follows.
fn derived_huge_faults(cx: &Context<'_>) -> Option<Events> {
    let uncounted = huge_fault_events(cx).is_none();
    let (faults, freed) = (cx.mean_of(Field::Faults)?, cx.mean_of(Field::PagesFreed)?);
    let each = freed.value / faults.value;
    let read = cx.mean_of(Field::PageIn).map_or(0.0, |seen| seen.value) / cx.base_page();
    let reclaimed = [Field::ScanKswapd, Field::ScanDirect].map(|field| cx.mean_of(field));
    let scanned: f64 = reclaimed.into_iter().flatten().map(|seen| seen.value).sum();
    let other = (read + scanned) * 2.0 >= freed.value;
    let many = faults.value >= FAULTS_MIN && each >= cx.limit(T::PagesPerFault);
    if !uncounted || !many || other || thp_is_off(cx) {
        return None;
    }
    let huge_pages = f64::from(cx.host.geometry().pages_per_huge());
    let huge = (freed.value - faults.value) / (huge_pages - 1.0);
    let seen = Reading { value: huge.min(faults.value), ..faults };
    Some(Events { seen, name: "huge-page faults", cost: T::CostHugeFault })
}

/// Fewer faults a second take no time worth a conclusion.
const FAULTS_MIN: f64 = 500.0;

/// Whether a setting says that programs get no huge page unless they ask.
fn thp_is_off(cx: &Context<'_>) -> bool {
    super::defaults::thp_always(cx).verdict == Verdict::No
}

/// Are huge pages the first suspect?
pub(super) fn huge_pages(cx: &Context<'_>) -> Answer {
    with_switch(cx, suspected(cx))
}

fn suspected(cx: &Context<'_>) -> Answer {
    if cx.kernel(&Subject::Machine).is_none() {
        return Answer::unknown(&[CPU]);
    }
    if profile::is_there(cx) {
        let text = "a profile says where the time goes";
        return Answer::no(vec![Evidence::derived(text)]).if_close(true);
    }
    if let Some(events) = huge_fault_events(cx) {
        return counted_suspect(cx, &events);
    }
    if let Some(events) = derived_huge_faults(cx) {
        let each = format!(
            "so many base pages are freed for each page fault that a part of the faults must have \
             been of {} pages",
            cx.host.geometry().pages_per_huge()
        );
        return match explained(cx, &events) {
            Err(missing) => Answer::unknown(&[missing]),
            Ok((share, evidence)) if share * 100.0 >= cx.limit(T::ExplainedShare) => {
                let always = super::defaults::thp_always(cx);
                // With the setting it follows; without, it is taken to be so.
                let why = match always.is_yes() {
                    true => Evidence::derived(each),
                    false => Evidence::assumed(each),
                };
                let setting =
                    always.evidence.into_iter().filter(|_| always.verdict == Verdict::Yes);
                Answer::yes(share, vec![evidence, why]).and(setting).lacking(&[VMSTAT])
            }
            Ok((_, evidence)) => Answer::no(vec![evidence]).if_close(true),
        };
    }
    let setting = super::defaults::thp_always(cx);
    if !setting.is_yes() {
        return if setting.verdict == Verdict::No { setting } else { Answer::unknown(&[VMSTAT]) };
    }
    if let Some(cause) = counted_cause(cx) {
        return Answer::no(vec![cause]).if_close(true);
    }
    let text = format!(
        "nothing that these sources count explains the kernel's time; with 'always', page faults \
         clear {} at once, and reclaim and compact for it",
        Size(cx.host.geometry().huge.0)
    );
    let assumed = vec![Evidence::assumed(text)];
    Answer::yes(0.5, assumed).and(setting.evidence).lacking(&[VMSTAT, SYMBOLS])
}

/// Huge-page faults that are counted and explain too little at their usual cost: the suspect where
/// nothing else explains more.
fn counted_suspect(cx: &Context<'_>, events: &Events) -> Answer {
    let (share, evidence) = match explained(cx, events) {
        Ok(explained) => explained,
        Err(missing) => return Answer::unknown(&[missing]),
    };
    let others = [fault_events(cx), fork_events(cx), switch_events(cx), packet_events(cx)];
    let more = others.into_iter().flatten().filter_map(|other| explained(cx, &other).ok());
    let largest = more.map(|(share, _)| share).fold(0.0, f64::max) < share;
    if !largest || !could_explain(cx, events) || counted_cause(cx).is_some() {
        return Answer::no(vec![evidence]).if_close(true);
    }
    let text = "nothing else that is counted explains more, and each takes several times as long \
                where many CPUs clear memory at once";
    Answer::yes(share, vec![Evidence::assumed(text), evidence]).lacking(&[SYMBOLS])
}

/// A countable event that explains enough of the kernel's time by itself.
fn counted_cause(cx: &Context<'_>) -> Option<Evidence> {
    let all = [
        fault_events(cx),
        fork_events(cx),
        switch_events(cx),
        packet_events(cx),
        disk_events(cx),
        compaction_events(cx),
    ];
    let all = all.into_iter().flatten();
    let explaining = all.filter_map(|events| explained(cx, &events).ok());
    let mut enough = explaining.filter(|(share, _)| share * 100.0 >= cx.limit(T::ExplainedShare));
    enough.next().map(|(_, evidence)| evidence)
}

/// Do tasks wait for the kernel's locks while they spin?
pub(super) fn locks(cx: &Context<'_>) -> Answer {
    // Before Linux 4.2 a lock spun in its own function: `_raw_spin_lock`, `_spin_lock`.
    const NAMES: [&str; 5] =
        ["_spin_lock", "rwsem_", "osq_lock", "mutex_spin_on_owner", "mutex_lock_slowpath"];
    match profile::named(cx, &NAMES) {
        Some(locks) => locks.and(profile::ways_to(cx, &NAMES)),
        None => profile::unnamed(cx, &[SYMBOLS]),
    }
}

/// Fewer calls in a second, of a program that `strace` stops at each one, are no load.
const TRACED_CALLS_MIN: f64 = 5000.0;
/// As many in a trace of unknown length.
const TRACED_MIN: f64 = 50_000.0;

/// System calls that were traced, the most frequent first, and the sum of all: of a program that
/// calls the kernel all the time.
pub(super) fn calls_traced(cx: &Context<'_>) -> Option<(Vec<Reading>, f64)> {
    let all = |field| cx.sorted(field, |_| true);
    let rates = all(Field::SyscallRate);
    let (calls, limit) = match rates.is_empty() {
        false => (rates, TRACED_CALLS_MIN),
        true => (all(Field::SyscallCalls), TRACED_MIN),
    };
    let sum: f64 = calls.iter().map(|seen| seen.value).sum();
    (sum >= limit).then_some((calls, sum))
}

/// Which calls were traced, in a sentence.
pub(super) fn say_calls(cx: &Context<'_>, calls: &[Reading], sum: f64) -> Evidence {
    let part = |seen: &Reading| format!("{} {:.0} %", seen.subject, seen.value / sum * 100.0);
    let parts: Vec<String> = calls.iter().take(4).map(part).collect();
    let rate = calls.first().is_some_and(|first| first.field == Field::SyscallRate);
    let unit = if rate { " a second" } else { "" };
    let text =
        format!("{} system calls{unit} were traced: {}", write::number(sum), parts.join(", "));
    calls.first().map_or_else(|| Evidence::derived(&text), |first| cx.say(first, &text))
}

/// A program that was traced and calls the kernel all the time, where nothing that is counted
/// explains the kernel's time.
fn traced(cx: &Context<'_>) -> Option<Answer> {
    let (calls, sum) = calls_traced(cx).filter(|_| counted_cause(cx).is_none())?;
    let rest = "nothing else that these sources count explains the kernel's time";
    let evidence = vec![say_calls(cx, &calls, sum), Evidence::derived(rest)];
    Some(Answer::yes(0.5, evidence).and(who(cx, Field::ProcSystem)))
}

/// Is it system calls: is most of the time explained by nothing that can be counted?
pub(super) fn system_calls(cx: &Context<'_>) -> Answer {
    let named = |names: &[&str]| profile::named(cx, names);
    let named = named(&COMPACTION).or_else(|| named(&RECLAIM));
    if let Some(named) = named.or_else(|| profile::huge_faults(cx)) {
        return Answer::no(named.evidence);
    }
    let profiled = profile::is_there(cx);
    if let Some(traced) = traced(cx).filter(|_| !locks(cx).is_yes()) {
        return traced;
    }
    let counted = [fault_events(cx), switch_events(cx)];
    if counted.iter().any(Option::is_none) {
        return Answer::unknown(&[SYMBOLS]);
    }
    let huge = huge_fault_events(cx).or_else(|| derived_huge_faults(cx));
    // What is known to be in force and was not counted cannot be eliminated.
    if !profiled && huge.is_none() && super::defaults::thp_always(cx).is_yes() {
        return Answer::unknown(&[SYMBOLS, VMSTAT]);
    }
    let more = [
        ("new tasks", fork_events(cx)),
        ("packets", packet_events(cx)),
        ("disk requests", disk_events(cx)),
        ("huge-page faults", huge),
        ("direct compactions", compaction_events(cx)),
    ];
    let uncounted = more.iter().filter(|(_, events)| events.is_none()).map(|(name, _)| *name);
    let uncounted: Vec<&str> = uncounted.collect();
    let more = more.into_iter().map(|(_, events)| events);
    let mut parts = Vec::new();
    for events in counted.into_iter().chain(more).flatten() {
        match explained(cx, &events) {
            Ok((share, _)) => parts.push((share, events.name)),
            Err(missing) => return Answer::unknown(&[missing]),
        }
    }
    let total: f64 = parts.iter().map(|(share, _)| share).sum();
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named: Vec<String> = parts
        .iter()
        .take(4)
        .map(|(share, name)| format!("{name} {:.0} %", share * 100.0))
        .collect();
    let text = format!(
        "countable events explain {:.0} % of the kernel's time ({})",
        (total * 100.0).min(100.0),
        named.join(", ")
    );
    let missed = if uncounted.is_empty() { "" } else { "; not counted in these sources: " };
    let evidence = Evidence::derived(format!("{text}{missed}{}", uncounted.join(", ")));
    // Where one of them is a cause by itself, the calls that belong to it are the rest.
    let named =
        parts.first().is_some_and(|(share, _)| share * 100.0 >= cx.limit(T::ExplainedShare));
    if named || total * 100.0 > cx.limit(T::CountedShare) {
        return Answer::no(vec![evidence]);
    }
    let mut answer =
        Answer::yes(1.0 - total, seen_or_left(cx, evidence)).and(who(cx, Field::ProcSystem));
    if fork_events(cx).is_none() {
        answer = answer.lacking(&[TASKS]);
    }
    if !profiled {
        return answer.lacking(&[SYMBOLS]);
    }
    answer.and(profile::top(cx))
}

/// System calls as a profile saw them, or what counted events leave for them.
fn seen_or_left(cx: &Context<'_>, counted: Evidence) -> Vec<Evidence> {
    let rest = "what is left are system calls, or locks inside them: found by elimination";
    match profile::calls(cx) {
        Some((share, seen)) if share * 100.0 >= cx.limit(T::ExplainedShare) => {
            vec![seen, counted]
        }
        _ => vec![counted, Evidence::assumed(rest)],
    }
}

/// The same of the whole machine, in the unit of `field`, where that is known.
fn machine_total(cx: &Context<'_>, field: Field) -> Option<f64> {
    let (value, factor) = match field {
        Field::ProcSystem => (kernel_seconds(cx).ok(), 100.0),
        Field::ProcMinorFaults => (cx.mean_of(Field::Faults).map(|seen| seen.value), 1.0),
        _ => (None, 1.0),
    };
    value.map(|value| value * factor)
}

/// The program that has most of this, all of its processes together.
pub(super) fn who(cx: &Context<'_>, field: Field) -> Option<Evidence> {
    let (name, seen, mut share) = super::pick::largest_program(cx, field)?;
    // Lists leave out what is small or short-lived: the largest of a list can be next to nothing.
    if let Some(all) = machine_total(cx, field).filter(|all| *all > 0.0) {
        share = share.min(seen.value / all);
    }
    if share * 100.0 < cx.limit(T::WhoShare) {
        return None;
    }
    let about = field.about();
    let text = format!(
        "{name} has {:.0} % of it: {} {}",
        share * 100.0,
        about.name,
        write::value(about.unit, seen.value)
    );
    Some(cx.say(&seen, &text))
}
