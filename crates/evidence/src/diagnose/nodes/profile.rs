//! What a profile says: in which functions the kernel's samples lie, and how programs came there.

use super::prelude::*;
use crate::functions::{CLEARING, COMPACTION, HUGE_CLEARING, HUGE_FAULT, RECLAIM, SHARED};
use crate::recording::readers::profile::way::SYSCALL_ENTRY;

/// Only the start of a process has these.
const STARTS: [&str; 5] =
    ["copy_page_range", "copy_pte_range", "dup_mmap", "dup_mm", "copy_process"];
/// Its start, its program's first pages, and its end.
const LIVES: [&str; 14] = [
    "copy_page_range",
    "copy_pte_range",
    "dup_mmap",
    "dup_mm",
    "copy_process",
    "load_elf",
    "exec_binprm",
    "filemap_map_pages",
    "next_uptodate_page",
    "wp_page_copy",
    "unmap_page_range",
    "zap_pte_range",
    "exit_mmap",
    "do_exit",
];
/// How many functions or ways a sentence names.
const NAMED: usize = 4;

/// The kernel's functions in a profile.
pub(super) struct Functions {
    /// The largest first.
    pub(super) all: Vec<Reading>,
    /// The kernel's share of all samples, percent: as the profile says it, else what is known.
    kernel: f64,
    /// Whether the profile, or a tool that counts CPU time, says it.
    said: bool,
}

impl Functions {
    /// Whether the kernel is a real part of the profile, or of the CPU's time beside it.
    fn matter(&self, cx: &Context<'_>) -> bool {
        let shown: f64 = self.all.iter().map(|seen| seen.value).sum();
        let profiled = if self.said { self.kernel.max(shown) } else { shown };
        let counted = cx.kernel(&Subject::Machine).and_then(|line| cx.highest(&line));
        let counted = counted.map_or(0.0, |seen| seen.value);
        profiled.max(counted) >= cx.limit(T::KernelHigh)
    }

    /// What a share of the kernel's samples, 0 to 1, is at least: of few samples it may be a good
    /// deal less than what was met. The lower end of Wilson's interval, two standard errors wide.
    fn at_least(&self, cx: &Context<'_>, share: f64) -> f64 {
        const ERRORS: f64 = 1.96;
        const SAMPLES_MIN: f64 = 5.0;
        let Some(samples) = cx.state(Field::ProfileSamples) else { return share };
        let many = samples.value * self.kernel / 100.0;
        // What was lost may all have been elsewhere.
        let lost = cx.state(Field::ProfileLost).map_or(0.0, |lost| lost.value / 100.0);
        let share = share.min(1.0) * (1.0 - lost);
        if many < SAMPLES_MIN {
            return 0.0;
        }
        let square = ERRORS * ERRORS;
        let middle = share + square / (2.0 * many);
        let half = ERRORS * (share * (1.0 - share) / many + square / (4.0 * many * many)).sqrt();
        (middle - half) / (1.0 + square / many)
    }

    /// A share of all samples as one of the kernel's, 0 to 1.
    fn part(&self, percent: f64) -> f64 {
        if self.kernel > 0.0 { percent / self.kernel } else { 0.0 }
    }
}

/// Functions of the kernel in a profile. Of a report of which only the first lines were pasted the
/// kernel's share follows from its head, or from CPU time, else it is at most what is not listed
/// elsewhere: it is never the sum of the lines that happen to be there.
pub(super) fn functions(cx: &Context<'_>) -> Functions {
    let all = cx.sorted(Field::SymbolPercent, |_| true);
    let shown: f64 = all.iter().map(|seen| seen.value).sum();
    let state = |field| cx.state(field).map(|seen| seen.value);
    if let Some(kernel) = state(Field::ProfileKernel) {
        return Functions { all, kernel: kernel.max(shown), said: true };
    }
    let most = state(Field::ProfileKernelMost).unwrap_or(shown).max(shown);
    let mean = |line: Option<Line>| line.and_then(|line| cx.mean(&line));
    let (kernel, busy) = (mean(cx.kernel(&Subject::Machine)), mean(cx.busy(&Subject::Machine)));
    let counted = kernel.zip(busy).filter(|(_, busy)| busy.value > 0.0);
    let counted = counted.map(|(kernel, busy)| most * (kernel.value / busy.value).min(1.0));
    let said = counted.is_some();
    Functions { all, kernel: counted.unwrap_or(most).max(shown), said }
}

fn is_one_of(seen: &Reading, names: &[&str]) -> bool {
    let name = seen.subject.to_string();
    names.iter().any(|wanted| name.contains(wanted))
}

/// Yes when functions of these names have enough of the kernel's samples in a profile: those in
/// them, or, where chains of calls are known, in what they called.
pub(super) fn named(cx: &Context<'_>, names: &[&str]) -> Option<Answer> {
    let functions = functions(cx);
    let callers = cx.sorted(Field::WithinPercent, |_| true);
    let chained = !callers.is_empty();
    let ours = |seen: &&Reading| is_one_of(seen, names) && !(chained && is_one_of(seen, &SHARED));
    let found: Vec<Reading> = functions.all.iter().filter(ours).cloned().collect();
    let own = functions.part(found.iter().map(|seen| seen.value).sum());
    // They call each other, so that their shares are not to be added up.
    let callers: Vec<Reading> = callers.iter().filter(ours).take(1).cloned().collect();
    let below = callers.first().map_or(0.0, |seen| functions.part(seen.value));
    let (share, shown) = if below > own { (below, callers) } else { (own, found) };
    let sure = functions.at_least(cx, share);
    (sure * 100.0 >= cx.limit(T::ExplainedShare) && functions.matter(cx))
        .then(|| Answer::yes(share.min(1.0), Vec::new()).and(say_functions(cx, &functions, &shown)))
}

/// Yes when page faults that hand out huge pages have enough of the kernel's samples: by functions
/// that only they call, or by the chains of calls to what they call. Where the time goes into
/// compaction or reclaim for them, those are said to be the cause.
pub(super) fn huge_faults(cx: &Context<'_>) -> Option<Answer> {
    let clearing = named(cx, &HUGE_CLEARING);
    clearing.or_else(|| {
        let made = named(cx, &COMPACTION).or_else(|| named(cx, &RECLAIM));
        named(cx, &HUGE_FAULT).filter(|_| made.is_none())
    })
}

/// Clearing of pages of which the profile does not say whether they were huge: no chains of calls.
pub(super) fn clearing(cx: &Context<'_>) -> Option<Answer> {
    let chains = !cx.sorted(Field::WithinPercent, |_| true).is_empty();
    named(cx, &CLEARING).filter(|_| !chains)
}

/// Whether a profile shows the lives of short processes: functions that only a start has among
/// them.
pub(super) fn lives(cx: &Context<'_>) -> Option<Answer> {
    let functions = functions(cx);
    let part = |names: &[&str]| -> f64 {
        let ours = functions.all.iter().filter(|seen| is_one_of(seen, names));
        ours.map(|seen| seen.value).sum()
    };
    // A quarter at least: pages are also unmapped and copied without any new process.
    let starts = part(&STARTS) * 4.0 >= part(&LIVES);
    named(cx, &LIVES).filter(|_| starts)
}

/// Whether there is a profile of the kernel at all.
pub(super) fn is_there(cx: &Context<'_>) -> bool {
    cx.host.subjects(Field::SymbolPercent).next().is_some()
}

/// The answer where a profile, if there is one, does not name the functions.
pub(super) fn unnamed(cx: &Context<'_>, missing: &[Missing]) -> Answer {
    if !is_there(cx) {
        return Answer::unknown(missing);
    }
    Answer::no(top(cx).into_iter().collect())
}

/// The largest functions of a profile in one sentence: their shares as the profile has them.
pub(super) fn say_functions(
    cx: &Context<'_>,
    functions: &Functions,
    found: &[Reading],
) -> Option<Evidence> {
    let parts: Vec<String> = found.iter().take(NAMED).map(part).collect();
    let below = found.first().is_some_and(|first| first.field == Field::WithinPercent);
    let below = if below { ", with what they call" } else { "" };
    let kernel = cx.state(Field::ProfileKernel).filter(|_| functions.said);
    let kernel = kernel.map_or_else(String::new, |kernel| {
        format!(", of which {} are in the kernel", write::value(Unit::Percent, kernel.value))
    });
    let idle = cx.state(Field::ProfileIdle).map_or("", |_| " but the idle ones");
    let doubt = doubt(cx);
    let parts = parts.join(", ");
    let text = format!("of all samples of the profile{idle}{kernel}: {parts}{below}{doubt}");
    found.first().map(|first| cx.say(first, &text))
}

/// Shares of lost samples and of broken chains from which they are reported.
const DOUBT_PERCENT: f64 = 5.0;

/// What the profile does not show: lost samples, and chains that end before the outermost function.
fn doubt(cx: &Context<'_>) -> String {
    let kinds = [(Field::ProfileLost, "were lost"), (Field::ProfileBroken, "have no whole chain")];
    let mut told = String::new();
    for (field, what) in kinds {
        if let Some(seen) = cx.state(field).filter(|seen| seen.value >= DOUBT_PERCENT) {
            told += &format!("; {} of the samples {what}", write::value(Unit::Percent, seen.value));
        }
    }
    told
}

/// A share of all samples, and whose it is.
fn part(seen: &Reading) -> String {
    format!("{} {}", seen.subject, write::value(Unit::Percent, seen.value))
}

/// The largest functions, where there is a profile: to be reported beside what else is known.
pub(super) fn top(cx: &Context<'_>) -> Option<Evidence> {
    let functions = functions(cx);
    say_functions(cx, &functions, &functions.all)
}

/// How programs came to where the kernel's time goes.
pub(super) fn ways(cx: &Context<'_>) -> Option<Evidence> {
    told_ways(cx, |_| true)
}

/// How programs came to functions of these names.
pub(super) fn ways_to(cx: &Context<'_>, names: &[&str]) -> Option<Evidence> {
    told_ways(cx, |path| {
        let last = path.rsplit(" > ").next().unwrap_or_default();
        names.iter().any(|name| last.contains(name))
    })
}

fn told_ways(cx: &Context<'_>, wanted: impl Fn(&str) -> bool) -> Option<Evidence> {
    let functions = functions(cx);
    let ours = |subject: &Subject| match subject {
        Subject::Calls { path, .. } => wanted(path),
        _ => false,
    };
    let all = cx.sorted(Field::PathPercent, ours);
    let worth = |seen: &&Reading| functions.part(seen.value) * 100.0 >= cx.limit(T::WayShare);
    let parts = all.iter().filter(worth).take(2);
    let parts =
        parts.map(|seen| format!("{} {}", write::value(Unit::Percent, seen.value), seen.subject));
    let parts: Vec<String> = parts.collect();
    let first = all.first().filter(|_| !parts.is_empty())?;
    Some(cx.say(first, &format!("how programs came there, of all samples: {}", parts.join("; "))))
}

/// Which programs' system calls have the kernel's time, and how much of it they have, 0 to 1.
pub(super) fn calls(cx: &Context<'_>) -> Option<(f64, Evidence)> {
    let functions = functions(cx);
    let is_call = |path: &str| path.ends_with("()") || path == SYSCALL_ENTRY;
    let call = |subject: &Subject| matches!(subject, Subject::Calls { path, .. } if is_call(path));
    let all = cx.sorted(Field::EntryPercent, call);
    let share = functions.part(all.iter().map(|seen| seen.value).sum());
    let parts = all.iter().filter(|seen| functions.part(seen.value) >= 0.01);
    let parts = parts
        .take(NAMED)
        .map(|seen| format!("{} {:.0} %", seen.subject, functions.part(seen.value) * 100.0));
    let parts: Vec<String> = parts.collect();
    let text = format!(
        "system calls have {:.0} % of the kernel's samples: {}",
        share * 100.0,
        parts.join(", ")
    );
    all.first().map(|first| (share, cx.say(first, &text)))
}
