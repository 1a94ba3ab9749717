//! Processor time, tasks, load, pressure and interrupts.

use super::files::Files;
use super::previous::Now;
use crate::recording::{Field, Subject};
use hugewise_base::parse::proc_stat::CpuTimes;
use hugewise_base::parse::{irq_table, loadavg, pressure, proc_stat, schedstat};

pub(super) fn read(files: &mut Files<'_>, now: &mut Now<'_>) {
    times(files, now);
    load(files, now);
    pressures(files, now);
    delays(files, now);
    let softirqs = files.lines("/proc/softirqs", irq_table::parse).unwrap_or_default();
    vectors(now, Field::SoftirqRate, softirqs);
    let mut interrupts = files.lines("/proc/interrupts", irq_table::parse).unwrap_or_default();
    // A large machine has tens of thousands of pairs of a vector and a CPU that never meet.
    for vector in &mut interrupts {
        vector.counts.retain(|(_, count)| *count > 0);
    }
    vectors(now, Field::IrqRate, interrupts);
}

fn times(files: &mut Files<'_>, now: &mut Now<'_>) {
    let Some(stat) = files.lines("/proc/stat", proc_stat::parse) else { return };
    let machine = &Subject::Machine;
    now.rate(Field::Interrupts, machine, stat.interrupts, 1.0);
    now.rate(Field::ContextSwitches, machine, stat.switches, 1.0);
    now.rate(Field::Forks, machine, stat.forks, 1.0);
    // The process that reads the file runs at that moment and is no load of the machine.
    let running = stat.running.map(|running| running.saturating_sub(1));
    now.known(Field::RunQueue, machine, running);
    now.known(Field::Blocked, machine, stat.blocked);
    if !stat.cpus.is_empty() {
        now.state(Field::CpuCount, machine, stat.cpus.len() as f64);
    }
    let all = stat.all.map(|times| (None, times));
    let each = stat.cpus.into_iter().map(|(cpu, times)| (Some(cpu), times));
    for (cpu, times) in all.into_iter().chain(each) {
        shares(now, cpu, &times);
        now.counts.cpus.insert(cpu, times);
    }
}

/// How far each counter went on; `None` where one went back. Idle time and waiting for disks may.
fn grown(before: &CpuTimes, now: &CpuTimes) -> Option<CpuTimes> {
    let less = |of: fn(&CpuTimes) -> u64| of(now).checked_sub(of(before));
    Some(CpuTimes {
        user: less(|t| t.user)?,
        nice: less(|t| t.nice)?,
        system: less(|t| t.system)?,
        idle: now.idle.saturating_sub(before.idle),
        iowait: now.iowait.saturating_sub(before.iowait),
        irq: less(|t| t.irq)?,
        softirq: less(|t| t.softirq)?,
        steal: less(|t| t.steal)?,
        guest: less(|t| t.guest)?,
        guest_nice: less(|t| t.guest_nice)?,
    })
}

/// Shares of the time since the sample before, as `mpstat` has them: guests apart from programs.
fn shares(now: &mut Now<'_>, cpu: Option<u32>, times: &CpuTimes) {
    let Some(before) = now.before.cpus.get(&cpu) else { return };
    if now.passed_s.is_none() {
        return;
    }
    // These two may go back a little (proc_stat(5)); they have not grown then.
    let Some(grown) = grown(before, times) else { return };
    let CpuTimes { user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice } =
        grown;
    let parts = [user, nice, system, idle, iowait, irq, softirq, steal];
    let total = parts.iter().map(|part| *part as f64).sum::<f64>();
    if total <= 0.0 {
        return;
    }
    let subject = cpu.map_or(Subject::Machine, Subject::Cpu);
    let guests = guest.saturating_add(guest_nice);
    for (field, ticks) in [
        (Field::CpuUser, user.saturating_sub(guest)),
        (Field::CpuNice, nice.saturating_sub(guest_nice)),
        (Field::CpuSystem, system),
        (Field::CpuIowait, iowait),
        (Field::CpuIrq, irq),
        (Field::CpuSoftirq, softirq),
        (Field::CpuSteal, steal),
        (Field::CpuGuest, guests),
        (Field::CpuIdle, idle),
    ] {
        now.state(field, &subject, (ticks as f64 / total * 100.0).min(100.0));
    }
}

fn load(files: &mut Files<'_>, now: &mut Now<'_>) {
    let Some(load) = files.whole("/proc/loadavg", loadavg::parse) else { return };
    let fields = [Field::Load1, Field::Load5, Field::Load15];
    for (field, average) in fields.into_iter().zip(load.averages) {
        now.state(field, &Subject::Machine, average);
    }
    now.known(Field::Tasks, &Subject::Machine, Some(load.tasks));
}

fn pressures(files: &mut Files<'_>, now: &mut Now<'_>) {
    for (path, some, full) in [
        ("/proc/pressure/cpu", Field::PsiCpuSome, None),
        ("/proc/pressure/memory", Field::PsiMemorySome, Some(Field::PsiMemoryFull)),
        ("/proc/pressure/io", Field::PsiIoSome, Some(Field::PsiIoFull)),
    ] {
        let Some(pressure) = files.lines(path, pressure::parse) else { continue };
        for (field, stall) in [(Some(some), pressure.some), (full, pressure.full)] {
            if let (Some(field), Some(stall)) = (field, stall) {
                now.state(field, &Subject::Machine, stall.avg10.min(100.0));
            }
        }
    }
}

/// How many tasks wait for a CPU: the time that all of them waited, over the time that passed.
fn delays(files: &mut Files<'_>, now: &mut Now<'_>) {
    let Some(cpus) = files.lines("/proc/schedstat", schedstat::parse) else { return };
    let all = cpus.iter().fold(0_u64, |all, cpu| all.saturating_add(cpu.waited_ns));
    now.rate(Field::RunDelay, &Subject::Machine, Some(all), 1e-9);
}

/// By vector and CPU, and no sums: a sum of all would count twice.
fn vectors(now: &mut Now<'_>, field: Field, vectors: Vec<irq_table::Vector>) {
    for vector in vectors {
        for (cpu, count) in vector.counts {
            let subject = Subject::Vector { name: vector.name.clone(), cpu: Some(cpu) };
            now.rate(field, &subject, Some(count), 1.0);
        }
    }
}
