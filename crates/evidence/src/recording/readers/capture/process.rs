//! Processes: CPU, faults, memory, disks, waiting.

use std::collections::BTreeMap;

use super::files::Files;
use super::previous::{COUNTERS_MAX, Now, ProcessCounts};
use crate::recording::{Field, Subject};
use hugewise_base::parse::pid_stat::{self, PidStat};
use hugewise_base::parse::{decimal, pid_io, pid_status, schedstat};

/// Files of one process.
#[derive(Debug, Default)]
struct Texts<'a> {
    stat: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    io: Option<&'a [u8]>,
}

pub(super) fn read(files: &mut Files<'_>, now: &mut Now<'_>) {
    let mut processes: BTreeMap<u32, Texts<'_>> = BTreeMap::new();
    let mut waited: BTreeMap<u32, u64> = BTreeMap::new();
    for (rest, bytes) in files.below("/proc/") {
        let Some((pid, name)) = rest.split_once('/') else { continue };
        let Some(pid) = decimal::<u32>(pid) else { continue };
        if let Some(thread) = name.strip_prefix("task/") {
            thread_cpu(now, thread, bytes);
            if let Some(grown) = thread_delay(now, thread, bytes) {
                let all = waited.entry(pid).or_default();
                *all = all.saturating_add(grown);
            }
            continue;
        }
        let texts = processes.entry(pid).or_default();
        match name {
            "stat" => texts.stat = Some(bytes),
            "status" => texts.status = Some(bytes),
            "io" => texts.io = Some(bytes),
            _ => {}
        }
    }
    for (pid, texts) in processes {
        match texts.stat.map(pid_stat::parse) {
            Some(Ok(stat)) => {
                let subject = Subject::process(Some(pid), &stat.comm);
                if let Some(waited_ns) = waited.get(&pid) {
                    now.grown(Field::ProcRunDelay, &subject, 0, *waited_ns, 1e-7);
                }
                process(files, now, pid, &stat, &texts);
            }
            Some(Err(problem)) => files.note(problem),
            None => {}
        }
    }
}

/// A file of one thread, `TID/stat`. What is no such file, or was cut, says nothing.
fn thread_cpu(now: &mut Now<'_>, thread: &str, bytes: &[u8]) {
    let Some(tid) = thread.strip_suffix("/stat").and_then(decimal::<u32>) else { return };
    let (Ok(stat), Some(ticks)) = (pid_stat::parse(bytes), now.ticks_per_s) else { return };
    let used = stat.utime.saturating_add(stat.stime);
    let before = now.before.threads.get(&tid).copied();
    if let Some((_, from)) = before.filter(|(start, _)| *start == stat.starttime) {
        let subject = Subject::process(Some(tid), &stat.comm);
        now.grown(Field::ThreadCpu, &subject, from, used, 100.0 / ticks as f64);
    }
    if now.counts.threads.len() < COUNTERS_MAX {
        now.counts.threads.insert(tid, (stat.starttime, used));
    }
}

/// How long a thread waited for a CPU since the sample before, in ns, of a file `TID/schedstat`.
fn thread_delay(now: &mut Now<'_>, thread: &str, bytes: &[u8]) -> Option<u64> {
    let tid = thread.strip_suffix("/schedstat").and_then(decimal::<u32>)?;
    let waited = schedstat::waited_ns(bytes)?;
    let before = now.before.delays.get(&tid).copied();
    if now.counts.delays.len() < COUNTERS_MAX {
        now.counts.delays.insert(tid, waited);
    }
    waited.checked_sub(before?)
}

fn process(files: &mut Files<'_>, now: &mut Now<'_>, pid: u32, stat: &PidStat, texts: &Texts<'_>) {
    let subject = Subject::process(Some(pid), &stat.comm);
    let blocked = if stat.state == 'D' { 1.0 } else { 0.0 };
    now.state(Field::ProcBlocked, &subject, blocked);
    now.known(Field::ProcThreads, &subject, Some(stat.num_threads));
    if !stat.is_kernel_thread() {
        memory(files, now, &subject, stat, texts.status);
    }
    let io = texts.io.map(|bytes| pid_io::parse(&String::from_utf8_lossy(bytes)).value);
    let counts = ProcessCounts {
        start_ticks: stat.starttime,
        user_ticks: stat.utime,
        system_ticks: stat.stime,
        minor_faults: stat.minflt,
        major_faults: stat.majflt,
        io: io.unwrap_or_default(),
    };
    if let Some(before) = now.before.processes.get(&pid).copied()
        && before.start_ticks == counts.start_ticks
    {
        rates(now, &subject, &before, &counts);
    }
    now.counts.processes.insert(pid, counts);
}

fn memory(
    files: &mut Files<'_>,
    now: &mut Now<'_>,
    subject: &Subject,
    stat: &PidStat,
    status: Option<&[u8]>,
) {
    let parsed = pid_status::parse(status.unwrap_or_default());
    for problem in parsed.problems {
        files.note(problem);
    }
    let status = parsed.value;
    // VmRSS is the sum of these three (`task_mem` of fs/proc/task_mmu.c), and exact, as the count
    // in stat is not.
    let parts = [status.rss_anon_bytes, status.rss_file_bytes, status.rss_shmem_bytes];
    let sum = parts.into_iter().reduce(|a, b| a?.checked_add(b?)).flatten();
    let counted = || stat.rss_pages.checked_mul(now.page_bytes?);
    let rss = sum.or_else(counted);
    now.known(Field::ProcRss, subject, rss);
    now.known(Field::ProcShmem, subject, status.rss_shmem_bytes);
    now.known(Field::ProcAnon, subject, status.rss_anon_bytes);
    let private = status.vm_data_bytes.zip(status.vm_stk_bytes);
    now.known(
        Field::ProcPrivate,
        subject,
        private.and_then(|(data, stack)| data.checked_add(stack)),
    );
    now.known(Field::ProcThpOff, subject, status.thp_enabled.map(|on| u64::from(!on)));
    now.known(Field::ProcPinned, subject, status.vm_pin_bytes);
    now.known(Field::ProcPageTables, subject, status.vm_pte_bytes);
}

fn rates(now: &mut Now<'_>, subject: &Subject, from: &ProcessCounts, to: &ProcessCounts) {
    if let Some(ticks) = now.ticks_per_s {
        let percent = 100.0 / ticks as f64;
        let (from_all, to_all) = (
            from.user_ticks.saturating_add(from.system_ticks),
            to.user_ticks.saturating_add(to.system_ticks),
        );
        now.grown(Field::ProcCpu, subject, from_all, to_all, percent);
        now.grown(Field::ProcUser, subject, from.user_ticks, to.user_ticks, percent);
        now.grown(Field::ProcSystem, subject, from.system_ticks, to.system_ticks, percent);
    }
    now.grown(Field::ProcMinorFaults, subject, from.minor_faults, to.minor_faults, 1.0);
    now.grown(Field::ProcMajorFaults, subject, from.major_faults, to.major_faults, 1.0);
    for (field, from, to) in [
        (Field::ProcRead, from.io.read_bytes, to.io.read_bytes),
        (Field::ProcWrite, from.io.write_bytes, to.io.write_bytes),
    ] {
        if let (Some(from), Some(to)) = (from, to) {
            now.grown(field, subject, from, to, 1.0);
        }
    }
}
