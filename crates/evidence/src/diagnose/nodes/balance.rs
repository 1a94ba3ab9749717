//! Balance: one of several is exhausted while others have room.

use super::prelude::*;
use std::collections::BTreeSet;

/// The busiest of several, where it is exhausted and the others, as a mean, have room.
fn lopsided(cx: &Context<'_>, mut means: Vec<Reading>, limit: T, what: &str) -> Answer {
    means.sort_by(|a, b| b.value.total_cmp(&a.value));
    let [top, rest @ ..] = means.as_slice() else { return Answer::unknown(&[CPU]) };
    let others = rest.iter().map(|seen| seen.value).sum::<f64>() / rest.len().max(1) as f64;
    let text = format!(
        "{} was busy {}, the other {what} {} (averages of {})",
        top.subject,
        write::value(Unit::Percent, top.value),
        write::value(Unit::Percent, others),
        rest.len() + 1
    );
    let evidence = vec![cx.say(top, &text)];
    let full = top.value >= cx.limit(limit) && others < cx.limit(T::IdleLow);
    Answer::when(full, 0.4, evidence)
}

fn means(cx: &Context<'_>, lines: &[Line]) -> Vec<Reading> {
    lines.iter().filter_map(|line| cx.mean(line)).collect()
}

/// Is one CPU exhausted beside idle ones?
pub(super) fn cpus(cx: &Context<'_>) -> Answer {
    let own = |subject: &Subject| matches!(subject, Subject::Cpu(_));
    let idle = cx.lines(Field::CpuIdle, own);
    let busy: Vec<Line> = idle.iter().filter_map(|line| cx.busy(&line.subject)).collect();
    if busy.len() < 2 {
        return one_thread(cx).unwrap_or_else(|| Answer::unknown(&[CPU]));
    }
    let answer = lopsided(cx, means(cx, &busy), T::BusyHigh, "CPUs");
    // A thread that moves from CPU to CPU fills none of them for long.
    if answer.is_yes() { answer } else { one_thread(cx).unwrap_or(answer) }
}

/// Threads of the kernel that have findings of their own.
const OF_KERNEL: [&str; 6] =
    ["kswapd", "kcompactd", "khugepage", "ksoftirqd", "kworker", "migration"];
/// A process that uses so much more than one CPU has several threads at work.
const ONE_CPU_MAX: f64 = 105.0;

/// A thread, or a process that uses just one CPU, that is never idle while CPUs are.
fn one_thread(cx: &Context<'_>) -> Option<Answer> {
    let ours = |subject: &Subject| {
        let name = subject.process_name().unwrap_or_default();
        !OF_KERNEL.iter().any(|start| name.starts_with(start))
    };
    let busy = cx.mean_busy();
    let no_room = busy.as_ref().is_some_and(|busy| busy.value >= cx.limit(T::BusyHigh));
    if no_room || cx.cpus().is_some_and(|cpus| cpus < 2.0) {
        return None;
    }
    let top = |field: Field| {
        let all = cx.lines(field, ours);
        // Only what could be full has to be checked when it was not listed.
        let full =
            |line: &&Line| cx.mean(line).is_some_and(|mean| mean.value >= cx.limit(T::ThreadFull));
        let all = super::pick::listed(cx, all.iter().filter(full));
        let means = all.iter().filter_map(|line| cx.mean(line));
        most(means.filter(|seen| seen.value <= ONE_CPU_MAX))
    };
    let full = |seen: &Reading| seen.value >= cx.limit(T::ThreadFull);
    let (seen, ground) = match top(Field::ThreadCpu).filter(full) {
        Some(thread) => (thread, None),
        // Without the machine's own use only a list of threads says enough.
        None => {
            busy.as_ref()?;
            let text = "a process that uses one CPU, no more and no less, has one thread at work";
            (top(Field::ProcCpu).filter(full)?, Some(Evidence::assumed(text)))
        }
    };
    let rest = match &busy {
        Some(busy) => {
            let all = write::value(Unit::Percent, busy.value);
            cx.say(busy, &format!("{all} of all CPUs in use"))
        }
        None => Evidence::assumed("whether other CPUs are idle is not in these sources"),
    };
    Some(Answer::yes(0.3, vec![cx.quote(&seen), rest]).and(ground))
}

/// Servers that do their work in one thread, each as it is shipped.
const ONE_THREAD: [&str; 8] = [
    "pgbouncer",
    "redis-server",
    "valkey-server",
    "twemproxy",
    "nutcracker",
    "squid",
    "varnishncsa",
    "haproxy",
];

/// Is the one thread of a server full that has no other?
pub(super) fn servers(cx: &Context<'_>) -> Answer {
    let ours = |subject: &Subject| {
        let name = subject.process_name().unwrap_or_default().trim_start_matches(['|', '_']);
        ONE_THREAD.iter().any(|server| name.starts_with(server))
    };
    let lines = [Field::ThreadCpu, Field::ProcCpu].map(|field| cx.lines(field, ours));
    let means = lines.iter().flatten().filter_map(|line| cx.mean(line));
    // Of a server with several threads, all of a CPU is no limit.
    let means = means.filter(|seen| seen.value <= ONE_CPU_MAX);
    let most = most(means);
    let Some(most) = most else { return Answer::unknown(&[PROCESSES]) };
    let full = most.value >= cx.limit(T::ThreadFull);
    let text = "it works in one thread: more CPUs do not help it";
    let evidence = vec![cx.quote(&most)];
    Answer::when(full, 0.4, evidence).backed([Evidence::derived(text)])
}

/// The disk that `name` is a partition of, if it is one: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`.
fn disk_of_partition(name: &str) -> Option<&str> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if base.is_empty() || base.len() == name.len() {
        return None;
    }
    let numbered =
        base.strip_suffix('p').filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    Some(numbered.unwrap_or(base))
}

/// Is one disk saturated beside idle ones?
pub(super) fn disks(cx: &Context<'_>) -> Answer {
    // A drive for CDs or floppies is idle because nothing is in it.
    let fixed = |name: &str| !["sr", "fd", "scd"].iter().any(|drive| name.starts_with(drive));
    let own = |subject: &Subject| matches!(subject, Subject::Disk(name) if fixed(name));
    let disks = super::pick::hardware(cx.lines(Field::DiskBusy, own));
    let name = |line: &Line| match &line.subject {
        Subject::Disk(name) => name.clone(),
        _ => String::new(),
    };
    // Strangers' recordings may name very many.
    let names: BTreeSet<String> = disks.iter().map(name).collect();
    let is_whole =
        |line: &&Line| !disk_of_partition(&name(line)).is_some_and(|d| names.contains(d));
    let whole: Vec<Line> = disks.iter().filter(is_whole).cloned().collect();
    let found = means(cx, &whole);
    match found.len() {
        0 => Answer::unknown(&[DISKS]),
        1 => Answer::no(vec![Evidence::derived("there is one disk")]),
        _ => {
            let answer = lopsided(cx, found, T::DiskBusy, "disks");
            // A flash disk can be busy all the time with nobody waiting for it.
            let saturated = super::io::disk(cx).is_yes();
            if answer.is_yes() && !saturated { Answer::no(answer.evidence) } else { answer }
        }
    }
}

/// Seconds between two recordings that are of the same moment all the same.
const SAME_S: i64 = 300;

/// Whether the CPU values of two machines are of the same time: they have dates, and meet; or they
/// stand in one text, and nothing says that they are not.
fn same_time(recording: &Recording, one: &Host, other: &Host) -> bool {
    let series = |host| Host::series(host, Field::CpuIdle, &Subject::Machine);
    let (Some(one), Some(other)) = (series(one), series(other)) else { return false };
    let ends = |series: &Series| {
        let mut dated = series.points.iter().filter_map(|point| point.at);
        let first = dated.next()?;
        Some((first, dated.next_back().unwrap_or(first)))
    };
    let input = |series: &Series| recording.source(series.source).map(|source| &source.input);
    let one_text = input(one) == input(other);
    match (ends(one), ends(other)) {
        (Some(a), Some(b)) if one_text || (a.0.has_date() && b.0.has_date()) => {
            let near = |from: Stamp, to: Stamp| from.0.saturating_sub(to.0) <= SAME_S;
            near(a.0, b.1) && near(b.0, a.1)
        }
        (Some(_), Some(_)) => false,
        _ => one_text,
    }
}

/// Is this machine exhausted beside idle ones?
pub(super) fn hosts(cx: &Context<'_>) -> Answer {
    let all = || cx.recording.hosts.iter().zip(cx.busy);
    let ours = all().find(|(host, _)| std::ptr::eq(*host, cx.host));
    let ours = ours.and_then(|(_, busy)| busy.as_ref());
    let Some(ours) = ours else { return Answer::unknown(&[CPU]) };
    let name = |host: &Host| host.name.clone().unwrap_or_else(|| "?".to_owned());
    let others: Vec<(&Host, f64)> = all()
        .filter(|(host, _)| !std::ptr::eq(*host, cx.host))
        .filter(|(host, _)| same_time(cx.recording, cx.host, host))
        .filter_map(|(host, busy)| Some((host, busy.as_ref()?.value)))
        .collect();
    if others.is_empty() {
        return Answer::unknown(&[HOSTS]);
    }
    let mean = others.iter().map(|(_, busy)| busy).sum::<f64>() / others.len() as f64;
    let text = format!(
        "{} uses {} of its CPUs, the {} other machines {} (averages)",
        name(cx.host),
        write::value(Unit::Percent, ours.value),
        others.len(),
        write::value(Unit::Percent, mean)
    );
    let mut evidence = vec![cx.say(ours, &text)];
    let free = least_by(others, |(_, busy)| *busy);
    evidence.extend(free.map(|(host, busy)| {
        Evidence::derived(format!(
            "most room: {}, {} in use",
            name(host),
            write::value(Unit::Percent, busy)
        ))
    }));
    let full = ours.value >= cx.limit(T::BusyHigh) && mean < cx.limit(T::HostIdle);
    Answer::when(full, 0.6, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_known_by_their_names() {
        for (name, disk) in [
            ("sda1", Some("sda")),
            ("sda", None),
            ("nvme0n1p2", Some("nvme0n1")),
            ("nvme0n1", Some("nvme0n")),
            ("mmcblk0p10", Some("mmcblk0")),
            ("xvdp1", Some("xvdp")),
            ("7", None),
            ("", None),
        ] {
            assert_eq!(disk_of_partition(name), disk, "{name}");
        }
    }
}
