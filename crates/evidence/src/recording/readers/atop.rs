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

/// Ticks of CPU in a sample, in atop's order but for the guests' at the end.
#[derive(Clone, Copy, Default)]
pub(super) struct Ticks {
    pub(super) system: f64,
    pub(super) user: f64,
    pub(super) nice: f64,
    pub(super) idle: f64,
    pub(super) wait: f64,
    pub(super) irq: f64,
    pub(super) softirq: f64,
    pub(super) steal: f64,
    /// Part of `user`.
    pub(super) guest: f64,
}

/// Counts of paging in a sample; unknown ones are `None`.
#[derive(Clone, Copy, Default)]
pub(super) struct Paging {
    pub(super) scans: Option<f64>,
    pub(super) stalls: Option<f64>,
    pub(super) swapped_in_pages: Option<f64>,
    pub(super) swapped_out_pages: Option<f64>,
    pub(super) oom_kills: Option<f64>,
    pub(super) compact_stalls: Option<f64>,
    pub(super) migrated_pages: Option<f64>,
    pub(super) read_pages: Option<f64>,
    pub(super) written_pages: Option<f64>,
}

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

/// Counts of a network interface in a sample.
#[derive(Clone, Copy, Default)]
pub(super) struct Link {
    pub(super) rx_packets: f64,
    pub(super) rx_bytes: f64,
    pub(super) tx_packets: f64,
    pub(super) tx_bytes: f64,
    pub(super) speed_mbit: f64,
}

/// TCP's counts in a sample.
#[derive(Clone, Copy, Default)]
pub(super) struct Tcp {
    pub(super) received: Option<f64>,
    pub(super) sent: Option<f64>,
    pub(super) active_opens: Option<f64>,
    pub(super) passive_opens: Option<f64>,
    pub(super) retransmits: Option<f64>,
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
    pub(super) fn cpu(&self, subject: &Subject, ticks: &Ticks, out: &mut Builder) {
        let busy = ticks.system + ticks.user + ticks.nice;
        let rest = ticks.idle + ticks.wait + ticks.irq + ticks.softirq + ticks.steal;
        let all = busy + rest;
        if self.since_boot || all <= 0.0 {
            return;
        }
        let shares = [
            (Field::CpuSystem, ticks.system),
            (Field::CpuUser, ticks.user),
            (Field::CpuNice, ticks.nice),
            (Field::CpuIdle, ticks.idle),
            (Field::CpuIowait, ticks.wait),
            (Field::CpuIrq, ticks.irq),
            (Field::CpuSoftirq, ticks.softirq),
            (Field::CpuSteal, ticks.steal),
            (Field::CpuGuest, ticks.guest.min(ticks.user)),
        ];
        for (field, part) in shares {
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
            if let Some(value) = value {
                self.state(field, value, out);
            }
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

    pub(super) fn paging(&self, paging: &Paging, page_bytes: f64, out: &mut Builder) {
        let bytes = |pages: Option<f64>| pages.map(|pages| pages * page_bytes);
        let counts = [
            (Field::Scan, paging.scans),
            (Field::AllocStall, paging.stalls),
            (Field::SwapIn, bytes(paging.swapped_in_pages)),
            (Field::SwapOut, bytes(paging.swapped_out_pages)),
            (Field::OomKills, paging.oom_kills),
            (Field::CompactStall, paging.compact_stalls),
            (Field::PagesMigrated, paging.migrated_pages),
            (Field::PageIn, bytes(paging.read_pages)),
            (Field::PageOut, bytes(paging.written_pages)),
        ];
        self.rates(&Subject::Machine, &counts, out);
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
            if let Some(value) = value.filter(|value| *value <= 100.0) {
                self.state(field, value, out);
            }
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

    pub(super) fn tcp(&self, tcp: &Tcp, out: &mut Builder) {
        let counts = [
            (Field::TcpInSegments, tcp.received),
            (Field::TcpOutSegments, tcp.sent),
            (Field::TcpActiveOpens, tcp.active_opens),
            (Field::TcpPassiveOpens, tcp.passive_opens),
            (Field::TcpRetransmits, tcp.retransmits),
        ];
        self.rates(&Subject::Machine, &counts, out);
    }

    pub(super) fn link(&self, name: &str, link: &Link, out: &mut Builder) {
        let subject = Subject::Interface(name.to_owned());
        let counts = [
            (Field::NetRxPackets, Some(link.rx_packets)),
            (Field::NetRxBytes, Some(link.rx_bytes)),
            (Field::NetTxPackets, Some(link.tx_packets)),
            (Field::NetTxBytes, Some(link.tx_bytes)),
        ];
        self.rates(&subject, &counts, out);
        // 0 stands for unknown, as loopback has it.
        if link.speed_mbit > 0.0 {
            out.put(Field::NetSpeed, &subject, self.at, link.speed_mbit * MBIT_BYTES);
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
        if let Some(threads) = threads {
            out.put(Field::ProcThreads, &subject, self.at, threads);
        }
    }
}

/// Kernel threads that do memory's and interrupts' work.
fn is_kernel_thread(name: &str) -> bool {
    const STARTS: [&str; 5] = ["khugepaged", "kcompactd", "kswapd", "ksoftirqd/", "kworker/"];
    STARTS.iter().any(|start| name.starts_with(start))
}
