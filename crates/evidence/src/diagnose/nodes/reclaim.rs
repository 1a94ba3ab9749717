//! Memory shortage: does the kernel reclaim, and what uses the memory?

use super::prelude::*;
use crate::diagnose::machine::memory;
use crate::diagnose::narrow::Narrow;
use crate::diagnose::remedy::{self, Reach, Remedy};
use crate::functions::RECLAIM;
use crate::hugetlb::tables;
use hugewise_base::size::Size;
use hugewise_base::units::{Bytes, saturating_u64};

/// What [`shown`] looks at.
const SHOWN: [Field; 7] = [
    Field::ScanKswapd,
    Field::ScanDirect,
    Field::Scan,
    Field::AllocStall,
    Field::MemAvailable,
    Field::MemTotal,
    Field::MemFree,
];

/// Most times of reclaim that are quoted one by one.
const SAID_MAX: usize = 24;

/// Base pages scanned in a second, by kswapd and by allocating tasks.
fn scans(cx: &Context<'_>) -> Option<Line> {
    let machine = &Subject::Machine;
    let any = |field: Field| {
        let line = cx.line(field, machine);
        line.is_some_and(|line| line.points.iter().any(|point| point.value > 0.0))
    };
    let name = match (any(Field::ScanKswapd), any(Field::ScanDirect)) {
        (true, true) => Field::Scan,
        (false, true) => Field::ScanDirect,
        (_, false) => Field::ScanKswapd,
    };
    cx.sum(name, &[Field::ScanKswapd, Field::ScanDirect], machine)
        .or_else(|| cx.line(Field::ScanDirect, machine))
        .or_else(|| cx.line(Field::Scan, machine))
}

/// Whether much memory was available at its lowest within the times in question: then free memory
/// is low because the page cache has it, and what kswapd scans is only the page cache's turnover.
pub(super) fn ample(cx: &Context<'_>) -> bool {
    known_ample(cx) == Some(true)
}

/// The same; `None`: it may or may not be much, as far as the sources tell.
fn known_ample(cx: &Context<'_>) -> Option<bool> {
    memory::room_percent(cx)?.reaches(cx.limit(T::AvailableAmple))
}

/// Whether much memory was free, single pages of which anyone could have had.
fn free_ample(cx: &Context<'_>) -> bool {
    let free = cx.lowest_of(Field::MemFree).zip(cx.memory_bytes());
    free.is_some_and(|(free, total)| free.value / total * 100.0 >= cx.limit(T::AvailableAmple))
}

/// Whether tasks had to reclaim themselves to get memory; `None`: no source tells them from kswapd.
fn direct(cx: &Context<'_>) -> Option<bool> {
    let peak = |field| cx.peak(field, &Subject::Machine);
    let scans = peak(Field::ScanDirect).map(|seen| seen.value >= cx.limit(T::ReclaimScan));
    scans.or_else(|| peak(Field::AllocStall).map(|seen| seen.value >= 1.0))
}

/// Free memory that was as good as used up and then came back, within one interval.
struct Swing {
    low: Point,
    high: Point,
}

/// What swings are searched in.
struct Memory<'a> {
    /// Free memory.
    free: &'a Line,
    /// Available memory.
    available: Option<&'a Series>,
    /// Pages scanned.
    scans: Option<Line>,
    /// All of it, in bytes.
    total: f64,
}

impl<'a> Memory<'a> {
    fn new(cx: &Context<'a>, free: &'a Line, total: f64) -> Self {
        let available = cx.host.series(Field::MemAvailable, &Subject::Machine);
        Self { free, available, scans: scans(cx), total }
    }
}

/// The swing inside `interval`. `Err(true)`: there are values and they show none.
fn swing(cx: &Context<'_>, memory: &Memory<'_>, interval: Interval) -> Result<Swing, bool> {
    let &Memory { free, available, ref scans, total } = memory;
    // Free memory is a state: the sample at the very start belongs to it.
    let start = free.points.partition_point(|point| point.at.is_some() && point.at < interval.from);
    let inside = |point: &&Point| interval.holds(point.at) || point.at == interval.from;
    let points: Vec<Point> = free.points[start..].iter().take_while(inside).copied().collect();
    let lowest = least(points.iter().copied());
    let low = lowest.ok_or(false)?;
    let after = points.iter().copied().filter(|point| point.at >= low.at);
    let high = most(after).ok_or(false)?;
    let percent = |bytes: f64| bytes / total * 100.0;
    // Beside ample available memory it is a program that ended, or the page cache dropped.
    let swings = percent(low.value) <= cx.limit(T::FreeLow)
        && percent(high.value - low.value) >= cx.limit(T::FreeSwing);
    let ample = || {
        let at_low = available.and_then(|series| series.beside(usize::MAX, low.at));
        at_low.is_some_and(|bytes| percent(bytes) >= cx.limit(T::AvailableAmple))
    };
    let swing = Swing { low, high };
    let scanned = || {
        let pages = scans.as_ref().and_then(|scans| scanned_pages(scans, &swing));
        pages.is_none_or(|pages| 2.0 * pages * cx.base_page() >= high.value - low.value)
    };
    if swings && !ample() && scanned() { Ok(swing) } else { Err(true) }
}

/// Base pages that were scanned from its low to its high; `None`: nobody counted. What is freed was
/// scanned before: where much less was, a program ended, or a file was deleted.
fn scanned_pages(scans: &Line, swing: &Swing) -> Option<f64> {
    let span = Interval { from: swing.low.at, to: swing.high.at };
    let mut points = scans.points.as_slice();
    // Those with times are in their order, and there may be many swings.
    if points.first().is_some_and(|point| point.at.is_some()) && span.to.is_some() {
        let from = points.partition_point(|point| point.at <= span.from);
        let to = points.partition_point(|point| point.at <= span.to);
        points = points.get(from..to).unwrap_or_default();
    }
    let values = points.iter().filter(|point| span.holds(point.at)).map(|point| point.value);
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, n), value| (sum + value, n + 1));
    let seconds = swing.high.at?.0.saturating_sub(swing.low.at?.0);
    (count > 0 && seconds > 0).then(|| sum / count as f64 * seconds as f64)
}

fn say_swing(cx: &Context<'_>, free: &Line, total: f64, swing: &Swing) -> Evidence {
    let clock =
        |point: &Point| point.at.map_or_else(String::new, |at| format!(" at {}", at.clock()));
    let text = format!(
        "free memory was down to {} ({:.1} % of all){}, then {}{}",
        write::bytes(swing.low.value),
        swing.low.value / total * 100.0,
        clock(&swing.low),
        write::bytes(swing.high.value),
        clock(&swing.high),
    );
    let at = Interval { from: swing.low.at, to: swing.high.at };
    cx.say(&free.seen(swing.high.value, at), &text)
}

/// What one interval shows of reclaim.
enum Shown {
    Yes(Evidence),
    No(Option<Evidence>),
    Nothing,
}

fn shown(cx: &Context<'_>, narrow: &Narrow<'_>, interval: Interval) -> Shown {
    let (times, host) = ([interval], narrow.to(interval));
    let cx = &Context { times: &times, host: &host, ..*cx };
    let peak = scans(cx).and_then(|line| cx.highest(&line));
    if let Some(peak) = peak.as_ref().filter(|peak| peak.value >= cx.limit(T::ReclaimScan)) {
        let beside = match (known_ample(cx), direct(cx)) {
            (Some(true), Some(false)) => "with ample memory available",
            // Tasks reclaim beside free pages: they want a large block, not memory.
            (Some(true), Some(true)) if free_ample(cx) => "with ample memory free",
            // It may be the page cache's turnover.
            (None, Some(false)) => "and no task had to reclaim memory itself",
            _ => return Shown::Yes(cx.quote(peak)),
        };
        let text = format!("{}, {beside}", write::sentence(peak));
        return Shown::No(Some(cx.say(peak, &text)));
    }
    let none = peak.map(|peak| cx.quote(&peak));
    let free = cx.line(Field::MemFree, &Subject::Machine);
    let (Some(free), Some(total)) = (free, cx.memory_bytes()) else {
        return none.map_or(Shown::Nothing, |quote| Shown::No(Some(quote)));
    };
    match swing(cx, &Memory::new(cx, &free, total), interval) {
        Ok(swing) => Shown::Yes(say_swing(cx, &free, total, &swing)),
        Err(true) => {
            let low = cx.lowest(&free).map(|low| {
                let share = low.value / total * 100.0;
                cx.say(&low, &format!("{} ({share:.0} % of all)", write::sentence(&low)))
            });
            Shown::No(none.or(low))
        }
        Err(false) => none.map_or(Shown::Nothing, |quote| Shown::No(Some(quote))),
    }
}

/// Does the kernel reclaim memory in these times?
pub(super) fn reclaim(cx: &Context<'_>) -> Answer {
    if let Some(answer) = super::profile::named(cx, &RECLAIM) {
        return answer;
    }
    // The kernel's own thread for it is busy: that is reclaim, whatever else is known.
    let kswapd = super::kernel::daemon(cx, "kswapd");
    if kswapd.is_yes() && scans(cx).is_none() {
        match known_ample(cx) {
            Some(true) => {}
            Some(false) => return Answer { weight: 0.9, ..kswapd }.lacking(&[PAGING]),
            None => {
                let text = "how much memory is available is not known: kswapd works where a zone \
                            has little";
                return Answer { weight: 0.6, ..kswapd }
                    .and([Evidence::assumed(text)])
                    .lacking(&[MEMORY, PAGING]);
            }
        }
        // It makes room for the page cache, or looks for large blocks: memory does not run out.
        let available = cx.lowest_of(Field::MemAvailable).map(|seen| cx.quote(&seen));
        return Answer::no(kswapd.evidence).and(available).if_close(true).lacking(&[PAGING]);
    }
    let always = [Interval::ALWAYS];
    let times = if cx.times.is_empty() { &always } else { cx.times };
    let (mut yes, mut no, mut held, mut blind) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let narrow = Narrow::new(cx.host, &SHOWN);
    for interval in times {
        match shown(cx, &narrow, *interval) {
            Shown::Yes(evidence) => {
                yes.push(evidence);
                held.push(*interval);
            }
            Shown::No(evidence) => no.extend(evidence),
            Shown::Nothing => blind.push(*interval),
        }
    }
    blind.retain(|interval| *interval != Interval::ALWAYS);
    held.retain(|interval| *interval != Interval::ALWAYS);
    let scanned = scans(cx).is_some();
    let more = yes.len().saturating_sub(SAID_MAX);
    yes.truncate(SAID_MAX);
    if more > 0 {
        yes.push(Evidence::derived(format!("and the same in {more} more of these times")));
    }
    let mut answer = if !yes.is_empty() {
        if !scanned {
            let text = "memory used up and free again was reclaimed, or a large process ended; \
                        the kernel's time at the same moment speaks for reclaim";
            yes.push(Evidence::derived(text));
        }
        Answer::yes(0.9, yes).and(correlation(cx)).during(held)
    } else if no.is_empty() {
        Answer::unknown(&[MEMORY])
    } else {
        no.truncate(write::EPISODES_MAX);
        // Free memory that does not swing rules nothing out: only scans are counted.
        let unsure = known_ample(cx).is_none()
            && scans(cx).is_some_and(|line| {
                cx.highest(&line).is_some_and(|peak| peak.value >= cx.limit(T::ReclaimScan))
            });
        let answer = Answer::no(no).if_close(!scanned || unsure);
        if unsure { answer.lacking(&[MEMORY]) } else { answer }
    };
    answer.blind = blind;
    // What names the blind times comes first.
    if !answer.blind.is_empty() && !answer.missing.contains(&MEMORY) {
        answer.missing.push(MEMORY);
    }
    if scanned { answer } else { answer.lacking(&[PAGING]) }
}

/// Kernel time and the rise of free memory, over the whole recording.
fn correlation(cx: &Context<'_>) -> Option<Evidence> {
    let kernel = cx.kernel(&Subject::Machine)?;
    let mut free = cx.line(Field::MemFree, &Subject::Machine)?;
    let values: Vec<Point> = free.points.clone();
    free.points = values
        .windows(2)
        .map(|pair| Point { at: pair[1].at, value: pair[1].value - pair[0].value })
        .collect();
    let (rho, samples) = cx.together(&kernel, &free)?;
    let text = format!(
        "CPU in the kernel goes with the rise of free memory: rank correlation {rho:.2} over \
         {samples} samples"
    );
    (rho >= cx.limit(T::FreeCorrelation)).then(|| Evidence::derived(text))
}

/// From each time to the next one, and each time that has several values: one interval, however
/// many values there are.
fn steps(points: &[Point]) -> impl Iterator<Item = Interval> {
    let pairs = points.windows(2).filter_map(|pair| Some((pair[0].at?, pair[1].at?)));
    let mut last: Option<(Stamp, Stamp)> = None;
    pairs.filter_map(move |(from, to)| {
        let again = last == Some((from, to));
        last = Some((from, to));
        (!again).then_some(Interval { from: Some(from), to: Some(to) })
    })
}

/// Does free memory fall to nothing and come back, again and again?
pub(super) fn swinging(cx: &Context<'_>) -> Answer {
    let free = cx.line(Field::MemFree, &Subject::Machine);
    let (Some(free), Some(total)) = (free, cx.memory_bytes()) else {
        return Answer::unknown(&[MEMORY]);
    };
    let memory = Memory::new(cx, &free, total);
    let found: Vec<(Interval, Swing)> = steps(&free.points)
        .filter_map(|span| swing(cx, &memory, span).ok().map(|swing| (span, swing)))
        .collect();
    let Some(lowest) = cx.lowest(&free) else { return Answer::unknown(&[MEMORY]) };
    if found.is_empty() {
        // The kernel also reclaims without such swings.
        return Answer::no(vec![cx.quote(&lowest)]).if_close(true);
    }
    let said = found.iter().take(write::EPISODES_MAX);
    let evidence = said.map(|(_, swing)| say_swing(cx, &free, total, swing)).collect();
    let answer = Answer::yes(0.5, evidence);
    let answer = answer.during(found.iter().map(|(span, _)| *span).collect());
    if scans(cx).is_some() {
        return answer;
    }
    let text = "it was reclaimed; a large process that ended, or a dropped cache, looks the same";
    answer.and([Evidence::assumed(text)]).lacking(&[PAGING])
}

/// Share of all memory that a field takes.
pub(super) fn share_of_memory(cx: &Context<'_>, seen: Option<Reading>, limit: T) -> Answer {
    let Some(seen) = seen else { return Answer::unknown(&[MEMINFO]) };
    let Some(total) = cx.memory_bytes() else {
        // Of how much is not known: this much is worth checking on any machine.
        let much = seen.value >= MUCH_BYTES;
        let evidence = vec![cx.quote(&seen)];
        let answer = Answer::yes(0.3, evidence).mild(true).lacking(&[MEMINFO]);
        return if much { answer } else { Answer::unknown(&[MEMINFO]) };
    };
    let percent = seen.value / total * 100.0;
    let text = format!("{}: {percent:.1} % of {}", write::sentence(&seen), write::bytes(total));
    let evidence = vec![cx.say(&seen, &text)];
    let limit = cx.limit(limit);
    Answer::when(percent >= limit, percent / 100.0, evidence).or_close(cx.is_close(percent, limit))
}

/// Judgement: what holds as much is of interest, however large the machine is.
const MUCH_BYTES: f64 = 4.0 * 1_073_741_824.0;

/// Do page tables take much of the memory?
pub(super) fn page_tables(cx: &Context<'_>) -> Answer {
    let answer = share_of_memory(cx, cx.state(Field::PageTables), T::PageTablesHigh);
    if !answer.is_yes() {
        return answer;
    }
    let base = cx.host.geometry().base;
    let (segments, page) = (segments(cx), Size(base.0));
    let said = cx.state(Field::PageTables).map(|tables| {
        let all: Vec<tables::Segment> = segments.iter().map(|(_, s)| s.clone()).collect();
        tables::attribute(bytes(tables.value), cx.memory_bytes().map(bytes), &all, base)
    });
    let mapped = said.as_ref().and_then(|said| {
        Some(Evidence::derived(format!(
            "that many 8-byte entries map {} in {page} pages, {:.0} times the memory: many \
             processes map the same pages",
            write::bytes(said.mapped.0 as f64),
            said.times_memory?
        )))
    });
    let costliest = said.and_then(|said| said.costliest);
    let pool = cx.state(Field::HugetlbTotal).filter(|pool| pool.value == 0.0).map(|pool| {
        let text = format!("HugePages_Total 0: no HugeTLB pool: shared memory is in {page} pages");
        cx.say(&pool, &text)
    });
    let size = costliest.as_ref().map(|segment| segment.bytes.0 as f64);
    let answer = answer.and(mapped).and(pool).and(tables_of_processes(cx));
    let answer = answer.mended_by(cure_of_tables(size));
    match costliest.and_then(|found| segment(cx, &segments, &found)) {
        Some(evidence) => answer.and([evidence]),
        None => answer
            .and([Evidence::assumed(
                "the pages are those of a large shared segment (a database's buffers), attached \
                 by each of its processes",
            )])
            .lacking(&[SEGMENTS, PROCESS_TABLES]),
    }
}

/// What removes page tables first: the shared segment in HugeTLB pages, of which each needs one
/// entry instead of hundreds, with its size where that is known; then the other steps.
fn cure_of_tables(size: Option<f64>) -> Vec<Remedy> {
    let mut steps = remedy::with_first("page_tables", Reach::Service);
    if let (Some(step), Some(size)) = (steps.first_mut(), size) {
        let mebibytes = (size / f64::from(1 << 20)).ceil();
        *step = step.with(step.command.replace("SEGMENT_SIZE", &format!("{mebibytes}M")));
    }
    steps
}

/// The program whose processes have most page tables.
fn tables_of_processes(cx: &Context<'_>) -> Option<Evidence> {
    let (name, seen, share) = super::pick::largest_program(cx, Field::ProcPageTables)?;
    let ours = |subject: &Subject| subject.process_name() == Some(name.as_str());
    let count = cx.lines(Field::ProcPageTables, ours).len();
    let holders = if count == 1 {
        format!("one process of {name} holds")
    } else {
        format!("{count} processes of {name} hold")
    };
    let text = format!(
        "{holders} {} of page tables, {:.0} % of those of all processes",
        write::bytes(seen.value),
        share * 100.0
    );
    Some(cx.say(&seen, &text))
}

fn bytes(value: f64) -> Bytes {
    Bytes(saturating_u64(value))
}

/// Shared segments with the processes attached, and where their sizes were seen.
fn segments(cx: &Context<'_>) -> Vec<(Reading, tables::Segment)> {
    let all = cx.lines(Field::SegmentBytes, |_| true);
    let sized = all.iter().filter_map(|line| {
        let attached = cx.latest(Field::SegmentAttached, &line.subject)?;
        let size = cx.highest(line)?;
        let (bytes, attached) = (bytes(size.value), saturating_u64(attached.value));
        let name = size.subject.to_string();
        Some((size, tables::Segment { name, bytes, attached }))
    });
    sized.collect()
}

/// What the costliest segment costs.
fn segment(
    cx: &Context<'_>,
    all: &[(Reading, tables::Segment)],
    costliest: &tables::Segment,
) -> Option<Evidence> {
    let (seen, _) = all.iter().find(|(_, segment)| segment == costliest)?;
    let text = format!(
        "{} of {} is attached by {}: {} of page tables if each touches all of it",
        costliest.name,
        write::bytes(seen.value),
        write::counted(costliest.attached as f64, "process", "processes"),
        write::bytes(costliest.tables_in(cx.host.geometry().base).0 as f64)
    );
    Some(cx.say(seen, &text))
}

/// Do kernel objects that cannot be reclaimed take much of the memory?
pub(super) fn slab(cx: &Context<'_>) -> Answer {
    let known = share_of_memory(cx, cx.state(Field::SlabUnreclaimable), T::SlabHigh);
    let known = if known.missing.is_empty() { known } else { rest_of_slab(cx).unwrap_or(known) };
    let known = if known.missing.is_empty() { known } else { one_cache(cx).unwrap_or(known) };
    known.and(largest_caches(cx))
}

/// The same where a listing ends before it: all of the slab less what can be reclaimed.
fn rest_of_slab(cx: &Context<'_>) -> Option<Answer> {
    let (all, other) = (cx.state(Field::Slab)?, cx.state(Field::SlabReclaimable)?);
    let total = cx.memory_bytes()?;
    let rest = (all.value - other.value).max(0.0);
    let percent = rest / total * 100.0;
    let text = format!(
        "slab {} less {} that can be reclaimed: {percent:.1} % of {}",
        write::bytes(all.value),
        write::bytes(other.value),
        write::bytes(total)
    );
    let high = percent >= cx.limit(T::SlabHigh);
    Some(Answer::when(high, percent / 100.0, vec![cx.derive(&all, &text)]))
}

/// Judgement: so much in caches that are not given back is of interest on any machine.
const TOGETHER_MIN_BYTES: f64 = 1_073_741_824.0;

/// One cache by itself, where only a list of caches was given: so much is a leak in the kernel or a
/// driver, however much memory there is.
fn one_cache(cx: &Context<'_>) -> Option<Answer> {
    const ALONE_MIN_BYTES: f64 = 8_589_934_592.0;
    let stays = |subject: &Subject| {
        let name = subject.to_string();
        let given_back = ["dentry", "inode", "radix_tree", "buffer_head", "-rcl-", "xa_node"];
        !given_back.iter().any(|part| name.contains(part))
    };
    let top = cx.top_of(Field::SlabCache, stays)?;
    if cx.memory_bytes().is_some() {
        return Some(share_of_memory(cx, Some(top), T::SlabHigh));
    }
    let listed = cx.sorted(Field::SlabCache, stays);
    let sum: f64 = listed.iter().map(|seen| seen.value).sum();
    let all: f64 = cx.sorted(Field::SlabCache, |_| true).iter().map(|seen| seen.value).sum();
    let text = format!("{} in caches that are not given back", write::bytes(sum));
    let evidence = vec![cx.derive(&top, &text), cx.quote(&top)];
    let much = top.value >= ALONE_MIN_BYTES;
    // Caches of names and files are the largest on machines that are well.
    let most = sum >= TOGETHER_MIN_BYTES && sum * 2.0 >= all;
    let answer = Answer::when(much || most, 0.5, evidence).mild(!much);
    Some(answer.or_close(true).lacking(&[MEMINFO]))
}

/// The largest caches of kernel objects, where a source lists them.
pub(super) fn largest_caches(cx: &Context<'_>) -> Option<Evidence> {
    let caches = cx.sorted(Field::SlabCache, |_| true);
    let part = |seen: &Reading| format!("{} {}", seen.subject, write::bytes(seen.value));
    let parts: Vec<String> = caches.iter().take(3).map(part).collect();
    caches.first().map(|first| cx.say(first, &format!("most: {}", parts.join(", "))))
}

/// Of a pool: what has so much free is hardly used, whatever part of it is promised.
const MOSTLY_FREE: f64 = 0.75;

/// Does a HugeTLB pool lie idle?
pub(super) fn hugetlb_unused(cx: &Context<'_>) -> Answer {
    let Some(free) = cx.state(Field::HugetlbFree) else { return Answer::unknown(&[MEMINFO]) };
    let pool = cx.state(Field::HugetlbTotal);
    if pool.as_ref().is_some_and(|pool| pool.value == 0.0) {
        return Answer::no(vec![cx.say(&free, "there is no HugeTLB pool")]);
    }
    let Some(total) = cx.memory_bytes() else {
        return pool
            .map_or_else(|| Answer::unknown(&[MEMINFO]), |pool| idle_pool(cx, &free, &pool));
    };
    let free_percent = free.value / total * 100.0;
    let Some(reserved) = cx.state(Field::HugetlbReserved).map(|seen| seen.value) else {
        // All of it may be promised: only what is not even free is known to be in use.
        let text = format!(
            "HugeTLB pool: {} free, {free_percent:.1} % of all memory; how much of it is promised \
             (HugePages_Rsvd) is not known",
            write::bytes(free.value)
        );
        let evidence = vec![cx.say(&free, &text)];
        let short = memory::room_percent(cx)
            .is_some_and(|room| room.reaches(cx.limit(T::AvailableLow)) == Some(false));
        let largely = pool.is_some_and(|pool| free.value >= pool.value * MOSTLY_FREE);
        if short && largely && free_percent >= cx.limit(T::HugetlbUnused) {
            return Answer::yes(0.5, evidence).lacking(&[MEMINFO]);
        }
        return match free_percent >= cx.limit(T::HugetlbUnused) {
            true => Answer { evidence, ..Answer::unknown(&[MEMINFO]) },
            false => Answer::no(evidence),
        };
    };
    let idle = (free.value - reserved).max(0.0);
    let percent = idle / total * 100.0;
    let text = format!(
        "HugeTLB pool: {} free of which {} promised, so {} idle: {percent:.1} % of all memory",
        write::bytes(free.value),
        write::bytes(reserved),
        write::bytes(idle)
    );
    let evidence = vec![cx.say(&free, &text)];
    Answer::when(percent >= cx.limit(T::HugetlbUnused), percent / 100.0, evidence)
}

/// The same where only the pool is known: most of it idle, and much.
fn idle_pool(cx: &Context<'_>, free: &Reading, pool: &Reading) -> Answer {
    const IDLE_MIN_BYTES: f64 = 1_073_741_824.0;
    let reserved = cx.state(Field::HugetlbReserved).map_or(0.0, |seen| seen.value);
    let idle = (free.value - reserved).max(0.0);
    let text = format!(
        "HugeTLB pool: {} of {} are neither in use nor promised",
        write::bytes(idle),
        write::bytes(pool.value)
    );
    const IDLE_MIN_SHARE: f64 = 0.1;
    let much = idle >= IDLE_MIN_BYTES && idle >= pool.value * IDLE_MIN_SHARE;
    Answer::when(much, 0.5, vec![cx.say(free, &text)])
        .or_close(true)
        .lacking(&[MEMINFO])
        .mild(idle * 2.0 < pool.value)
}

/// Does the machine swap?
pub(super) fn swapping(cx: &Context<'_>) -> Answer {
    let line = cx
        .sum(Field::SwapOut, &[Field::SwapOut, Field::SwapIn], &Subject::Machine)
        .or_else(|| cx.line(Field::SwapIn, &Subject::Machine));
    let Some(line) = line else { return Answer::unknown(&[SWAP]) };
    let Some(mean) = cx.sustained(&line) else { return Answer::unknown(&[SWAP]) };
    let when = if mean.at.from.is_some() { format!(" from {}", mean.at) } else { String::new() };
    let text = format!(
        "{} swapped in and out{when} (mean)",
        write::value(Unit::BytesPerSecond, mean.value)
    );
    let evidence = vec![cx.say(&mean, &text)];
    // What is only moved out makes nobody wait: programs wait for what comes back.
    let back = cx.line(Field::SwapIn, &Subject::Machine).and_then(|line| cx.sustained(&line));
    let returns = back.is_none_or(|back| back.value >= cx.limit(T::SwapHigh) / 2.0);
    let space = cx.state(Field::SwapFree).map(|seen| cx.quote(&seen));
    let high = mean.value >= cx.limit(T::SwapHigh) && returns;
    Answer::when(high, 0.8, evidence).backed(space)
}
