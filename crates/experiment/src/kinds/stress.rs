//! Stressors: they keep one part of the machine busy for an exact time.

use crate::kind::{Demand, Kind, More, Source, Start, count, params};

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

macro_rules! takes_little_memory {
    ($($name:ident)*) => {$(
        impl Demand for $name {
            fn memory_mib(&self) -> Option<u64> {
                None
            }
        }
    )*};
}

takes_little_memory! { StressCpu StressIo StressNet StressFork StressSwitch StressRead }

impl Demand for StressVm {
    fn memory_mib(&self) -> Option<u64> {
        Some(self.workers.saturating_mul(self.mib) as u64)
    }
}

pub(super) const CPU: Kind = Kind {
    name: "stress-cpu",
    about: "Computes square roots on several threads.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: StressCpu::PARAMS,
    metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const IO: Kind = Kind {
    name: "stress-io",
    about: "Writes files and asks the kernel to write everything to disk, again and again.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: StressIo::PARAMS,
    metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const VM: Kind = Kind {
    name: "stress-vm",
    about: "Maps memory, touches a byte each stride, verifies and unmaps it, again and again.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: StressVm::PARAMS,
    metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const NET: Kind = Kind {
    name: "stress-net",
    about: "Sends small datagrams over the loopback interface and receives them (UDP).",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: StressNet::PARAMS,
    metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const FORK: Kind = Kind {
    name: "stress-fork",
    about: "Forks children that write to a few pages and end, one at a time on each thread.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: StressFork::PARAMS,
    metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const SWITCH: Kind = Kind {
    name: "stress-switch",
    about: "Pairs of threads that pass a word to and fro through pipes: each waits for the other.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: StressSwitch::PARAMS,
    metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};

pub(super) const READ: Kind = Kind {
    name: "stress-read",
    about: "Reads a file that is in the page cache, in small pieces: system calls, no disk.",
    start: Start::BuiltIn,
    huge_pages: Source::VariantOrLater,
    more: More::Nothing,
    params: StressRead::PARAMS,
    metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
    programs: &[],
};
