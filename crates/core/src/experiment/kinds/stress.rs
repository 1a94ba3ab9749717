//! Stressors: they keep one part of the machine busy for an exact time.

use crate::experiment::kind::{Demand, Kind, More, Source, Start, count, params};

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

impl Demand for StressCpu {
    fn memory_mib(&self) -> Option<u64> {
        None
    }
}

impl Demand for StressIo {
    fn memory_mib(&self) -> Option<u64> {
        None
    }
}

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
