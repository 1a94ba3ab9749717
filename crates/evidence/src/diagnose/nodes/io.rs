//! Disks: saturated, by what kind of requests, and whose.

use super::disk::{Disk, disks};
use super::prelude::*;
use super::traffic::Traffic;
use crate::diagnose::interval::{episodes, spacing_s};
use crate::recording::readers::kernel_log::DISK_LOG;
use std::collections::BTreeSet;

/// Block of most filesystems (ext4, xfs) on Linux, and a base page.
const BLOCK_BYTES: f64 = 4096.0;

/// The sample of a disk that says most: saturated first, then the busiest.
struct Worst<'a> {
    disk: Disk<'a>,
    index: usize,
    /// Whether it is saturated: busy, and requests queue or wait.
    saturated: bool,
}

impl Worst<'_> {
    fn point(&self) -> Option<Point> {
        self.disk.line.points.get(self.index).copied()
    }

    fn get(&self, field: Field) -> Option<f64> {
        self.disk.get(field, self.index)
    }
}

fn saturated(cx: &Context<'_>, disk: &Disk<'_>, index: usize) -> bool {
    let get = |field| disk.get(field, index);
    let busy_at_least =
        |limit| disk.line.points.get(index).is_some_and(|point| point.value >= cx.limit(limit));
    let busy = busy_at_least(T::DiskBusy);
    let queue = get(Field::DiskQueue);
    let waits = wait(&get);
    let short = waits.is_some_and(|wait| wait <= cx.limit(T::DiskAwaitShort));
    let queues = !short && queue.is_some_and(|queue| queue >= cx.limit(T::DiskQueue));
    let slow = waits.is_some_and(|wait| wait >= cx.limit(T::DiskAwait));
    if is_slow(cx, &get) || is_stuck(cx, &get) {
        return false;
    }
    // A flash disk is "busy" with one request at a time: only waiting makes it saturated.
    // Large requests all the time use up a bandwidth, even one after the other.
    let large = !short && blocks(&get).is_some_and(|n| n >= cx.limit(T::SequentialBlocks));
    // One request at a time is one program that reads or writes: nobody waits behind it.
    let large = large && queue.is_none_or(|queue| queue > ONE_REQUEST);
    let all_along = busy && (queues || slow || large || (queue.is_none() && waits.is_none()));
    // A long queue and a long wait at a lower use: saturated for a part of the sample.
    all_along || (queues && slow && busy_at_least(T::DiskInUse))
}

/// A queue of a single request, as it is measured.
const ONE_REQUEST: f64 = 1.2;

/// Whether requests stand in the queue and none ends: no request of any kind in the whole sample.
fn is_stuck(cx: &Context<'_>, get: &impl Fn(Field) -> Option<f64>) -> bool {
    const KINDS: [Field; 4] =
        [Field::DiskReads, Field::DiskWrites, Field::DiskTransfers, Field::DiskFlushes];
    let mut kinds = KINDS.into_iter().filter_map(get).peekable();
    let none = kinds.peek().is_some() && kinds.all(|rate| rate <= 0.0);
    // A driver that counts no requests still moves bytes.
    let bytes = [Field::DiskReadBytes, Field::DiskWriteBytes].into_iter().filter_map(get);
    let none = none && bytes.sum::<f64>() <= 0.0;
    let queues = get(Field::DiskQueue).is_some_and(|queue| queue >= 1.0);
    let busy = get(Field::DiskBusy).is_some_and(|busy| busy >= cx.limit(T::DiskBusy));
    none && queues && busy
}

/// Whether requests wait long although there are so few, with so little in them, that any disk
/// serves them at once.
fn is_slow(cx: &Context<'_>, get: &impl Fn(Field) -> Option<f64>) -> bool {
    let wait = wait(get);
    let halves = [Field::DiskReads, Field::DiskWrites].into_iter().filter_map(get);
    let rate = get(Field::DiskTransfers).unwrap_or_else(|| halves.sum());
    let long = wait.is_some_and(|wait| wait >= cx.limit(T::DiskAwaitLong));
    // Members of an array have requests as large as its chunks, and few of them.
    let bytes = [Field::DiskReadBytes, Field::DiskWriteBytes].into_iter().filter_map(get);
    let bytes: f64 = bytes.sum();
    let bytes = if bytes > 0.0 { bytes } else { rate * blocks(get).unwrap_or(0.0) * BLOCK_BYTES };
    let small = blocks(get).is_some() && bytes <= cx.limit(T::DiskSlowBytes);
    // One that has nothing to do for most of the time would serve as many again.
    let idle = get(Field::DiskBusy).is_some_and(|busy| busy * 2.0 < cx.limit(T::DiskBusy));
    let few = cx.limit(T::DiskSlow) * if idle { 2.0 } else { 1.0 };
    long && small && rate > 0.0 && rate <= few
}

/// How long a request waits: the longest of what is known.
pub(super) fn wait(get: &impl Fn(Field) -> Option<f64>) -> Option<f64> {
    let waits = [Field::DiskAwait, Field::DiskReadAwait, Field::DiskWriteAwait];
    let longest = waits.into_iter().filter_map(get).reduce(f64::max);
    // Where a queue stands and no request is counted, nobody timed one.
    let rates = [Field::DiskReads, Field::DiskWrites, Field::DiskTransfers];
    let rate: f64 = rates.into_iter().filter_map(get).sum();
    let uncounted = rate <= 0.0 && get(Field::DiskQueue).is_some_and(|queue| queue >= 1.0);
    longest.filter(|wait| *wait > 0.0 || !uncounted)
}

/// Blocks in a request of a sample, as the tool says or as bytes over requests.
fn blocks(get: &impl Fn(Field) -> Option<f64>) -> Option<f64> {
    let bytes = [Field::DiskReadBytes, Field::DiskWriteBytes].map(|f| get(f).unwrap_or(0.0));
    let requests = [Field::DiskReads, Field::DiskWrites].map(|f| get(f).unwrap_or(0.0));
    let (bytes, requests) = (bytes[0] + bytes[1], requests[0] + requests[1]);
    let mean = (requests > 0.0).then(|| bytes / requests);
    mean.or_else(|| get(Field::DiskRequestBytes)).map(|size| size / BLOCK_BYTES)
}

fn worst<'a>(cx: &Context<'a>) -> Option<Worst<'a>> {
    let mut best: Option<(Worst<'a>, f64)> = None;
    for disk in disks(cx) {
        let mut of_disk: Option<(usize, bool, f64)> = None;
        for (index, point) in disk.line.points.iter().enumerate() {
            if !cx.in_times(point) {
                continue;
            }
            let saturated = saturated(cx, &disk, index);
            if of_disk.is_none_or(|(_, full, value)| (saturated, point.value) > (full, value)) {
                of_disk = Some((index, saturated, point.value));
            }
        }
        let Some((index, saturated, value)) = of_disk else { continue };
        if best.as_ref().is_none_or(|(best, most)| (saturated, value) > (best.saturated, *most)) {
            best = Some((Worst { disk, index, saturated }, value));
        }
    }
    best.map(|(worst, _)| worst)
}

/// How busy the disk is, and how long requests queue and wait: of all its samples that are like
/// the worst one.
fn shape(cx: &Context<'_>, worst: &Worst<'_>) -> Vec<Evidence> {
    // What stands before the amount, and after it.
    const QUOTED: [(Field, &str, &str); 5] = [
        (Field::DiskBusy, "busy ", ""),
        (Field::DiskQueue, "", " requests in its queue"),
        (Field::DiskAwait, "a request took ", ", waiting included"),
        (Field::DiskReadAwait, "a read took ", ", waiting included"),
        (Field::DiskWriteAwait, "a write took ", ", waiting included"),
    ];
    let line = &worst.disk.line;
    let alike = |index: &usize| {
        line.points.get(*index).is_some_and(|point| cx.in_times(point))
            && saturated(cx, &worst.disk, *index) == worst.saturated
    };
    let indices: Vec<usize> = (0..line.points.len()).filter(alike).collect();
    let mut evidence = Vec::new();
    for (field, before, after) in QUOTED {
        let all = indices.iter().filter_map(|index| worst.disk.get(field, *index));
        let range = all.fold(None, |range: Option<(f64, f64)>, value| {
            Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let Some((low, high)) = range else { continue };
        let amount = write::range(field.about().unit, low, high);
        let value = worst.get(field).unwrap_or(high);
        let at = Interval { from: None, to: worst.point().and_then(|point| point.at) };
        let seen = Reading { field, value, ..line.seen(value, at) };
        let whose = if evidence.is_empty() { format!("{}: ", line.subject) } else { String::new() };
        evidence.push(cx.say(&seen, &format!("{whose}{before}{amount}{after}")));
    }
    if worst.disk.suspect {
        let text = "its time in use is given as 0: it follows from the requests and their time";
        evidence.push(Evidence::derived(text));
    }
    evidence
}

/// A request that takes less is served as fast as flash does (0.10 to 0.28 ms in
/// tests/recordings/real: hdd, hddrnd, io): the disk is not slow.
const PROMPT_MS: f64 = 0.5;

/// Do programs wait for one request after the other, though no disk is saturated?
pub(super) fn latency(cx: &Context<'_>) -> Answer {
    let Some(worst) = worst(cx) else { return Answer::unknown(&[DISKS]) };
    let Some(point) = worst.point() else { return Answer::unknown(&[DISKS]) };
    let evidence = shape(cx, &worst);
    let stuck = is_stuck(cx, &|field| worst.get(field));
    let idle = point.value < cx.limit(T::DiskInUse);
    let prompt = wait(&|field| worst.get(field)).is_some_and(|wait| wait < PROMPT_MS);
    // Where nobody is known to wait, the time of a request has to be long by itself.
    let felt = wait(&|field| worst.get(field)).is_some_and(|ms| ms >= cx.limit(T::DiskAwait));
    let busy = point.value >= cx.limit(T::DiskBusy);
    let harmless = !felt && !busy && cx.top(Field::CpuIowait).is_none();
    let queues = worst.get(Field::DiskQueue).is_some_and(|n| n >= cx.limit(T::DiskQueue));
    let answers = stuck || prompt || idle || harmless || queues;
    if answers || worst.saturated || full_queue(cx).is_some() {
        return Answer::no(evidence);
    }
    let size = request_blocks(cx).map(|(_, evidence)| evidence);
    let logged = complaints(cx, &worst.disk.line.subject);
    Answer::yes(point.value / 200.0, evidence).and(size).and(logged)
}

/// Does a disk answer slowly at a rate that any disk reaches?
pub(super) fn slow(cx: &Context<'_>) -> Answer {
    let Some(worst) = worst(cx) else { return Answer::unknown(&[DISKS]) };
    let evidence = shape(cx, &worst);
    let busy = worst.point().is_some_and(|point| point.value >= cx.limit(T::DiskInUse));
    if worst.saturated || !busy || !is_slow(cx, &|field| worst.get(field)) {
        // Whether the load is why a request waits that long is not known so well.
        let wait = wait(&|field| worst.get(field));
        let long = wait.is_some_and(|wait| wait >= cx.limit(T::DiskAwait));
        return Answer::no(evidence).if_close(long);
    }
    let text = "so few requests, with so few bytes, are served by any disk at once: the storage, \
                or the way to it, is slow";
    let logged = complaints(cx, &worst.disk.line.subject);
    Answer::yes(0.6, evidence).and([Evidence::derived(text)]).and(logged)
}

/// Does a disk no longer answer?
pub(super) fn stuck(cx: &Context<'_>) -> Answer {
    let mut other = None;
    for disk in disks(cx) {
        let last = disk.line.points.len().saturating_sub(1);
        if !is_stuck(cx, &|field| disk.get(field, last)) || stalls_briefly(cx, &disk) {
            other = other.or_else(|| cx.highest(&disk.line));
            continue;
        }
        let queue = disk.get(Field::DiskQueue, last).unwrap_or(0.0);
        let at = Interval { from: None, to: disk.line.points.get(last).and_then(|p| p.at) };
        let seen = Reading { field: Field::DiskQueue, ..disk.line.seen(queue, at) };
        let text = format!(
            "{}: {} requests in its queue, and none of them ends: no read and no write a second",
            disk.line.subject,
            write::number(queue)
        );
        let logged = complaints(cx, &disk.line.subject);
        return Answer::yes(0.8, vec![cx.say(&seen, &text)]).and(logged);
    }
    other.map_or_else(|| Answer::unknown(&[DISKS]), |seen| Answer::no(vec![cx.quote(&seen)]))
}

/// Whether a disk that answers in other samples stood still for a moment at the end: a second
/// without an answer is a long request, not a failure.
fn stalls_briefly(cx: &Context<'_>, disk: &Disk<'_>) -> bool {
    const SAMPLES_MIN: usize = 3;
    const STILL_MIN_S: i64 = 10;
    let count = disk.line.points.len();
    let still = |index: &usize| is_stuck(cx, &|field| disk.get(field, *index));
    let run = (0..count).rev().take_while(still).count();
    if run == count {
        return false;
    }
    let seconds = spacing_s(&disk.line.points)
        .map(|spacing| spacing.saturating_mul(i64::try_from(run).unwrap_or(i64::MAX)));
    seconds.map_or(run < SAMPLES_MIN, |seconds| seconds < STILL_MIN_S)
}

/// Do programs wait until a disk has emptied its cache?
pub(super) fn flush(cx: &Context<'_>) -> Answer {
    let mut most: Option<(f64, Evidence)> = None;
    for disk in disks(cx) {
        for (index, point) in disk.line.points.iter().enumerate() {
            let get = |field| disk.get(field, index);
            let rates = (get(Field::DiskFlushes), get(Field::DiskFlushAwait));
            let (Some(flushes), Some(wait)) = rates else { continue };
            let writes = get(Field::DiskWriteAwait).unwrap_or(0.0);
            // Where writes are as slow, or hardly any request ends, flushes are not why.
            let why = writes * 2.0 <= wait && !is_slow(cx, &get);
            let share = if why { (flushes * wait / 10.0).min(100.0) } else { 0.0 };
            if !cx.in_times(point) {
                continue;
            }
            if most.as_ref().is_some_and(|(highest, _)| *highest >= share) {
                continue;
            }
            let at = Interval { from: None, to: point.at };
            let seen = Reading { field: Field::DiskFlushAwait, ..disk.line.seen(wait, at) };
            let text = format!(
                "{}: {} flushes a second took {} each, a write {}",
                disk.line.subject,
                write::number(flushes),
                write::milliseconds(wait),
                write::milliseconds(writes)
            );
            most = Some((share, cx.say(&seen, &text)));
        }
    }
    let text = "a program that waits for its data to be safe (fsync) waits for a flush: more \
                clients do not make it faster";
    let traced = super::traced::flushes(cx);
    match (most, traced) {
        (Some((share, evidence)), traced) if share >= cx.limit(T::FlushBusy) => {
            Answer::yes(share / 100.0, vec![evidence]).and(traced).and([Evidence::derived(text)])
        }
        (_, Some(traced)) => Answer::yes(0.6, vec![traced, Evidence::derived(text)]),
        (Some((_, evidence)), None) => Answer::no(vec![evidence]),
        (None, None) => Answer::unknown(&[DISKS]),
    }
}

/// What the kernel's log says of a disk.
fn complaints(cx: &Context<'_>, disk: &Subject) -> Option<Evidence> {
    let line = cx.line(Field::DiskComplaints, disk)?;
    let quote = cx.setting(&format!("{DISK_LOG}{disk}"))?;
    let lines = match line.points.len() {
        1 => "a line".to_owned(),
        many => format!("{many} lines, the last"),
    };
    Some(cx.cite(quote, &format!("the kernel's log has {lines} about {disk}: {}", quote.text)))
}

/// Is a disk saturated?
pub(in crate::diagnose) fn disk(cx: &Context<'_>) -> Answer {
    let Some(worst) = worst(cx) else { return Answer::unknown(&[DISKS]) };
    let Some(point) = worst.point() else { return Answer::unknown(&[DISKS]) };
    let evidence = shape(cx, &worst);
    if !worst.saturated {
        return Answer::no(evidence);
    }
    let limit = cx.limit(T::DiskBusy).min(point.value);
    let held: Vec<Interval> = episodes(&worst.disk.line.points, limit, limit)
        .into_iter()
        .map(|episode| episode.interval)
        .filter(|interval| *interval != Interval::ALWAYS)
        .collect();
    Answer::yes(point.value / 100.0, evidence).during(held)
}

/// A busy disk with a long queue of short requests: flash that serves many at once. Only where CPUs
/// wait all the same, it is the limit.
fn full_queue(cx: &Context<'_>) -> Option<Answer> {
    let waits = cx.line(Field::CpuIowait, &Subject::Machine)?;
    let waits = cx.highest(&waits).filter(|most| most.value >= cx.limit(T::IowaitHigh))?;
    let worst = worst(cx).filter(|worst| !is_slow(cx, &|field| worst.get(field)))?;
    if is_stuck(cx, &|field| worst.get(field)) {
        return None;
    }
    let busy = worst.point()?.value;
    let queue = worst.get(Field::DiskQueue)?;
    let full = busy >= cx.limit(T::DiskBusy) && queue >= cx.limit(T::DiskQueue);
    full.then(|| Answer::yes(busy / 100.0, shape(cx, &worst)).and([cx.quote(&waits)]))
}

/// Is a disk saturated, where CPUs are known to wait for one?
pub(super) fn waited_for(cx: &Context<'_>) -> Answer {
    let answer = disk(cx);
    if let Some(full) = full_queue(cx).filter(|_| !answer.is_yes()) {
        return full;
    }
    match Traffic::most(cx).filter(|_| worst(cx).is_none()) {
        Some(most) => most.waited_for(cx),
        None => answer,
    }
}

/// Is a disk saturated, and do its requests wait so long that it hurts by itself?
pub(super) fn clogged(cx: &Context<'_>) -> Answer {
    let wait = worst(cx).and_then(|worst| wait(&|field| worst.get(field)));
    let answer = disk(cx);
    let queue = worst(cx).and_then(|worst| worst.get(Field::DiskQueue));
    // Where nobody timed requests, a long queue is a long wait.
    let many = wait.is_none() && queue.is_some_and(|queue| queue >= QUEUE_LONG);
    let long = many || wait.is_some_and(|wait| wait >= cx.limit(T::DiskAwaitLong));
    let waits = super::traffic::cpus_waiting(cx);
    if answer.is_yes() && !long && waits.is_none() {
        return Answer::no(answer.evidence).if_close(true);
    }
    answer.backed(waits)
}

/// Requests in a queue that no disk serves within [`T::DiskAwaitLong`]: at 300 a second, what disks
/// that turn do at most.
const QUEUE_LONG: f64 = 30.0;

/// A direction of transfer: requests and bytes a second, and what the tool itself calls their size.
struct Direction {
    name: &'static str,
    rate: Field,
    bytes: Field,
    size: Field,
}

const DIRECTIONS: [Direction; 2] = [
    Direction {
        name: "write",
        rate: Field::DiskWrites,
        bytes: Field::DiskWriteBytes,
        size: Field::DiskWriteRequestBytes,
    },
    Direction {
        name: "read",
        rate: Field::DiskReads,
        bytes: Field::DiskReadBytes,
        size: Field::DiskReadRequestBytes,
    },
];

/// Blocks in a request of the busiest direction, with the sentence that says so.
fn request_blocks(cx: &Context<'_>) -> Option<(f64, Evidence)> {
    let Some(worst) = worst(cx) else {
        let (size, evidence) = Traffic::most(cx)?.request(cx)?;
        return Some((size / BLOCK_BYTES, evidence));
    };
    let point = worst.point()?;
    let at = Interval { from: None, to: point.at };
    let rate = |direction: &&Direction| worst.get(direction.bytes).unwrap_or(0.0);
    let direction = DIRECTIONS.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let (requests, bytes) = (worst.get(direction.rate), worst.get(direction.bytes));
    if let (Some(requests), Some(bytes)) = (requests, bytes)
        && requests > 0.0
        && bytes > 0.0
    {
        let (size, blocks) = (bytes / requests, bytes / requests / BLOCK_BYTES);
        let text = format!(
            "{}: {} {}s a second carry {}: {} or {blocks:.0} blocks of 4 KiB each",
            worst.disk.line.subject,
            write::number(requests),
            direction.name,
            write::bytes(bytes),
            write::bytes(size),
        );
        let seen = Reading { field: direction.size, value: size, ..worst.disk.line.seen(size, at) };
        return Some((blocks, cx.derive(&seen, &text)));
    }
    if let Some(merged) = merged(cx, &worst) {
        return Some(merged);
    }
    let size = worst.get(Field::DiskRequestBytes).filter(|size| *size > 0.0)?;
    let seen = Reading { field: Field::DiskRequestBytes, ..worst.disk.line.seen(size, at) };
    let text = format!("{} or {:.0} blocks of 4 KiB", write::sentence(&seen), size / BLOCK_BYTES);
    Some((size / BLOCK_BYTES, cx.say(&seen, &text)))
}

/// Of a driver that counts bytes and no requests: many were merged with a neighbour, so they are
/// long ones.
fn merged(cx: &Context<'_>, worst: &Worst<'_>) -> Option<(f64, Evidence)> {
    const MERGES_MIN_PER_S: f64 = 100.0;
    let disk = &worst.disk.line.subject;
    let merges = [Field::DiskReadMerges, Field::DiskWriteMerges].map(|field| cx.peak(field, disk));
    let most = most(merges.into_iter().flatten())?;
    let bytes = [Field::DiskReadBytes, Field::DiskWriteBytes].map(|field| worst.get(field));
    let bytes: f64 = bytes.into_iter().flatten().sum();
    let none = worst.get(Field::DiskReads)? + worst.get(Field::DiskWrites)? <= 0.0;
    let text = format!(
        "{disk}: {}/s and no count of requests; {} of them were merged a second",
        write::bytes(bytes),
        write::number(most.value)
    );
    let many = none && bytes > 0.0 && most.value >= MERGES_MIN_PER_S;
    many.then(|| (cx.limit(T::SequentialBlocks), cx.derive(&most, &text)))
}

/// Are the requests large, so that the disk's bandwidth is the limit?
pub(super) fn sequential(cx: &Context<'_>) -> Answer {
    let Some((blocks, evidence)) = request_blocks(cx) else { return Answer::unknown(&[DISKS]) };
    let verdict =
        Evidence::derived("requests that long are sequential, or merged to be: bandwidth");
    let carried = worst(cx).and_then(|worst| {
        let bytes = |field| worst.get(field);
        Some(bytes(Field::DiskReadBytes)? + bytes(Field::DiskWriteBytes)?)
    });
    let much = carried.is_none_or(|bytes| bytes >= BANDWIDTH_MIN_BYTES);
    let long = blocks >= cx.limit(T::SequentialBlocks) && much;
    Answer::when(long, 0.5, vec![evidence])
        .backed([verdict])
        .mended_by(super::remote::cure_of_clients(serves_nfs(cx)))
}

/// Bytes a second below which no disk's bandwidth is used up: a rotating one carries half of that
/// in 120 random requests of 64 KiB.
const BANDWIDTH_MIN_BYTES: f64 = 16.0 * 1_048_576.0;

/// Are the requests small, so that the disk's requests a second are the limit?
pub(super) fn random(cx: &Context<'_>) -> Answer {
    let Some((blocks, evidence)) = request_blocks(cx) else { return Answer::unknown(&[DISKS]) };
    let verdict = Evidence::derived("requests that short are random, or flushed one by one");
    let short = blocks <= cx.limit(T::RandomBlocks);
    Answer::when(short, 0.5, vec![evidence])
        .backed([verdict])
        .mended_by(super::remote::cure_of_clients(serves_nfs(cx)))
}

/// Whether the disk in question mostly reads; `None`: it is not known, or both are much.
fn mostly_reads(cx: &Context<'_>) -> Option<bool> {
    /// So much more than the other direction is most of it.
    const MOST: f64 = 4.0;
    let worst = worst(cx)?;
    let (reads, writes) = (worst.get(Field::DiskReadBytes)?, worst.get(Field::DiskWriteBytes)?);
    match (reads >= writes * MOST, writes >= reads * MOST) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Who reads and writes: of the direction in which the disk is full, where it is just one.
pub(super) fn who(cx: &Context<'_>) -> Vec<Evidence> {
    largest_of(cx).into_iter().map(|(_, evidence)| evidence).collect()
}

/// Whether the kernel's server of NFS has most of it: its threads only write for others.
fn serves_nfs(cx: &Context<'_>) -> bool {
    largest_of(cx).iter().any(|(name, _)| name == "nfsd")
}

/// The programs that have most of it, by name.
fn largest_of(cx: &Context<'_>) -> Vec<(String, Evidence)> {
    let fields = match mostly_reads(cx) {
        Some(true) => &[Field::ProcRead, Field::ProcIo][..],
        Some(false) => &[Field::ProcWrite, Field::ProcIo],
        None => &[Field::ProcWrite, Field::ProcRead, Field::ProcIo],
    };
    let largest = fields.iter().filter_map(|field| {
        let (name, seen, share) = super::pick::largest_program(cx, *field)?;
        let ours = |subject: &Subject| subject.process_name() == Some(name.as_str());
        let tasks = cx.lines(*field, ours).len();
        let about = field.about();
        let tasks = if tasks > 1 { format!(" ({tasks} tasks)") } else { String::new() };
        let text = format!(
            "{name}{tasks} has {:.0} % of {}: {}",
            share * 100.0,
            match field {
                Field::ProcWrite => "all writes",
                Field::ProcRead => "all reads",
                _ => "all waiting for I/O",
            },
            write::value(about.unit, seen.value)
        );
        let much = share * 100.0 >= cx.limit(T::WhoShare) && seen.value > 0.0;
        much.then(|| (name, cx.say(&seen, &text)))
    });
    largest.take(2).collect()
}

/// Who reads and writes by a listing of another time: a lead, and no more.
fn at_another_time(cx: &Context<'_>) -> Option<Answer> {
    const FIELDS: [Field; 3] = [Field::ProcWrite, Field::ProcRead, Field::ProcIo];
    let always = cx.during(&[]);
    let lines = FIELDS.into_iter().flat_map(|field| always.lines(field, |_| true));
    let times: BTreeSet<Stamp> =
        lines.flat_map(|line| line.points).filter_map(|point| point.at).collect();
    let when = match (times.first(), times.len()) {
        (Some(time), 1) => {
            format!("at another time, {}", Interval { from: None, to: Some(*time) })
        }
        (Some(_), _) => "at other times".to_owned(),
        (None, _) => return None,
    };
    let mut found = who(&always);
    for evidence in &mut found {
        evidence.text = format!("{when}: {}", evidence.text);
    }
    (!found.is_empty()).then(|| Answer::yes(0.1, found).lacking(&[DISK_WHO]))
}

/// Is it known who reads and writes?
pub(super) fn known(cx: &Context<'_>) -> Answer {
    let mut found = who(cx);
    if found.is_empty() {
        return at_another_time(cx).unwrap_or_else(|| Answer::unknown(&[DISK_WHO]));
    }
    let clients = super::remote::clients(cx);
    let serves = serves_nfs(cx);
    if let Some(first) = found.first_mut().filter(|_| serves && !clients.is_empty()) {
        let names = super::remote::client_names(cx).join(", ");
        first.text.push_str(&format!(", for the NFS clients {names}"));
    }
    let answer = Answer::yes(0.3, found);
    if serves && clients.is_empty() { answer.lacking(&[FLOWS]) } else { answer.and(clients) }
}
