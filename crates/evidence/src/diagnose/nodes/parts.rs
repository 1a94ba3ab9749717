//! Parts of the machine that have less than the whole: NUMA nodes, arrays of disks, slow CPUs,
//! shared memory.

use super::prelude::*;
use crate::recording::readers::clocks::GOVERNOR;
use crate::recording::readers::mdstat::work_setting;

/// Has one NUMA node no free memory while another one has?
pub(super) fn node(cx: &Context<'_>) -> Answer {
    let lines = cx.lines(Field::NodeFree, |_| true);
    let share = |seen: &Reading| {
        let size = cx.latest(Field::NodeSize, &seen.subject)?.value;
        (size > 0.0).then(|| seen.value / size * 100.0)
    };
    let all: Vec<(Reading, f64)> = lines
        .iter()
        .filter_map(|line| cx.latest(line.field, &line.subject))
        .filter_map(|seen| share(&seen).map(|share| (seen, share)))
        .collect();
    let least = all.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let most = all.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((least, most)) = least.zip(most).filter(|_| all.len() > 1) else {
        return Answer::unknown(&[NODES]);
    };
    let say = |(seen, share): &(Reading, f64)| {
        let share = write::value(Unit::Percent, *share);
        cx.say(seen, &format!("{}: {} free, {share} of it", seen.subject, write::bytes(seen.value)))
    };
    let evidence = vec![say(least), say(most)];
    let apart = least.1 <= cx.limit(T::NodeLow) && most.1 >= cx.limit(T::NodeAmple);
    if !apart {
        return Answer::no(evidence);
    }
    let misses = cx.top(Field::NodeMisses).filter(|seen| seen.value > 0.0);
    // Page cache fills a node in time: it is trouble where somebody reclaims or swaps for it.
    let suffers = [super::reclaim::swapping(cx), super::memory::direct(cx)];
    let daemon = super::kernel::daemon(cx, "kswapd");
    let felt = suffers.iter().any(Answer::is_yes) || daemon.is_yes();
    let reclaim = super::defaults::zone_reclaim(cx);
    let setting = reclaim.evidence.iter().filter(|_| reclaim.is_yes()).cloned();
    Answer::yes(0.5, evidence)
        .and(misses.map(|seen| cx.quote(&seen)))
        .and(setting)
        .mild(!felt && !reclaim.is_yes())
}

/// Does an array of disks lack one, or is it rebuilt or checked?
pub(super) fn array(cx: &Context<'_>) -> Answer {
    let lacks = cx.lines(Field::ArrayLacks, |_| true);
    let works = cx.lines(Field::ArrayRebuilt, |_| true);
    let missing = lacks.iter().filter_map(|line| cx.latest(line.field, &line.subject));
    let missing = most(missing);
    let work = works.iter().filter_map(|line| cx.latest(line.field, &line.subject)).next();
    let work = work.map(|seen| {
        let name = seen.subject.to_string();
        let what = cx.setting(&work_setting(name.trim_start_matches("array ")));
        let what = what.map_or("rebuilt", |quote| quote.text.as_str());
        let text = format!("{name}: {what} is at {}", write::value(Unit::Percent, seen.value));
        cx.say(&seen, &text)
    });
    let degraded = missing.as_ref().filter(|seen| seen.value > 0.0).map(|seen| {
        let disks = if seen.value < 1.5 { "a disk" } else { "disks" };
        cx.say(seen, &format!("{} lacks {disks}", seen.subject))
    });
    if work.is_some() || degraded.is_some() {
        return Answer::yes(0.5, degraded.into_iter().chain(work).collect());
    }
    match missing {
        Some(seen) => Answer::no(vec![cx.quote(&seen)]),
        None => Answer::unknown(&[ARRAYS]),
    }
}

/// Do CPUs in use run far below the clock that they are rated for, and not for heat?
pub(super) fn slow_cpus(cx: &Context<'_>) -> Answer {
    let Some(now) = cx.state(Field::CpuClock) else { return Answer::unknown(&[CLOCKS]) };
    let hot = super::log::heat(cx);
    if hot.is_yes() {
        return Answer::no(hot.evidence).if_close(true);
    }
    match super::log::clock_rate(cx) {
        None => Answer::no(vec![cx.quote(&now)]).if_close(true),
        Some(slow) => {
            let governor = cx.setting(GOVERNOR);
            let governor =
                governor.map(|quote| cx.cite(quote, &format!("governor: {}", quote.text)));
            Answer::yes(0.6, vec![slow]).and(governor)
        }
    }
}

/// Does shared memory, files in tmpfs among it, hold most of the memory while little is left?
pub(super) fn shared(cx: &Context<'_>) -> Answer {
    let (Some(total), Some(shared)) = (cx.memory_bytes(), cx.highest_of(Field::Shmem)) else {
        return Answer::unknown(&[MEMINFO]);
    };
    let percent = shared.value / total * 100.0;
    let share = write::value(Unit::Percent, percent);
    let text = format!(
        "{}: {share} of {}; only swap can take it",
        write::sentence(&shared),
        write::bytes(total)
    );
    let evidence = vec![cx.say(&shared, &text)];
    let felt = [super::memory::short(cx), super::reclaim::swapping(cx), super::memory::killed(cx)];
    let felt: Vec<Evidence> = felt
        .iter()
        .filter(|answer| answer.is_yes() && !answer.mild)
        .filter_map(|answer| answer.evidence.first().cloned())
        .collect();
    // Mapped by many processes, it costs more than it holds: that is what can be mended.
    let tables = super::reclaim::page_tables(cx);
    if tables.is_yes() {
        return Answer::no(evidence).and(tables.evidence).if_close(true);
    }
    if percent >= cx.limit(T::ShmemHigh) && !felt.is_empty() {
        let full = cx.lines(Field::FsUsed, |subject| subject.to_string().contains("/shm"));
        let full = full.iter().filter_map(|line| cx.highest(line)).map(|seen| cx.quote(&seen));
        return Answer::yes(percent / 100.0, evidence).and(full).and(felt);
    }
    Answer::no(evidence)
}

/// Has a 32-bit kernel used up its low memory?
pub(super) fn low_memory(cx: &Context<'_>) -> Answer {
    let known = cx.lowest_of(Field::LowFree).zip(cx.state(Field::LowTotal));
    let Some((free, total)) = known.filter(|(_, total)| total.value > 0.0) else {
        return Answer::unknown(&[LOW_MEMORY]);
    };
    let percent = free.value / total.value * 100.0;
    let text = format!(
        "{} of {} of low memory are free: {}",
        write::bytes(free.value),
        write::bytes(total.value),
        write::value(Unit::Percent, percent)
    );
    let evidence = vec![cx.say(&free, &text)];
    // A 64-bit kernel has no other.
    let all = cx.memory_bytes().is_some_and(|all| all <= total.value * 1.1);
    if percent > cx.limit(T::AvailableLow) || all {
        return Answer::no(evidence);
    }
    let killed = super::memory::killed(cx);
    let yes = killed.is_yes();
    let felt = killed.evidence.into_iter().take(1).filter(|_| yes);
    Answer::yes(0.7, evidence).and(felt)
}

/// Does a real-time thread keep a CPU from everybody else?
pub(super) fn real_time(cx: &Context<'_>) -> Answer {
    const SHARE: &str = "/proc/sys/kernel/sched_rt_runtime_us";
    let most = cx.top(Field::RealTimeCpu);
    let Some(most) = most else { return Answer::unknown(&[REAL_TIME]) };
    let evidence = vec![cx.quote(&most)];
    let whole = cx.setting(SHARE).filter(|quote| quote.text.trim() == "-1");
    let whole = whole.map(|quote| {
        cx.cite(quote, "kernel.sched_rt_runtime_us is -1: nothing is left for others")
    });
    Answer::when(most.value >= cx.limit(T::ThreadFull), 0.6, evidence).backed(whole)
}

/// Does the thread that merges equal pages take a CPU?
pub(super) fn same_pages(cx: &Context<'_>) -> Answer {
    let answer = super::kernel::daemon(cx, "ksmd");
    if answer.evidence.is_empty() { Answer::unknown(&[PROCESSES]) } else { answer }
}
