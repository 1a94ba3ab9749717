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
pub(super) fn thp_uncounted(look: &Look<'_>) -> Option<Evidence> {
    let uncounted = huge_fault_events(look).is_none();
    let always = uncounted && super::defaults::thp_always(look).is_yes();
    always.then(|| {
        Evidence::assumed(
            "THP is 'always' and these sources do not count its page faults: they can be a part \
             of it (thp_fault_alloc and compact_stall in /proc/vmstat say)",
        )
    })
}

/// Do page faults that hand out huge pages take the time?
pub(super) fn huge_faults(look: &Look<'_>) -> Answer {
    with_switch(look, hands_out_huge(look))
}

/// Where nobody asked for huge pages, the switch is what removes them.
fn with_switch(look: &Look<'_>, answer: Answer) -> Answer {
    match answer.is_yes() && super::defaults::thp_always(look).is_yes() {
        true => answer.mended_by(remedy::with_first("huge_faults", Reach::Machine)),
        false => answer,
    }
}

fn hands_out_huge(look: &Look<'_>) -> Answer {
    if let Some(profiled) = profile::huge_faults(look).or_else(|| cleared_by_always(look)) {
        return profiled;
    }
    let answer = explains(look, huge_fault_events(look), VMSTAT);
    let close = huge_fault_events(look).is_some_and(|events| could_explain(look, &events));
    if answer.is_yes() { answer.and(huge_memory(look)) } else { answer.if_close(close) }
}

/// The process with most memory in huge pages, where a source looked.
fn huge_memory(look: &Look<'_>) -> Option<Evidence> {
    let top = look.top(Field::ProcHuge)?;
    let all = look.latest(Field::ProcRss, &top.subject)?;
    let text = format!(
        "{}: {} of {} resident are in huge pages",
        top.subject,
        write::bytes(top.value),
        write::bytes(all.value)
    );
    Some(look.say(&top, &text))
}

/// Clearing of pages has the kernel's time, and page faults of all programs ask for huge ones.
fn cleared_by_always(look: &Look<'_>) -> Option<Answer> {
    let (cleared, always) = (profile::clearing(look)?, super::defaults::thp_always(look));
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
fn could_explain(look: &Look<'_>, events: &Events) -> bool {
    let share = explained(look, events).map_or(0.0, |(share, _)| share);
    share * HUGE_FAULT_FACTOR * 100.0 >= look.limit(T::ExplainedShare)
}

/// Do page faults take the time?
pub(super) fn faults(look: &Look<'_>) -> Answer {
    if let Some(evidence) = faults_of_forks(look) {
        return Answer::no(vec![evidence]);
    }
    let answer = explains(look, fault_events(look), PAGING);
    let who = who(look, Field::ProcMinorFaults);
    match answer.verdict {
        Verdict::Yes => answer.and(who),
        Verdict::Unknown => cleared(look).map_or(answer, |cleared| cleared.and(who)),
        Verdict::No => answer,
    }
}

/// Clearing of pages has the kernel's time, and nothing says whether of base pages or huge ones.
fn cleared(look: &Look<'_>) -> Option<Answer> {
    if cleared_by_always(look).is_some() {
        return None;
    }
    let text = "the profile has no chains of calls; pages are cleared in such a lot for page \
                faults, of base pages or of huge ones";
    let most = profile::clearing(look).filter(|answer| answer.weight >= CLEARED_MIN);
    most.map(|answer| answer.and([Evidence::assumed(text)]).lacking(&[VMSTAT]))
}

/// Share of the kernel's samples in clearing of pages from which on page faults are the cause,
/// though nothing counts them: nothing else can be a larger one.
const CLEARED_MIN: f64 = 0.5;

/// Where new tasks are a cause, the page faults that they bring are not another one.
fn faults_of_forks(look: &Look<'_>) -> Option<Evidence> {
    let (tasks, faults) = (fork_events(look)?, fault_events(look)?);
    let each = faults.seen.value / tasks.seen.value;
    let share = explained(look, &tasks).ok()?.0 + explained(look, &faults).ok()?.0;
    let theirs = tasks.seen.value >= FORKS_MIN
        && share * 100.0 >= look.limit(T::ExplainedShare)
        && each <= look.limit(T::ForkFaults);
    let text = format!(
        "{} page faults a second are {each:.0} for each new task: theirs",
        write::number(faults.seen.value)
    );
    theirs.then(|| look.say(&faults.seen, &text))
}

/// Fewer new tasks a second are what a machine has in passing.
const FORKS_MIN: f64 = 100.0;

/// Is memory taken and given back all the time?
pub(super) fn churn(look: &Look<'_>) -> Answer {
    let share = fault_events(look).and_then(|events| explained(look, &events).ok());
    let (faults, freed) = (look.mean_of(Field::Faults), look.mean_of(Field::PagesFreed));
    let (Some(faults), Some(freed)) = (faults, freed) else { return Answer::unknown(&[PAGING]) };
    let text = format!(
        "{} base pages freed a second beside {} page faults",
        write::number(freed.value),
        write::number(faults.value)
    );
    let evidence = vec![look.say(&freed, &text)];
    // Pages that the kernel takes away are freed as well: nobody gave them back.
    let taken = look.mean_of(Field::Steal).filter(|taken| taken.value * 2.0 >= freed.value);
    if let Some(taken) = taken {
        return Answer::no(evidence).and([look.quote(&taken)]);
    }
    Answer::when(
        freed.value * 100.0 >= faults.value * look.limit(T::FreedShare),
        share.map_or(0.2, |(share, _)| share),
        evidence,
    )
}

/// Do new processes take the time?
pub(super) fn forks(look: &Look<'_>) -> Answer {
    let counted = counted_forks(look);
    match profile::lives(look).filter(|_| !counted.is_yes()) {
        Some(profiled) => {
            profiled.and(counted.evidence).and(who(look, Field::ProcSystem)).lacking(&[TASKS])
        }
        None => counted,
    }
}

/// The same by their number.
fn counted_forks(look: &Look<'_>) -> Answer {
    let alone = explains(look, fork_events(look), TASKS);
    let Some(theirs) = faults_of_forks(look).filter(|_| !alone.is_yes()) else { return alone };
    let all = [fork_events(look), fault_events(look)].into_iter().flatten();
    let share = all.filter_map(|events| explained(look, &events).ok()).map(|(share, _)| share);
    Answer::yes(share.sum::<f64>().min(1.0), alone.evidence).and([theirs])
}

/// Do context switches take the time?
pub(super) fn switches(look: &Look<'_>) -> Answer {
    explains(look, switch_events(look), TASKS)
}

/// Does the network stack take the time?
pub(super) fn network(look: &Look<'_>) -> Answer {
    explains(look, packet_events(look), NETWORK)
}

/// Do disk requests take the time?
pub(super) fn disk_requests(look: &Look<'_>) -> Answer {
    explains(look, disk_events(look), DISKS)
}

/// Do programs stop to make huge blocks of free memory?
pub(super) fn compaction(look: &Look<'_>) -> Answer {
    if let Some(answer) = profile::named(look, &COMPACTION) {
        let counts = [Field::CompactStall, Field::CompactFail].map(|field| look.mean_of(field));
        return answer.and(counts.into_iter().flatten().map(|seen| look.quote(&seen)));
    }
    let stalls = look.line(Field::CompactStall, &Subject::Machine);
    let answer = look.reaches(stalls, T::CompactHigh, &[VMSTAT]);
    if !answer.is_yes() {
        return answer;
    }
    let failed = look.mean_of(Field::CompactFail).map(|seen| look.quote(&seen));
    let Some(events) = compaction_events(look) else { return answer.and(failed) };
    let Ok((share, evidence)) = explained(look, &events) else { return answer.and(failed) };
    if share * 100.0 >= look.limit(T::ExplainedShare) {
        let answer = answer.and(failed).and([evidence]);
        return Answer { weight: share.clamp(0.0, 1.0), ..answer };
    }
    // In fragmented memory most are in vain, and each looks through all of it.
    let text = format!(
        "{} direct compactions a second: each takes 1 ms, or up to {COMPACT_FACTOR} times as long \
         where memory is fragmented and most give nothing",
        write::number(events.seen.value)
    );
    let answer = answer.and(failed).and([look.say(&events.seen, &text)]);
    Answer { weight: (share * COMPACT_FACTOR).clamp(0.0, 1.0), ..answer }
}

/// How many times as long as usual a compaction takes at worst
/// (docs/measurements.md#kernel-time-of-events).
const COMPACT_FACTOR: f64 = 28.0;

/// Fewer processes are the first lines of a list.
const LISTED_FEW: usize = 20;

/// Does a kernel thread of this name take the time?
pub(in crate::diagnose) fn daemon(look: &Look<'_>, name: &str) -> Answer {
    let ours = |subject: &Subject| subject.process_name().is_some_and(|n| n.starts_with(name));
    let mut lines = super::pick::listed(look, look.lines(Field::ProcCpu, ours).iter());
    if lines.is_empty() {
        // BusyBox shows shares of all CPUs: of one it is as much at least.
        lines = look.lines(Field::ProcShare, ours);
    }
    let peaks = lines.iter().filter_map(|line| look.highest(line).map(|peak| (line, peak)));
    let Some((line, peak)) = most(peaks) else {
        // A list of processes without it says that it uses nothing worth listing.
        // ... at the time in question: one of another time says nothing.
        let lists = look.lines(Field::ProcCpu, |_| true);
        if lists.iter().all(|line| look.highest(line).is_none()) {
            return Answer::unknown(&[PROCESSES]);
        }
        let count = lists.len();
        let text = match count {
            0..LISTED_FEW => format!("{name} is not among the {count} processes that are listed"),
            _ => format!("{name} is in no list of processes"),
        };
        return Answer::no(vec![Evidence::derived(text)]);
    };
    let limit = look.limit(T::DaemonCpu);
    if peak.value < limit {
        return Answer::no(vec![look.quote(&peak)]).if_close(look.is_close(peak.value, limit));
    }
    let answer = look.reaches(Some(line.clone()), T::DaemonCpu, &[PROCESSES]);
    // One listing of the moment does not say since when.
    if line.points.len() == 1 { Answer { intervals: Vec::new(), ..answer } } else { answer }
}

/// Does khugepaged take the time?
pub(super) fn khugepaged(look: &Look<'_>) -> Answer {
    let answer = daemon(look, "khugepaged");
    let made = look.mean_of(Field::ThpCollapse).map(|seen| look.quote(&seen));
    answer.backed(made).backed(beside_kswapd(look))
}

/// That kswapd works as well though much memory is available: both look for large blocks.
fn beside_kswapd(look: &Look<'_>) -> Option<Evidence> {
    let kswapd = daemon(look, "kswapd");
    let percent = machine::memory::room_percent(look)?.low;
    let seen = machine::memory::room(look)?.seen;
    let text = format!(
        "kswapd works as well though {percent:.0} % of the memory is available: both look for \
         large blocks"
    );
    (kswapd.is_yes() && percent >= look.limit(T::AvailableAmple)).then(|| look.say(&seen, &text))
}

/// Does kcompactd take the time?
pub(super) fn kcompactd(look: &Look<'_>) -> Answer {
    daemon(look, "kcompactd")
}

/// Huge-page faults that follow from the pages freed for each fault, where nothing counts them.
///
/// With h the share of huge faults, a fault takes, and later frees, n h + (1 - h) base pages, n
/// being those of a huge page.
/// Pages that were only read from files, or reclaimed, are freed as well: then nothing follows.
fn derived_huge_faults(look: &Look<'_>) -> Option<Events> {
    let uncounted = huge_fault_events(look).is_none();
    let (faults, freed) = (look.mean_of(Field::Faults)?, look.mean_of(Field::PagesFreed)?);
    let each = freed.value / faults.value;
    let read = look.mean_of(Field::PageIn).map_or(0.0, |seen| seen.value) / look.base_page();
    let reclaimed = [Field::ScanKswapd, Field::ScanDirect].map(|field| look.mean_of(field));
    let scanned: f64 = reclaimed.into_iter().flatten().map(|seen| seen.value).sum();
    let other = (read + scanned) * 2.0 >= freed.value;
    let many = faults.value >= FAULTS_MIN && each >= look.limit(T::PagesPerFault);
    if !uncounted || !many || other || thp_is_off(look) {
        return None;
    }
    let huge_pages = f64::from(look.host.geometry().pages_per_huge());
    let huge = (freed.value - faults.value) / (huge_pages - 1.0);
    let seen = Seen { value: huge.min(faults.value), ..faults };
    Some(Events { seen, name: "huge-page faults", cost: T::CostHugeFault })
}

/// Fewer faults a second take no time worth a conclusion.
const FAULTS_MIN: f64 = 500.0;

/// Whether a setting says that programs get no huge page unless they ask.
fn thp_is_off(look: &Look<'_>) -> bool {
    super::defaults::thp_always(look).verdict == Verdict::No
}

/// Are huge pages the first suspect?
pub(super) fn huge_pages(look: &Look<'_>) -> Answer {
    with_switch(look, suspected(look))
}

fn suspected(look: &Look<'_>) -> Answer {
    if look.kernel(&Subject::Machine).is_none() {
        return Answer::unknown(&[CPU]);
    }
    if profile::is_there(look) {
        let text = "a profile says where the time goes";
        return Answer::no(vec![Evidence::derived(text)]).if_close(true);
    }
    if let Some(events) = huge_fault_events(look) {
        return counted_suspect(look, &events);
    }
    if let Some(events) = derived_huge_faults(look) {
        let each = format!(
            "so many base pages are freed for each page fault that a part of the faults must have \
             been of {} pages",
            look.host.geometry().pages_per_huge()
        );
        return match explained(look, &events) {
            Err(missing) => Answer::unknown(&[missing]),
            Ok((share, evidence)) if share * 100.0 >= look.limit(T::ExplainedShare) => {
                let always = super::defaults::thp_always(look);
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
    let setting = super::defaults::thp_always(look);
    if !setting.is_yes() {
        return if setting.verdict == Verdict::No { setting } else { Answer::unknown(&[VMSTAT]) };
    }
    if let Some(cause) = counted_cause(look) {
        return Answer::no(vec![cause]).if_close(true);
    }
    let text = format!(
        "nothing that these sources count explains the kernel's time; with 'always', page faults \
         clear {} at once, and reclaim and compact for it",
        Size(look.host.geometry().huge.0)
    );
    let assumed = vec![Evidence::assumed(text)];
    Answer::yes(0.5, assumed).and(setting.evidence).lacking(&[VMSTAT, SYMBOLS])
}

/// Huge-page faults that are counted and explain too little at their usual cost: the suspect where
/// nothing else explains more.
fn counted_suspect(look: &Look<'_>, events: &Events) -> Answer {
    let (share, evidence) = match explained(look, events) {
        Ok(explained) => explained,
        Err(missing) => return Answer::unknown(&[missing]),
    };
    let others = [fault_events(look), fork_events(look), switch_events(look), packet_events(look)];
    let more = others.into_iter().flatten().filter_map(|other| explained(look, &other).ok());
    let largest = more.map(|(share, _)| share).fold(0.0, f64::max) < share;
    if !largest || !could_explain(look, events) || counted_cause(look).is_some() {
        return Answer::no(vec![evidence]).if_close(true);
    }
    let text = "nothing else that is counted explains more, and each takes several times as long \
                where many CPUs clear memory at once";
    Answer::yes(share, vec![Evidence::assumed(text), evidence]).lacking(&[SYMBOLS])
}

/// A countable event that explains enough of the kernel's time by itself.
fn counted_cause(look: &Look<'_>) -> Option<Evidence> {
    let all = [
        fault_events(look),
        fork_events(look),
        switch_events(look),
        packet_events(look),
        disk_events(look),
        compaction_events(look),
    ];
    let all = all.into_iter().flatten();
    let explaining = all.filter_map(|events| explained(look, &events).ok());
    let mut enough = explaining.filter(|(share, _)| share * 100.0 >= look.limit(T::ExplainedShare));
    enough.next().map(|(_, evidence)| evidence)
}

/// Do tasks wait for the kernel's locks while they spin?
pub(super) fn locks(look: &Look<'_>) -> Answer {
    // Before Linux 4.2 a lock spun in its own function: `_raw_spin_lock`, `_spin_lock`.
    const NAMES: [&str; 5] =
        ["_spin_lock", "rwsem_", "osq_lock", "mutex_spin_on_owner", "mutex_lock_slowpath"];
    match profile::named(look, &NAMES) {
        Some(locks) => locks.and(profile::ways_to(look, &NAMES)),
        None => profile::unnamed(look, &[SYMBOLS]),
    }
}

/// Fewer calls in a second, of a program that `strace` stops at each one, are no load.
const TRACED_CALLS_MIN: f64 = 5000.0;
/// As many in a trace of unknown length.
const TRACED_MIN: f64 = 50_000.0;

/// System calls that were traced, the most frequent first, and the sum of all: of a program that
/// calls the kernel all the time.
pub(super) fn calls_traced(look: &Look<'_>) -> Option<(Vec<Seen>, f64)> {
    let all = |field| look.sorted(field, |_| true);
    let rates = all(Field::SyscallRate);
    let (calls, limit) = match rates.is_empty() {
        false => (rates, TRACED_CALLS_MIN),
        true => (all(Field::SyscallCalls), TRACED_MIN),
    };
    let sum: f64 = calls.iter().map(|seen| seen.value).sum();
    (sum >= limit).then_some((calls, sum))
}

/// Which calls were traced, in a sentence.
pub(super) fn say_calls(look: &Look<'_>, calls: &[Seen], sum: f64) -> Evidence {
    let part = |seen: &Seen| format!("{} {:.0} %", seen.subject, seen.value / sum * 100.0);
    let parts: Vec<String> = calls.iter().take(4).map(part).collect();
    let rate = calls.first().is_some_and(|first| first.field == Field::SyscallRate);
    let unit = if rate { " a second" } else { "" };
    let text =
        format!("{} system calls{unit} were traced: {}", write::number(sum), parts.join(", "));
    calls.first().map_or_else(|| Evidence::derived(&text), |first| look.say(first, &text))
}

/// A program that was traced and calls the kernel all the time, where nothing that is counted
/// explains the kernel's time.
fn traced(look: &Look<'_>) -> Option<Answer> {
    let (calls, sum) = calls_traced(look).filter(|_| counted_cause(look).is_none())?;
    let rest = "nothing else that these sources count explains the kernel's time";
    let evidence = vec![say_calls(look, &calls, sum), Evidence::derived(rest)];
    Some(Answer::yes(0.5, evidence).and(who(look, Field::ProcSystem)))
}

/// Is it system calls: is most of the time explained by nothing that can be counted?
pub(super) fn system_calls(look: &Look<'_>) -> Answer {
    let named = |names: &[&str]| profile::named(look, names);
    let named = named(&COMPACTION).or_else(|| named(&RECLAIM));
    if let Some(named) = named.or_else(|| profile::huge_faults(look)) {
        return Answer::no(named.evidence);
    }
    let profiled = profile::is_there(look);
    if let Some(traced) = traced(look).filter(|_| !locks(look).is_yes()) {
        return traced;
    }
    let counted = [fault_events(look), switch_events(look)];
    if counted.iter().any(Option::is_none) {
        return Answer::unknown(&[SYMBOLS]);
    }
    let huge = huge_fault_events(look).or_else(|| derived_huge_faults(look));
    // What is known to be in force and was not counted cannot be eliminated.
    if !profiled && huge.is_none() && super::defaults::thp_always(look).is_yes() {
        return Answer::unknown(&[SYMBOLS, VMSTAT]);
    }
    let more = [
        ("new tasks", fork_events(look)),
        ("packets", packet_events(look)),
        ("disk requests", disk_events(look)),
        ("huge-page faults", huge),
        ("direct compactions", compaction_events(look)),
    ];
    let uncounted = more.iter().filter(|(_, events)| events.is_none()).map(|(name, _)| *name);
    let uncounted: Vec<&str> = uncounted.collect();
    let more = more.into_iter().map(|(_, events)| events);
    let mut parts = Vec::new();
    for events in counted.into_iter().chain(more).flatten() {
        match explained(look, &events) {
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
        parts.first().is_some_and(|(share, _)| share * 100.0 >= look.limit(T::ExplainedShare));
    if named || total * 100.0 > look.limit(T::CountedShare) {
        return Answer::no(vec![evidence]);
    }
    let mut answer =
        Answer::yes(1.0 - total, seen_or_left(look, evidence)).and(who(look, Field::ProcSystem));
    if fork_events(look).is_none() {
        answer = answer.lacking(&[TASKS]);
    }
    if !profiled {
        return answer.lacking(&[SYMBOLS]);
    }
    answer.and(profile::top(look))
}

/// System calls as a profile saw them, or what counted events leave for them.
fn seen_or_left(look: &Look<'_>, counted: Evidence) -> Vec<Evidence> {
    let rest = "what is left are system calls, or locks inside them: found by elimination";
    match profile::calls(look) {
        Some((share, seen)) if share * 100.0 >= look.limit(T::ExplainedShare) => {
            vec![seen, counted]
        }
        _ => vec![counted, Evidence::assumed(rest)],
    }
}

/// The program that has most of this, all of its processes together.
pub(super) fn who(look: &Look<'_>, field: Field) -> Option<Evidence> {
    let (name, seen, mut share) = super::pick::largest_program(look, field)?;
    // Lists leave out what is small or short-lived: the largest of a list can be next to nothing.
    if field == Field::ProcSystem
        && let Ok(kernel) = kernel_seconds(look)
        && kernel > 0.0
    {
        share = share.min(seen.value / 100.0 / kernel);
    }
    if share * 100.0 < look.limit(T::WhoShare) {
        return None;
    }
    let about = field.about();
    let text = format!(
        "{name} has {:.0} % of it: {} {}",
        share * 100.0,
        about.name,
        write::value(about.unit, seen.value)
    );
    Some(look.say(&seen, &text))
}
