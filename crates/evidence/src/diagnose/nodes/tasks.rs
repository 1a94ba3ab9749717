//! Tasks by the function of the kernel in which they wait, and what follows from some of those.

use super::age::{ago, is_old};
use super::prelude::*;
use crate::diagnose::remedy_version as version;
use crate::recording::readers::kernel_log::{HANGS, LOG};
use std::collections::{BTreeMap, BTreeSet};

/// Tasks that wait in one function, as one list shows them.
pub(super) struct Waiting {
    pub(super) function: String,
    pub(super) tasks: usize,
    programs: BTreeSet<String>,
    source: SourceId,
}

/// Most programs that are named.
const NAMES_MAX: usize = 4;

impl Waiting {
    /// The sentence about them.
    pub(super) fn say(&self, cx: &Context<'_>) -> Evidence {
        let names: Vec<&str> = self.programs.iter().map(String::as_str).take(NAMES_MAX).collect();
        let (tasks, wait) = match self.tasks {
            1 => ("task", "waits"),
            _ => ("tasks", "wait"),
        };
        let (function, names) = (&self.function, names.join(", "));
        let text = format!("{} {tasks} {wait} in {function}, such as {names}", self.tasks);
        let seen = Reading {
            field: Field::TaskWaits,
            subject: Subject::Symbol(self.function.clone()),
            value: self.tasks as f64,
            at: Interval::ALWAYS,
            source: self.source,
        };
        cx.say(&seen, &text)
    }
}

/// The functions in which tasks wait, those with most tasks first.
pub(super) fn waiting(cx: &Context<'_>) -> Vec<Waiting> {
    let mut lists: BTreeMap<(&str, SourceId), Waiting> = BTreeMap::new();
    for (subject, all) in cx.host.subjects(Field::TaskWaits) {
        let Subject::Calls { program, path } = subject else { continue };
        for series in all {
            let list = lists.entry((path, series.source)).or_insert_with(|| Waiting {
                function: path.clone(),
                tasks: 0,
                programs: BTreeSet::new(),
                source: series.source,
            });
            list.tasks += series.points.len();
            list.programs.insert(program.clone());
        }
    }
    // Of several lists the worst.
    let mut worst: BTreeMap<String, Waiting> = BTreeMap::new();
    for list in lists.into_values() {
        let fuller = worst.get(&list.function).is_none_or(|other| other.tasks < list.tasks);
        if fuller {
            worst.insert(list.function.clone(), list);
        }
    }
    let mut all: Vec<Waiting> = worst.into_values().collect();
    all.sort_by(|a, b| b.tasks.cmp(&a.tasks).then_with(|| a.function.cmp(&b.function)));
    all
}

/// Functions in which a task waits for one request to a disk, as it does in passing.
const REQUESTS: [&str; 12] = [
    "io_schedule",
    "wait_on_page",
    "folio_wait",
    "__folio",
    "blk_",
    "bit_wait",
    "wait_on_buffer",
    "__wait_on_buffer",
    "get_request",
    "rq_qos_wait",
    "wbt_wait",
    "wait_on_bit",
];

/// Functions with enough tasks that something must delay them, however many CPUs there are.
pub(super) fn crowded(cx: &Context<'_>) -> Option<Waiting> {
    let request = |name: &str| REQUESTS.iter().any(|start| name.starts_with(start));
    let mut all = waiting(cx).into_iter().filter(|wait| !request(&wait.function));
    all.next().filter(|wait| wait.tasks as f64 >= cx.limit(T::BlockedSame))
}

/// Whether what the log says of hanging tasks is over.
pub(super) fn hung_long_ago(cx: &Context<'_>) -> bool {
    is_old(cx, &Subject::part(LOG, HANGS)) == Some(true)
}

/// When the log last said that tasks hang.
pub(super) fn hung_when(cx: &Context<'_>) -> String {
    ago(cx, &Subject::part(LOG, HANGS), ", the last ")
}

/// The limit of dirty memory, with the sentence that says how it comes about.
fn dirty_limit(cx: &Context<'_>) -> Option<(f64, String)> {
    let number = |name: &str| cx.setting(&format!("/proc/sys/vm/{name}"))?.text.parse::<f64>().ok();
    if let Some(limit) = cx.state(Field::DirtyLimit) {
        return Some((limit.value, "nr_dirty_threshold".to_owned()));
    }
    if let Some(bytes) = number("dirty_bytes").filter(|bytes| *bytes > 0.0) {
        return Some((bytes, "vm.dirty_bytes".to_owned()));
    }
    let ratio = number("dirty_ratio").filter(|ratio| *ratio > 0.0)?;
    // `global_dirtyable_memory`: free memory and page cache, about what is available.
    let memory = cx.state(Field::MemAvailable)?.value;
    Some((memory * ratio / 100.0, format!("vm.dirty_ratio, {ratio:.0} % of what is available")))
}

/// Do writers wait until dirty memory is written?
pub(super) fn dirty(cx: &Context<'_>) -> Answer {
    let stopped: Vec<Waiting> = waiting(cx);
    let stopped = stopped.into_iter().find(|w| w.function.contains("balance_dirty_pages"));
    let amount = |field| cx.state(field).map(|seen| seen.value);
    let dirty = cx.state(Field::Dirty);
    let all = dirty.as_ref().map(|dirty| dirty.value + amount(Field::Writeback).unwrap_or(0.0));
    let limit = dirty_limit(cx);
    let said = dirty.zip(all).map(|(seen, all)| {
        let limit = limit.as_ref().map_or_else(String::new, |(limit, how)| {
            format!("; writers stop at about {} ({how})", write::bytes(*limit))
        });
        cx.say(&seen, &format!("{} are dirty or being written{limit}", write::bytes(all)))
    });
    let full = all
        .zip(limit)
        .is_some_and(|(all, (limit, _))| all >= limit * cx.limit(T::DirtyNear) / 100.0);
    let enough = |wait: &Waiting| wait.tasks as f64 >= cx.limit(T::DirtyTasks);
    match (stopped, said) {
        (Some(wait), said) if enough(&wait) => Answer::yes(0.6, vec![wait.say(cx)]).and(said),
        (Some(wait), Some(said)) if full => Answer::yes(0.5, vec![wait.say(cx), said]),
        (None, Some(said)) if full => Answer::yes(0.5, vec![said]).lacking(&[WAITS]),
        (Some(wait), said) => Answer::no(vec![wait.say(cx)]).and(said).if_close(true),
        (None, Some(said)) => Answer::no(vec![said]).if_close(true),
        (None, None) => Answer::unknown(&[DIRTY]),
    }
}

/// The first version of Linux whose random numbers never run out once there were some.
const NEVER_BLOCKS: (u32, u32) = (5, 6);

/// Do programs wait for random numbers?
pub(super) fn random(cx: &Context<'_>) -> Answer {
    const AVAILABLE: &str = "/proc/sys/kernel/random/entropy_avail";
    let wait = waiting(cx).into_iter().find(|wait| wait.function.contains("random"));
    let quote = cx.setting(AVAILABLE);
    let bits = quote.and_then(|quote| quote.text.split_whitespace().next()?.parse::<f64>().ok());
    let said = quote.zip(bits).map(|(quote, bits)| {
        cx.cite(quote, &format!("{} bits of entropy are available", write::number(bits)))
    });
    if let Some(wait) = wait {
        return Answer::yes(0.5, vec![wait.say(cx)]).and(said);
    }
    let (Some(bits), Some(said)) = (bits, said) else { return Answer::unknown(&[ENTROPY]) };
    let release = cx.setting("kernel").and_then(|quote| version(&quote.text));
    if release.is_some_and(|release| release >= NEVER_BLOCKS) {
        let text = "from Linux 5.6 on nobody waits for entropy once there was some";
        return Answer::no(vec![said, Evidence::derived(text)]);
    }
    let low = bits < cx.limit(T::EntropyLow);
    Answer::when(low, 0.5, vec![said])
}

/// Do they wait for a file server?
pub(super) fn remote(cx: &Context<'_>) -> Answer {
    let known = cx.lines(Field::ProcRemoteWait, |_| true);
    let values = known.iter().filter_map(|line| cx.highest(line));
    let (waits, others): (Vec<Reading>, Vec<Reading>) = values.partition(|seen| seen.value > 0.0);
    let silent = silent(cx);
    if let Some(first) = waits.first() {
        let names: BTreeSet<&str> =
            waits.iter().filter_map(|seen| seen.subject.process_name()).collect();
        let names: Vec<&str> = names.into_iter().take(NAMES_MAX).collect();
        let (tasks, wait) = if waits.len() == 1 { ("task", "waits") } else { ("tasks", "wait") };
        let text =
            format!("{} {tasks} {wait} for a file server: {}", waits.len(), names.join(", "));
        let inside = waiting(cx).into_iter().take(3).map(|wait| wait.say(cx));
        let inside: Vec<Evidence> = inside.collect();
        return Answer::yes(0.5, vec![cx.say(first, &text)])
            .and(inside)
            .and(silent.into_iter().map(|(evidence, _)| evidence));
    }
    if !silent.is_empty() {
        let over = silent.iter().all(|(_, over)| *over);
        let evidence = silent.into_iter().map(|(evidence, _)| evidence).collect();
        return Answer::yes(0.5, evidence).mild(over);
    }
    if let Some(slow) = slow_server(cx) {
        return slow;
    }
    let Some(other) = others.first() else { return Answer::unknown(&[WAITS]) };
    let inside: Vec<String> = waiting(cx).into_iter().take(3).map(|w| w.function).collect();
    let text = match inside.is_empty() {
        true => format!("{} blocked tasks wait for something else", others.len()),
        false => format!("{} blocked tasks wait in {}", others.len(), inside.join(", ")),
    };
    Answer::no(vec![cx.say(other, &text)])
}

fn slowest_server(cx: &Context<'_>) -> Option<Reading> {
    let fields = [Field::RemoteReadAwait, Field::RemoteWriteAwait];
    most(fields.into_iter().filter_map(|field| cx.top_mean(field)))
}

/// Requests to a file server that take long.
fn slow_server(cx: &Context<'_>) -> Option<Answer> {
    let most = slowest_server(cx)?;
    let (limit, evidence) = (cx.limit(T::RemoteAwait), vec![cx.quote(&most)]);
    let long = most.value >= limit || queue_before_server(cx).is_yes();
    Some(Answer::when(long, 0.5, evidence).or_close(cx.is_close(most.value, limit)))
}

/// Do requests to a file server wait on this machine, before they are sent?
pub(super) fn queue_before_server(cx: &Context<'_>) -> Answer {
    const SLOTS: &str = "/proc/sys/sunrpc/tcp_max_slot_table_entries";
    let most = slowest_server(cx);
    let found = most.and_then(|most| {
        let trip = cx.line(Field::RemoteRoundTrip, &most.subject)?;
        Some((cx.lowest(&trip)?, most))
    });
    let Some((trip, most)) = found else { return Answer::unknown(&[NFS]) };
    let text = format!(
        "{}: {} a request, of which {} are the server's and the network's",
        most.subject,
        write::milliseconds(most.value),
        write::milliseconds(trip.value)
    );
    let evidence = vec![cx.say(&most, &text)];
    let queues = most.value >= QUEUE_MIN_MS && most.value >= trip.value * cx.limit(T::RemoteQueue);
    let slots = cx.setting(SLOTS);
    let slots = slots
        .map(|quote| cx.cite(quote, &format!("sunrpc.tcp_max_slot_table_entries: {}", quote.text)));
    Answer::when(queues, 0.6, evidence).backed(slots)
}

/// Shorter waits hold nobody up.
const QUEUE_MIN_MS: f64 = 5.0;

/// File servers that the kernel's log says do not answer, and whether the last word is that they
/// do again.
fn silent(cx: &Context<'_>) -> Vec<(Evidence, bool)> {
    let lines = cx.lines(Field::ServerSilent, |_| true);
    let all = lines.iter().filter_map(|line| {
        let times = line.points.iter().filter(|point| point.value > 0.0).count();
        let seen = cx.highest(line).filter(|_| times > 0)?;
        let Subject::Service(name) = &seen.subject else { return None };
        let over = line.points.last().is_some_and(|point| point.value <= 0.0);
        let again = if over { "; then that it answers again" } else { "" };
        let times = if times > 1 { format!(" {times} times") } else { String::new() };
        let text =
            format!("the kernel's log says{times} that file server {name} does not answer{again}");
        Some((cx.say(&seen, &text), over))
    });
    all.take(NAMES_MAX).collect()
}
