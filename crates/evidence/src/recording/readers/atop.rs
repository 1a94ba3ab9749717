//! What `atop -P` and `atop -J` have in common: a sample's values by label. atop(1), "PARSEABLE
//! OUTPUT"; layouts of 2.0 to 2.8, of which later ones only add at the end.

use std::collections::BTreeMap;

use crate::recording::{Builder, Field, Stamp, Subject};

/// Bytes in a sector of `/proc/diskstats` and `/proc/PID/io` as atop counts them.
const SECTOR_BYTES: f64 = 512.0;

/// Bytes a second in a Mbit/s, the unit of atop's link speeds.
const MBIT_BYTES: f64 = 1_000_000.0 / 8.0;

/// A process is of interest from this share of one CPU on, in percent ...
const CPU_MIN_PERCENT: f64 = 0.5;

/// ... or from this share of the memory on, in percent.
const MEMORY_MIN_PERCENT: f64 = 0.5;

/// Most processes of interest of one recording, against tens of thousands of short-lived ones.
const PROCESSES_MAX: usize = 5000;

/// What the ticks of a CPU are, in the order of [`Sampler::cpu`]; guests count as user too.
const TICKS: [Field; 9] = [
    Field::CpuSystem,
    Field::CpuUser,
    Field::CpuNice,
    Field::CpuIdle,
    Field::CpuIowait,
    Field::CpuIrq,
    Field::CpuSoftirq,
    Field::CpuSteal,
    Field::CpuGuest,
];

/// Counts of a disk in a sample.
#[derive(Clone, Copy, Default)]
pub(super) struct Disk {
    pub(super) busy_ms: f64,
    pub(super) reads: f64,
    pub(super) read_sectors: f64,
    pub(super) writes: f64,
    pub(super) written_sectors: f64,
    /// Sum over the requests of the time that each was in the queue or at the disk.
    pub(super) waited_ms: Option<f64>,
    pub(super) discards: f64,
}

/// Puts the values of one sample after the other.
#[derive(Default)]
pub(super) struct Sampler {
    /// When the sample ended.
    pub(super) at: Option<Stamp>,
    /// Its length in seconds.
    pub(super) interval_s: f64,
    /// Whether it is of sums since boot, so that only its states mean something.
    pub(super) since_boot: bool,
    memory_bytes: Option<f64>,
    /// Processes of interest by their id, with the name under which they are recorded.
    kept: BTreeMap<u32, String>,
}

impl Sampler {
    fn state(&self, field: Field, value: f64, out: &mut Builder) {
        out.put(field, &Subject::Machine, self.at, value);
    }

    /// A count of the sample as events in a second.
    fn rate(&self, field: Field, subject: &Subject, count: f64, out: &mut Builder) {
        if !self.since_boot && self.interval_s > 0.0 {
            out.put(field, subject, self.at, count / self.interval_s);
        }
    }

    /// Time of one CPU, or of all together: shares of all ticks, because whole seconds are too
    /// rough a measure of the interval.
    pub(super) fn cpu(&self, subject: &Subject, mut ticks: [f64; 9], out: &mut Builder) {
        let all: f64 = ticks[..8].iter().sum();
        if self.since_boot || all <= 0.0 {
            return;
        }
        ticks[8] = ticks[8].min(ticks[1]);
        for (field, part) in TICKS.into_iter().zip(ticks) {
            out.put(field, subject, self.at, 100.0 * part / all);
        }
    }

    pub(super) fn cpu_count(&self, count: f64, out: &mut Builder) {
        self.state(Field::CpuCount, count, out);
    }

    pub(super) fn load(
        &self,
        loads: [Option<f64>; 3],
        switches: Option<f64>,
        interrupts: Option<f64>,
        out: &mut Builder,
    ) {
        let fields = [Field::Load1, Field::Load5, Field::Load15];
        for (field, value) in fields.into_iter().zip(loads) {
            out.put_known(field, &Subject::Machine, self.at, value);
        }
        let counts = [(Field::ContextSwitches, switches), (Field::Interrupts, interrupts)];
        self.rates(&Subject::Machine, &counts, out);
    }

    fn rates(&self, subject: &Subject, counts: &[(Field, Option<f64>)], out: &mut Builder) {
        for (field, count) in counts {
            if let Some(count) = count {
                self.rate(*field, subject, *count, out);
            }
        }
    }

    /// Amounts of memory, in bytes.
    pub(super) fn memory(&mut self, values: &[(Field, Option<f64>)], out: &mut Builder) {
        for (field, value) in values {
            let Some(value) = value else { continue };
            if *field == Field::MemTotal {
                self.memory_bytes = Some(*value);
            }
            self.state(*field, *value, out);
        }
    }

    /// Counts of the machine.
    pub(super) fn counts(&self, counts: &[(Field, Option<f64>)], out: &mut Builder) {
        self.rates(&Subject::Machine, counts, out);
    }

    /// The averages over 10 seconds: CPU some, memory some and full, I/O some and full.
    pub(super) fn pressure(&self, averages: [Option<f64>; 5], out: &mut Builder) {
        let fields = [
            Field::PsiCpuSome,
            Field::PsiMemorySome,
            Field::PsiMemoryFull,
            Field::PsiIoSome,
            Field::PsiIoFull,
        ];
        for (field, value) in fields.into_iter().zip(averages) {
            let share = value.filter(|value| *value <= 100.0);
            out.put_known(field, &Subject::Machine, self.at, share);
        }
    }

    pub(super) fn disk(&self, name: &str, disk: &Disk, out: &mut Builder) {
        if self.since_boot || self.interval_s <= 0.0 {
            return;
        }
        let subject = Subject::Disk(name.to_owned());
        let requests = disk.reads + disk.writes;
        let counts = [
            (Field::DiskReads, Some(disk.reads)),
            (Field::DiskWrites, Some(disk.writes)),
            (Field::DiskTransfers, Some(requests)),
            (Field::DiskReadBytes, Some(disk.read_sectors * SECTOR_BYTES)),
            (Field::DiskWriteBytes, Some(disk.written_sectors * SECTOR_BYTES)),
        ];
        self.rates(&subject, &counts, out);
        let interval_ms = self.interval_s * 1000.0;
        // The interval is in whole seconds, so that a busy disk can seem more than busy.
        let busy = (100.0 * disk.busy_ms / interval_ms).min(100.0);
        out.put(Field::DiskBusy, &subject, self.at, busy);
        let mean = |field: Field, sum: f64, count: f64, out: &mut Builder| {
            if count > 0.0 {
                out.put(field, &subject, self.at, sum / count);
            }
        };
        let sectors = disk.read_sectors + disk.written_sectors;
        mean(Field::DiskRequestBytes, sectors * SECTOR_BYTES, requests, out);
        mean(Field::DiskReadRequestBytes, disk.read_sectors * SECTOR_BYTES, disk.reads, out);
        mean(Field::DiskWriteRequestBytes, disk.written_sectors * SECTOR_BYTES, disk.writes, out);
        if let Some(waited_ms) = disk.waited_ms {
            out.put(Field::DiskQueue, &subject, self.at, waited_ms / interval_ms);
            mean(Field::DiskAwait, waited_ms, requests + disk.discards.max(0.0), out);
        }
    }

    pub(super) fn link(&self, name: &str, counts: [f64; 4], speed_mbit: f64, out: &mut Builder) {
        const FIELDS: [Field; 4] =
            [Field::NetRxPackets, Field::NetRxBytes, Field::NetTxPackets, Field::NetTxBytes];
        let subject = Subject::Interface(name.to_owned());
        for (field, count) in FIELDS.into_iter().zip(counts) {
            self.rate(field, &subject, count, out);
        }
        if speed_mbit > 0.0 {
            out.put(Field::NetSpeed, &subject, self.at, speed_mbit * MBIT_BYTES);
        }
    }

    /// The subject of a process that is of interest, now or from before.
    fn keep(&mut self, pid: u32, name: &str, now: bool) -> Option<Subject> {
        let known = self.kept.get(&pid).is_some_and(|known| known == name);
        if !known {
            let room = self.kept.contains_key(&pid) || self.kept.len() < PROCESSES_MAX;
            if !now || !room {
                return None;
            }
            self.kept.insert(pid, name.to_owned());
        }
        Some(Subject::process(Some(pid), name))
    }

    /// Ticks of a process outside and in the kernel. Of a kernel thread any tick is of interest.
    pub(super) fn process_cpu(
        &mut self,
        (pid, name): (u32, &str),
        (user, system): (f64, f64),
        hertz: f64,
        out: &mut Builder,
    ) {
        if self.since_boot || self.interval_s <= 0.0 || hertz <= 0.0 {
            return;
        }
        let percent = |ticks: f64| 100.0 * ticks / hertz / self.interval_s;
        let (user, system) = (percent(user), percent(system));
        let all = user + system;
        let now = all > CPU_MIN_PERCENT || (all > 0.0 && is_kernel_thread(name));
        let Some(subject) = self.keep(pid, name, now) else { return };
        out.put(Field::ProcCpu, &subject, self.at, all);
        out.put(Field::ProcUser, &subject, self.at, user);
        out.put(Field::ProcSystem, &subject, self.at, system);
    }

    pub(super) fn process_memory(
        &mut self,
        (pid, name): (u32, &str),
        resident_bytes: f64,
        (minor, major): (Option<f64>, Option<f64>),
        out: &mut Builder,
    ) {
        let share = self.memory_bytes.map(|all| 100.0 * resident_bytes / all);
        let now = share.is_some_and(|share| share > MEMORY_MIN_PERCENT);
        let Some(subject) = self.keep(pid, name, now) else { return };
        out.put(Field::ProcRss, &subject, self.at, resident_bytes);
        let counts = [(Field::ProcMinorFaults, minor), (Field::ProcMajorFaults, major)];
        self.rates(&subject, &counts, out);
    }

    /// Sectors that a process read and wrote.
    pub(super) fn process_disk(
        &mut self,
        (pid, name): (u32, &str),
        (read, written): (f64, f64),
        out: &mut Builder,
    ) {
        let now = !self.since_boot && read + written > 0.0;
        let Some(subject) = self.keep(pid, name, now) else { return };
        self.rate(Field::ProcRead, &subject, read * SECTOR_BYTES, out);
        self.rate(Field::ProcWrite, &subject, written * SECTOR_BYTES, out);
    }

    /// Threads of a process, and whether it is in uninterruptible wait. Such a process is of
    /// interest whatever it uses.
    pub(super) fn process_state(
        &mut self,
        (pid, name): (u32, &str),
        state: &str,
        threads: Option<f64>,
        out: &mut Builder,
    ) {
        let blocked = state == "D";
        let Some(subject) = self.keep(pid, name, blocked) else { return };
        out.put(Field::ProcBlocked, &subject, self.at, if blocked { 1.0 } else { 0.0 });
        out.put_known(Field::ProcThreads, &subject, self.at, threads);
    }
}

/// Kernel threads that do memory's and interrupts' work.
fn is_kernel_thread(name: &str) -> bool {
    const STARTS: [&str; 5] = ["khugepaged", "kcompactd", "kswapd", "ksoftirqd/", "kworker/"];
    STARTS.iter().any(|start| name.starts_with(start))
}
