//! Stressors: they keep one part of the machine busy for an exact time.

use super::groups::{BUILT_IN, FILLED, joined};
use crate::kind::{Demand, Kind, Param, count, no_demands, params};

params! {
    /// Parameters of `stress-cpu`.
    StressCpu {
        workers: usize = count(2, 1, 1024), "Threads that work.";
    }
}

params! {
    /// Parameters of `stress-io`.
    StressIo {
        workers: usize = count(2, 1, 1024), "Threads that work.";
        file_kib: usize = count(1024, 4, 1 << 20), "Size of each worker's file, KiB.";
    }
}

params! {
    /// Parameters of `stress-vm`.
    StressVm {
        workers: usize = count(2, 1, 1024), "Threads that work.";
        mib: usize = count(256, 2, 1 << 20), "Memory of each worker, MiB.";
        stride_kib: usize = count(4, 1, 1 << 20), "Distance of two touches, KiB.";
    }
}

params! {
    /// Parameters of `stress-net`.
    StressNet {
        workers: usize = count(2, 1, 1024), "Threads that work.";
        datagram_bytes: usize = count(64, 8, 1400), "Size of a datagram.";
    }
}

params! {
    /// Parameters of `stress-fork`.
    StressFork {
        workers: usize = count(2, 1, 1024), "Threads that work, each with one child at a time.";
        pages: usize = count(16, 1, 4096), "Base pages that each child writes to.";
    }
}

params! {
    /// Parameters of `stress-switch`.
    StressSwitch {
        workers: usize = count(2, 1, 1024), "Pairs of threads that wake each other.";
    }
}

params! {
    /// Parameters of `stress-read`.
    StressRead {
        workers: usize = count(2, 1, 1024), "Threads that work.";
        file_kib: usize = count(256, 4, 1 << 20), "Size of the file, KiB.";
        read_bytes: usize = count(64, 8, 1 << 20), "Size of a read.";
    }
}

no_demands! { StressCpu StressIo StressNet StressFork StressSwitch StressRead }

impl Demand for StressVm {
    fn memory_mib(&self) -> Option<u64> {
        Some(self.workers.saturating_mul(self.mib) as u64)
    }
}

const fn stressor(name: &'static str, about: &'static str, params: &'static [Param]) -> Kind {
    Kind { name, about, params, metrics: joined![&["ops_per_s", "wall_s"], FILLED], ..BUILT_IN }
}

pub(super) const CPU: Kind =
    stressor("stress-cpu", "Computes square roots on several threads.", StressCpu::PARAMS);

pub(super) const IO: Kind = stressor(
    "stress-io",
    "Writes files and asks the kernel to write everything to disk, again and again.",
    StressIo::PARAMS,
);

pub(super) const VM: Kind = stressor(
    "stress-vm",
    "Maps memory, touches a byte each stride, verifies and unmaps it, again and again.",
    StressVm::PARAMS,
);

pub(super) const NET: Kind = stressor(
    "stress-net",
    "Sends small datagrams over the loopback interface and receives them (UDP).",
    StressNet::PARAMS,
);

pub(super) const FORK: Kind = stressor(
    "stress-fork",
    "Forks children that write to a few pages and end, one at a time on each thread.",
    StressFork::PARAMS,
);

pub(super) const SWITCH: Kind = stressor(
    "stress-switch",
    "Pairs of threads that pass a word to and fro through pipes: each waits for the other.",
    StressSwitch::PARAMS,
);

pub(super) const READ: Kind = stressor(
    "stress-read",
    "Reads a file that is in the page cache, in small pieces: system calls, no disk.",
    StressRead::PARAMS,
);
