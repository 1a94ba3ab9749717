//! Identical programs side by side.

use super::groups::EXECUTABLE;
use crate::kind::{Demand, Kind, count, params};

params! {
    /// Parameters of `siblings`.
    Siblings {
        programs: u64 = count(3, 1, 8), "Programs that are alike.";
        mib: u64 = count(256, 2, 1 << 20), "Memory of each, MiB.";
        work_mops: u64 = count(50, 1, 1 << 20),
            "Updates of random pages that each has to do, million.";
    }
}

impl Demand for Siblings {
    fn memory_mib(&self) -> Option<u64> {
        Some(self.programs * self.mib)
    }
}

pub(super) const SIBLINGS: Kind = Kind {
    name: "siblings",
    about: "Identical programs update random pages: who gets huge pages, and who is done when.",
    params: Siblings::PARAMS,
    metrics: &[
        "jain",
        "solve_s",
        "finish_s",
        "first.finish_s",
        "fill_s",
        "cgroup_mib",
        "huge_mib",
        "manager_cpu_s",
        "promoted",
        "failed",
    ],
    ..EXECUTABLE
};
