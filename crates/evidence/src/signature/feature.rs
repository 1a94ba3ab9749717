//! What is compared: each quantity once, with the rate from which on it matters.

use crate::diagnose::written;
use crate::recording::{Field, Unit};

/// What a feature counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// CPUs in use: a share of all of them, times their number.
    Cpus,
    /// Events in a second.
    Events,
    /// Bytes in a second.
    Bytes,
}

/// Where the values of a feature come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// CPU in programs, niced ones included.
    User,
    /// CPU in the kernel, interrupts included.
    Kernel,
    /// CPU in soft interrupts.
    Softirq,
    /// A field of the machine.
    Machine(Field),
    /// The sum over all disks, without partitions and what stands on top of disks.
    Disks(Field),
    /// The sum over all interfaces, without what stands on top of others.
    Interfaces(Field),
    /// The sum over the CPUs.
    Cpus(Field),
    /// Soft interrupts of one kind on all CPUs.
    Softirqs(&'static str),
}

/// A quantity that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Its name in JSON and in files.
    pub key: &'static str,
    /// Its name in a sentence.
    pub name: &'static str,
    /// What it counts.
    pub counts: Counts,
    /// Which events it counts: what counts the same events, as packets sent and received over the
    /// loopback, has one weight together.
    pub events: &'static str,
    /// The rate on each CPU from which on it matters.
    floor: f64,
    pub(super) origin: Origin,
}

impl Feature {
    /// The rate from which on it matters on a machine with a given number of CPUs. It is the least
    /// scale by which a feature is compared: the noise of a counter that no signature moves says
    /// nothing.
    pub fn matters(&self, cpus: u32) -> f64 {
        self.floor * f64::from(cpus.max(1))
    }

    /// A value with its unit.
    pub fn written(&self, value: f64) -> String {
        match self.counts {
            Counts::Cpus => format!("{value:.2} CPUs"),
            Counts::Events => written(Unit::PerSecond, value),
            Counts::Bytes => written(Unit::BytesPerSecond, value),
        }
    }
}

/// The share of a CPU from which on it matters what takes it.
pub const CPU_MATTERS: f64 = 0.05;

/// As many events a second on each CPU as take [`CPU_MATTERS`] of it, if each costs so much.
const fn cost_us(us: f64) -> f64 {
    CPU_MATTERS * 1e6 / us
}

// What events cost in the kernel, in microseconds: measured, see "Kernel time of events" in
// docs/measurements.md, and the thresholds of the diagnosis that end in `_cost_us`.
const FAULT: f64 = cost_us(2.4);
const FORK: f64 = cost_us(300.0);
const SWITCH: f64 = cost_us(1.9);
const PACKET: f64 = cost_us(3.0);
const HUGE_FAULT: f64 = cost_us(200.0);
const COMPACTION: f64 = cost_us(1000.0);
// A huge page made or split takes 0.26 to 0.75 ms ("Costs of actions" there), a page migrated 1/512
// of that, a page scanned by reclaim about as much as one touched by a fault is cleared.
const HUGE_ACTION: f64 = cost_us(650.0);
const MIGRATED: f64 = cost_us(1.3);
const SCANNED: f64 = cost_us(0.5);
/// A disk is busy long before a CPU is with its requests: a hard disk of 7,200 turns a minute
/// serves about 80 random requests a second, of which this is a quarter.
const DISK: f64 = 20.0;
/// Such requests of 64 KiB each: what is read ahead, or written together, is seldom less.
const DISK_BYTES: f64 = DISK * 65_536.0;
/// Full-sized frames of Ethernet.
const NET_BYTES: f64 = PACKET * 1500.0;

macro_rules! features {
    ($($key:literal $counts:ident $events:literal $floor:ident $origin:expr, $name:literal;)*) => {
        /// All of them.
        pub const FEATURES: &[Feature] = &[$(Feature {
            key: $key,
            name: $name,
            counts: Counts::$counts,
            events: $events,
            floor: $floor,
            origin: $origin,
        },)*];
    };
}

// Time stolen by the hypervisor is not the machine's doing, and time idle with a disk request
// pending vanishes as soon as somebody computes: neither adds up.
features! {
    "cpu.user_cpus" Cpus "user" CPU_MATTERS Origin::User, "CPU in programs";
    "cpu.kernel_cpus" Cpus "kernel" CPU_MATTERS Origin::Kernel, "CPU in the kernel";
    "cpu.softirq_cpus" Cpus "kernel" CPU_MATTERS Origin::Softirq, "CPU in soft interrupts";
    "tasks.created_per_s" Events "forks" FORK Origin::Machine(Field::Forks), "tasks created";
    "tasks.switches_per_s" Events "switches" SWITCH Origin::Machine(Field::ContextSwitches),
        "context switches";
    "paging.faults_per_s" Events "faults" FAULT Origin::Machine(Field::Faults), "page faults";
    "paging.freed_per_s" Events "faults" FAULT Origin::Machine(Field::PagesFreed),
        "base pages freed";
    "paging.major_faults_per_s" Events "reads" DISK Origin::Machine(Field::MajorFaults),
        "page faults that read a disk";
    "paging.in_bytes_per_s" Bytes "reads" DISK_BYTES Origin::Machine(Field::PageIn),
        "read from disks";
    "disk.reads_per_s" Events "reads" DISK Origin::Disks(Field::DiskReads), "disk reads";
    "paging.out_bytes_per_s" Bytes "writes" DISK_BYTES Origin::Machine(Field::PageOut),
        "written to disks";
    "disk.writes_per_s" Events "writes" DISK Origin::Disks(Field::DiskWrites), "disk writes";
    "net.rx_packets_per_s" Events "packets" PACKET Origin::Interfaces(Field::NetRxPackets),
        "packets received";
    "net.tx_packets_per_s" Events "packets" PACKET Origin::Interfaces(Field::NetTxPackets),
        "packets sent";
    "softnet.packets_per_s" Events "packets" PACKET Origin::Cpus(Field::SoftnetPackets),
        "packets in the receive backlog";
    "softirq.net_rx_per_s" Events "packets" PACKET Origin::Softirqs("NET_RX"),
        "soft interrupts NET_RX";
    "net.rx_bytes_per_s" Bytes "traffic" NET_BYTES Origin::Interfaces(Field::NetRxBytes),
        "received";
    "net.tx_bytes_per_s" Bytes "traffic" NET_BYTES Origin::Interfaces(Field::NetTxBytes), "sent";
    "reclaim.kswapd_scan_per_s" Events "reclaim" SCANNED Origin::Machine(Field::ScanKswapd),
        "base pages scanned by kswapd";
    "reclaim.direct_scan_per_s" Events "direct reclaim" SCANNED Origin::Machine(Field::ScanDirect),
        "base pages scanned by allocating tasks";
    "swap.in_bytes_per_s" Bytes "swap" DISK_BYTES Origin::Machine(Field::SwapIn), "swapped in";
    "swap.out_bytes_per_s" Bytes "swap" DISK_BYTES Origin::Machine(Field::SwapOut), "swapped out";
    "thp.fault_alloc_per_s" Events "huge faults" HUGE_FAULT Origin::Machine(Field::ThpFaultAlloc),
        "huge pages given by page faults";
    "thp.fault_fallback_per_s" Events "fallbacks" HUGE_FAULT
        Origin::Machine(Field::ThpFaultFallback), "faults that found no huge page";
    "thp.collapse_per_s" Events "collapses" HUGE_ACTION Origin::Machine(Field::ThpCollapse),
        "huge pages made of base pages";
    "thp.split_per_s" Events "splits" HUGE_ACTION Origin::Machine(Field::ThpSplit),
        "huge pages split";
    "compaction.stalls_per_s" Events "compaction" COMPACTION Origin::Machine(Field::CompactStall),
        "allocations that had to compact first";
    "compaction.migrated_per_s" Events "compaction" MIGRATED Origin::Machine(Field::PagesMigrated),
        "base pages migrated";
}

/// The place of a feature in [`FEATURES`].
pub fn place(key: &str) -> Option<usize> {
    FEATURES.iter().position(|feature| feature.key == key)
}
