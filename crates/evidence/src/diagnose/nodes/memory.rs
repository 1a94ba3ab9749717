//! What is wrong with memory itself, whether or not it costs CPU now.

use super::prelude::*;
use crate::diagnose::machine::memory as machine;

/// Are there partially mapped huge pages?
pub(super) fn bloat(cx: &Context<'_>) -> Answer {
    let huge = cx.host.geometry().huge.0;
    let stats = format!(
        "/sys/kernel/mm/transparent_hugepage/hugepages-{}kB/stats/nr_anon_partially_mapped",
        huge >> 10
    );
    let partial = cx.setting(&stats).and_then(|q| Some((q, q.text.parse::<f64>().ok()?)));
    let (Some((quote, partial)), Some(total)) = (partial, cx.memory_bytes()) else {
        return Answer::unknown(&[HUGE_STATS]);
    };
    let held = partial * huge as f64;
    let percent = held / total * 100.0;
    let text = format!(
        "{} huge pages are partially mapped: {} are held of which up to as much is waste, \
         {percent:.1} % of all memory",
        write::number(partial),
        write::bytes(held)
    );
    Answer::when(percent >= cx.limit(T::BloatHigh), percent / 100.0, vec![cx.cite(quote, &text)])
}

/// Does the kernel kill programs for memory?
pub(super) fn killed(cx: &Context<'_>) -> Answer {
    let told = super::kills::told(cx);
    if told.is_yes() {
        return told;
    }
    let rate = cx.peak(Field::OomKills, &Subject::Machine);
    let count = || cx.state(Field::OomKillCount);
    let of_cgroups = || cx.top_of(Field::OomKillCount, |subject| *subject != Subject::Machine);
    let seen = rate.or_else(count).or_else(of_cgroups);
    let Some(seen) = seen else { return told };
    let evidence = vec![cx.quote(&seen)];
    Answer::when(seen.value > 0.0, 0.8, evidence)
}

/// Is hardly any memory available?
pub(super) fn short(cx: &Context<'_>) -> Answer {
    let (Some(room), Some(total)) = (machine::room(cx), cx.memory_bytes()) else {
        let refused = below_minimum(cx).or_else(|| super::log::page_refused(cx));
        return refused.unwrap_or_else(|| Answer::unknown(&[MEMINFO]));
    };
    // A HugeTLB pool is in use by design: what is short is the rest.
    let pool = cx.state(Field::HugetlbTotal).map_or(0.0, |pool| pool.value);
    let rest = (total - pool).max(1.0);
    let percent = room.bytes.percent_of(rest);
    let of_all =
        |percent| format!("{} of {}", write::value(Unit::Percent, percent), write::bytes(rest));
    let evidence = match room.bytes.low == room.bytes.high {
        true => {
            let text = format!("{}: {}", write::sentence(&room.seen), of_all(percent.low));
            cx.say(&room.seen, &text)
        }
        false if room.bytes.high.is_finite() => {
            let most = write::bytes(room.bytes.high);
            let text =
                format!("at most {most} are available, caches included: {}", of_all(percent.high));
            cx.derive(&room.seen, &text)
        }
        false => {
            cx.say(&room.seen, &format!("{}: {}", write::sentence(&room.seen), of_all(percent.low)))
        }
    };
    // Where swap is used up as well, nothing more can be moved out.
    let swap = swap_full(cx);
    let limit = cx.limit(T::AvailableLow) * if swap.is_some() { SWAP_FULL_FACTOR } else { 1.0 };
    let little = room.bytes.high <= cx.limit(T::AvailableLowBytes);
    match percent.reaches(limit) {
        None => Answer { evidence: vec![evidence], ..Answer::unknown(&[MEMINFO]) },
        Some(above) => Answer::when(!above && little, 0.5, vec![evidence])
            .backed(swap)
            .backed(other_look(cx, &room.seen))
            .mild(is_of_before(cx, &room.seen))
            .backed(kept_free(cx, &room.seen, total)),
    }
}

/// A zone that had less than its minimum when the kernel reported: then only the kernel's own
/// emergencies get a page (`__zone_watermark_ok` in mm/page_alloc.c).
fn below_minimum(cx: &Context<'_>) -> Option<Answer> {
    let zones = cx.sorted(Field::LogZoneFree, |_| true);
    let short = zones.into_iter().find_map(|free| {
        let least = cx.peak(Field::LogZoneMin, &free.subject)?;
        (least.value > 0.0 && free.value < least.value).then_some((free, least))
    });
    let (free, least) = short?;
    let text = format!(
        "{}: {} were free when the kernel reported, below its minimum of {}",
        free.subject,
        write::bytes(free.value),
        write::bytes(least.value)
    );
    Some(Answer::yes(0.5, vec![cx.say(&free, &text)]).lacking(&[MEMINFO]))
}

/// With swap used up, this many times the usual limit is little.
const SWAP_FULL_FACTOR: f64 = 2.0;
/// Free swap, of all of it, below which it is used up.
const SWAP_FULL_PERCENT: f64 = 5.0;

/// That swap is used up, where there is any.
fn swap_full(cx: &Context<'_>) -> Option<Evidence> {
    let total = cx.state(Field::SwapTotal).filter(|total| total.value > 0.0)?;
    let free = cx.state(Field::SwapFree)?;
    let percent = free.value / total.value * 100.0;
    let text = format!(
        "swap is used up: {} of {} are free",
        write::bytes(free.value),
        write::bytes(total.value)
    );
    (percent <= SWAP_FULL_PERCENT).then(|| cx.say(&free, &text))
}

/// A sample of another time that showed far more.
fn other_look(cx: &Context<'_>, low: &Reading) -> Option<Evidence> {
    let most = cx.highest_of(Field::MemAvailable)?;
    let other = most.source != low.source && most.value >= 2.0 * low.value;
    let when =
        if most.source > low.source { "in a later listing" } else { "in an earlier listing" };
    let text = format!("{when} {} are available", write::bytes(most.value));
    other.then(|| cx.say(&most, &text))
}

/// Whether the machine has another amount of memory in its last listing, with far more available.
fn is_of_before(cx: &Context<'_>, low: &Reading) -> bool {
    let last = |field: Field| cx.looks_at(field).max_by_key(|line| line.source);
    let Some((total, room)) = last(Field::MemTotal).zip(last(Field::MemAvailable)) else {
        return false;
    };
    let totals: Vec<f64> =
        cx.looks_at(Field::MemTotal).flat_map(|line| line.points).map(|p| p.value).collect();
    let changed = totals.iter().any(|other| Some(*other) != total.points.last().map(|p| p.value));
    let roomy = room.points.last().is_some_and(|point| point.value >= 2.0 * low.value);
    changed && roomy && room.source > low.source
}

/// Free memory of which nothing is available, at the same look: the kernel keeps it.
fn kept_free(cx: &Context<'_>, low: &Reading, total: f64) -> Option<Evidence> {
    let free = cx.state(Field::MemFree).filter(|free| free.source == low.source)?;
    let kept = free.value / total * 100.0 >= cx.limit(T::AvailableAmple);
    let text = format!(
        "{} are free all the same: the kernel keeps them for itself (vm.min_free_kbytes)",
        write::bytes(free.value)
    );
    kept.then(|| cx.say(&free, &text))
}

/// Do caches of kernel objects, which can be reclaimed, take most of the memory?
pub(super) fn caches(cx: &Context<'_>) -> Answer {
    let reclaimable = cx.state(Field::SlabReclaimable).or_else(|| name_caches(cx));
    // `slabtop` alone counts all caches together: most of them are of names and files.
    let alone = || cx.state(Field::Slab).filter(|_| cx.state(Field::MemTotal).is_none());
    let seen = reclaimable.or_else(alone);
    let answer = super::reclaim::share_of_memory(cx, seen, T::SlabCacheHigh);
    answer.backed(super::reclaim::largest_caches(cx)).backed(negative_entries(cx))
}

/// The largest cache of names and files, where nobody says how much of all can be reclaimed.
fn name_caches(cx: &Context<'_>) -> Option<Reading> {
    let ours = |subject: &Subject| {
        let name = subject.to_string();
        name == "dentry" || name.contains("inode")
    };
    cx.top_of(Field::SlabCache, ours)
}

/// Names that were looked up and do not exist, of all that are remembered.
fn negative_entries(cx: &Context<'_>) -> Option<Evidence> {
    let quote = cx.setting("/proc/sys/fs/dentry-state")?;
    let mut numbers = quote.text.split_whitespace().map(str::parse::<f64>);
    let all = numbers.next()?.ok()?;
    // Until Linux 4.20 its place was a 0.
    let negative = numbers.nth(3)?.ok().filter(|count| *count > 0.0)?;
    let text = format!(
        "{} of {} entries of directories are negative: names that were looked up and do not exist",
        write::number(negative),
        write::number(all)
    );
    Some(cx.cite(quote, &text))
}

/// Do programs reclaim memory themselves, whatever CPU that takes?
pub(super) fn direct(cx: &Context<'_>) -> Answer {
    let line = cx.line(Field::ScanDirect, &Subject::Machine);
    let mean = line.and_then(|line| cx.sustained(&line));
    let stalls = cx.mean_of(Field::AllocStall).filter(|seen| seen.value > 0.0);
    let answer = cx.judged(mean, T::DirectScanHigh, 0.5, PAGING);
    answer.backed(stalls.map(|seen| cx.quote(&seen)))
}

/// Do programs make huge blocks of free memory themselves, whatever CPU that takes?
pub(super) fn compaction(cx: &Context<'_>) -> Answer {
    let line = cx.line(Field::CompactStall, &Subject::Machine);
    let mean = line.and_then(|line| cx.sustained(&line));
    let beside = [Field::CompactFail, Field::ThpFaultAlloc, Field::ThpFaultFallback];
    let beside = beside.into_iter().filter_map(|field| cx.mean_of(field));
    let beside = beside.filter(|seen| seen.value > 0.0);
    let answer = cx.judged(mean, T::CompactHigh, 0.5, VMSTAT);
    answer.backed(beside.map(|seen| cx.quote(&seen)))
}
