//! What functions of the kernel, calls and lines of interrupts name by themselves: a slow clock,
//! locks of a program, the start of processes, a device.

use super::prelude::*;
use std::collections::BTreeMap;

use super::profile;
use crate::functions::NUMA_BALANCING;
use crate::recording::readers::interrupts::device_setting;

/// Reading a clock that is a device: `arch/x86/kernel/hpet.c`, `drivers/clocksource/acpi_pm.c`.
const CLOCKS: [&str; 3] = ["read_hpet", "acpi_pm_read", "pit_read"];
/// Waiting for, and waking, threads at a lock of the program: `kernel/futex`.
const FUTEX: [&str; 2] = ["futex", "rt_mutex"];
/// Does reading the time take the kernel's time?
pub(super) fn clock(cx: &Context<'_>) -> Answer {
    const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Some(answer) = profile::named(cx, &CLOCKS) else {
        return profile::unnamed(cx, &[SYMBOLS]);
    };
    let source = cx.setting(PATH);
    answer.and(source.map(|quote| cx.cite(quote, &format!("{PATH}: {}", quote.text))))
}

/// Telling other CPUs to forget a mapping, and waiting for them: `kernel/smp.c`,
/// `arch/x86/mm/tlb.c`.
const SHOOTDOWN: [&str; 6] = [
    "flush_tlb",
    "smp_call_function_many",
    "smp_call_function_any",
    "csd_lock_wait",
    "on_each_cpu_cond",
    "flush_tlb_mm_range",
];

/// Do changes of mappings interrupt the other CPUs?
pub(super) fn shootdowns(cx: &Context<'_>) -> Answer {
    let tlb = |subject: &Subject| matches!(subject, Subject::Vector { name, .. } if name == "TLB");
    let lines = cx.lines(Field::IrqRate, tlb);
    let means: Vec<Reading> = lines.iter().filter_map(|line| cx.mean(line)).collect();
    let sum: f64 = means.iter().map(|seen| seen.value).sum();
    let each = sum / cx.cpus().unwrap_or(means.len() as f64).max(1.0);
    let said = means.first().map(|first| {
        let text = format!(
            "{} TLB shootdowns a second, {} on each CPU",
            write::number(sum),
            write::number(each)
        );
        cx.say(first, &text)
    });
    let many = said.is_some() && each >= cx.limit(T::ShootdownsHigh);
    // The kernel changes them itself where it moves pages between nodes.
    let moved = profile::named(cx, &NUMA_BALANCING);
    match (profile::named(cx, &SHOOTDOWN).filter(|_| moved.is_none()), said) {
        (Some(answer), said) => answer.and(said),
        (None, Some(said)) if many => Answer::yes(0.5, vec![said]),
        (None, Some(said)) => Answer::no(vec![said]),
        (None, None) => profile::unnamed(cx, &[SYMBOLS, INTERRUPT_LINES]),
    }
}

/// Tables of the packet filter, each walked rule by rule: `net/ipv4/netfilter/ip_tables.c`,
/// `net/netfilter/nf_tables_core.c`, `net/bridge/netfilter/ebtables.c`.
const FILTER: [&str; 5] =
    ["ipt_do_table", "ip6t_do_table", "arpt_do_table", "nft_do_chain", "ebt_do_table"];

/// Are packets compared with a long list of rules?
pub(super) fn packet_filter(cx: &Context<'_>) -> Answer {
    profile::named(cx, &FILTER).unwrap_or_else(|| profile::unnamed(cx, &[SYMBOLS]))
}

/// Searching the cache of directory entries: `fs/dcache.c`, `fs/namei.c`.
const NAMES: [&str; 8] = [
    "d_lookup",
    "d_alloc",
    "d_walk",
    "dentry",
    "link_path_walk",
    "list_lru_walk",
    "lookup_fast",
    "walk_component",
];
/// Calls that look up a name.
const NAME_CALLS: [&str; 8] =
    ["stat", "lstat", "newfstatat", "statx", "open", "openat", "access", "readlink"];

/// Do look-ups of file names take the kernel's time, in a cache of them that is huge?
pub(super) fn names(cx: &Context<'_>) -> Answer {
    let caches = super::memory::caches(cx);
    if !caches.is_yes() {
        return if caches.missing.is_empty() { caches } else { Answer::unknown(&[MEMORY]) };
    }
    let traced = super::kernel::calls_traced(cx);
    let of_names = traced.as_ref().filter(|(calls, sum)| {
        let own = calls.iter().filter(|c| NAME_CALLS.contains(&c.subject.to_string().as_str()));
        own.map(|seen| seen.value).sum::<f64>() / sum * 100.0 >= cx.limit(T::NamesCalls)
    });
    let said = of_names.map(|(calls, sum)| super::kernel::say_calls(cx, calls, *sum));
    match (profile::named(cx, &NAMES), said) {
        (Some(answer), said) => answer.and(caches.evidence).and(said),
        (None, Some(said)) => Answer::yes(0.6, caches.evidence).and([said]),
        (None, None) if profile::is_there(cx) || traced.is_some() => Answer::no(caches.evidence),
        (None, None) => Answer::unknown(&[SYMBOLS, SYSCALLS]),
    }
}

/// Do threads of a program wait for each other's locks?
pub(super) fn futex(cx: &Context<'_>) -> Answer {
    let traced = super::kernel::calls_traced(cx);
    let of_futex = traced.as_ref().filter(|(calls, sum)| {
        let own = calls.iter().filter(|seen| seen.subject.to_string() == "futex");
        own.map(|seen| seen.value).sum::<f64>() / sum * 100.0 >= cx.limit(T::FutexShare)
    });
    let said = of_futex.map(|(calls, sum)| super::kernel::say_calls(cx, calls, *sum));
    let profiled = profile::named(cx, &FUTEX);
    match (profiled, said) {
        (Some(answer), said) => answer.and(said).and(profile::ways_to(cx, &FUTEX)),
        (None, Some(said)) => Answer::yes(0.6, vec![said]),
        (None, None) => match traced.filter(|_| !profile::is_there(cx)) {
            Some((calls, sum)) => Answer::no(vec![super::kernel::say_calls(cx, &calls, sum)]),
            None => profile::unnamed(cx, &[SYMBOLS, SYSCALLS]),
        },
    }
}

/// Free memory, of all, that is not in pieces only.
const PLENTY_PERCENT: f64 = 50.0;

/// Does the kernel look for large blocks though memory is available?
pub(super) fn high_order(cx: &Context<'_>) -> Answer {
    let kswapd = super::kernel::daemon(cx, "kswapd");
    if !kswapd.is_yes() {
        return if kswapd.missing.is_empty() { kswapd } else { Answer::unknown(&[PROCESSES]) };
    }
    let free = cx.state(Field::MemFree).zip(cx.memory_bytes());
    let Some((free, total)) = free else { return Answer::unknown(&[MEMORY]) };
    let percent = free.value / total * 100.0;
    let share = format!("{} ({percent:.1} % of all)", write::sentence(&free));
    let room = cx.say(&free, &share);
    // Stalls that are counted, and a profile, say more: that is compaction.
    let compacts = super::kernel::compaction(cx);
    // Where most of it is free, there are blocks of any size.
    let pieces = percent >= cx.limit(T::AvailableLow) && percent < PLENTY_PERCENT;
    let room_enough = pieces && super::reclaim::ample(cx);
    if !room_enough || compacts.is_yes() {
        return Answer::no(vec![room]).and(compacts.evidence);
    }
    let why = "single pages are there to be had: it can only look for blocks of many";
    let answer = Answer { evidence: kswapd.evidence, ..Answer::yes(0.5, Vec::new()) };
    let pieces = cx.state(Field::Fmfi).map(|seen| cx.quote(&seen));
    let compacting = super::kernel::daemon(cx, "kcompactd");
    let compacting = compacting.evidence.into_iter().filter(|_| pieces.is_some());
    answer.and([room, Evidence::derived(why)]).and(pieces.clone()).and(compacting)
}

/// The device's line with most interrupts a second: all CPUs together, and where.
fn busiest_line(cx: &Context<'_>) -> Option<(Reading, String)> {
    let device = |subject: &Subject| match subject {
        Subject::Vector { name, .. } => name.bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    let mut lines: BTreeMap<String, (f64, Reading)> = BTreeMap::new();
    for mean in cx.lines(Field::IrqRate, device).iter().filter_map(|line| cx.mean(line)) {
        let Subject::Vector { name, .. } = &mean.subject else { continue };
        let line = lines.entry(name.clone()).or_insert_with(|| (0.0, mean.clone()));
        line.0 += mean.value;
        if mean.value > line.1.value {
            line.1 = mean;
        }
    }
    let (name, (all, most)) = lines.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let of = cx.setting(&device_setting(&name));
    let of = of.map_or_else(String::new, |quote| format!(" ({})", quote.text));
    let cpu = match &most.subject {
        Subject::Vector { cpu: Some(cpu), .. } if most.value >= 0.9 * all => {
            format!(", nearly all on CPU {cpu}")
        }
        _ => String::new(),
    };
    let text = format!("interrupt line {name}{of}: {} a second{cpu}", write::number(all));
    Some((Reading { value: all, ..most }, text))
}

/// The same as an evidence beside others.
pub(super) fn line(cx: &Context<'_>) -> Option<Evidence> {
    busiest_line(cx).map(|(seen, text)| cx.say(&seen, &text))
}

/// Does a device interrupt without end?
pub(super) fn storm(cx: &Context<'_>) -> Answer {
    let Some((seen, text)) = busiest_line(cx) else {
        return Answer::unknown(&[INTERRUPT_LINES]);
    };
    let evidence = vec![cx.say(&seen, &text)];
    let limit = cx.limit(T::IrqStorm);
    Answer::when(seen.value >= limit, 0.7, evidence).or_close(cx.is_close(seen.value, limit))
}

/// Is the load average far above the CPUs, where nothing else says why?
pub(super) fn load(cx: &Context<'_>) -> Answer {
    let known = |field| cx.host.subjects(field).next().is_some();
    let Some(load) = cx.highest_of(Field::Load1) else { return Answer::unknown(&[QUEUE]) };
    let quote = cx.quote(&load);
    let others = [Field::CpuIdle, Field::RunQueue, Field::Blocked, Field::ProcBlocked];
    if others.into_iter().any(known) {
        let text = "what runs or waits is known: other questions go by that";
        return Answer::no(vec![quote, Evidence::derived(text)]).if_close(true);
    }
    let each = cx.limit(T::QueuePerCpu);
    let Some(cpus) = cx.cpus() else {
        if load.value < each * super::events::CPUS_SUPPOSED / 2.0 {
            return Answer::unknown(&[CPU_COUNT]);
        }
        let text = format!(
            "the machine has fewer than {} CPUs, of which each has {each} tasks then",
            write::number(load.value / each)
        );
        let supposed = Evidence::assumed(text);
        return Answer::yes(0.3, vec![quote, supposed]).lacking(&[CPU_COUNT, CPU, QUEUE]);
    };
    let text = format!("{} for {} CPUs", write::sentence(&load), write::number(cpus));
    let evidence = vec![cx.say(&load, &text)];
    if load.value >= each * cpus {
        Answer::yes(0.4, evidence).lacking(&[CPU, QUEUE])
    } else {
        Answer::no(evidence).if_close(cx.is_close(load.value, each * cpus))
    }
}

/// How much of the time in interrupts is the hardware's, where that is the larger part.
pub(super) fn hardware_part(cx: &Context<'_>, subject: &Subject) -> Option<Evidence> {
    let mean = |field| cx.mean(&cx.line(field, subject)?);
    let (hard, soft) = (mean(Field::CpuIrq)?, mean(Field::CpuSoftirq)?);
    let text = format!(
        "hardware interrupts {}, soft ones {} (averages)",
        write::value(Unit::Percent, hard.value),
        write::value(Unit::Percent, soft.value),
    );
    (hard.value > soft.value).then(|| cx.say(&hard, &text))
}
