//! Stressors: they keep one part of the machine busy for an exact time.

use crate::lab::kind::{Default, Kind, Param};

const WORKERS: Param =
    Param { name: "workers", default: Default::Count(2, 1, 1024), help: "Threads that work." };

/// See the module's text.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "stress-cpu",
        about: "Computes square roots on several threads.",
        params: &[WORKERS],
        metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
        programs: &[],
    },
    Kind {
        name: "stress-io",
        about: "Writes files and asks the kernel to write everything to disk, again and again.",
        params: &[
            WORKERS,
            Param {
                name: "file_kib",
                default: Default::Count(1024, 4, 1 << 20),
                help: "Size of each worker's file, KiB.",
            },
        ],
        metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
        programs: &[],
    },
    Kind {
        name: "stress-vm",
        about: "Maps memory, touches a byte each stride, verifies and unmaps it, again and again.",
        params: &[
            WORKERS,
            Param {
                name: "mib",
                default: Default::Count(256, 2, 1 << 20),
                help: "Memory of each worker, MiB.",
            },
            Param {
                name: "stride_kib",
                default: Default::Count(4, 1, 1 << 20),
                help: "Distance of two touches, KiB.",
            },
        ],
        metrics: &["ops_per_s", "wall_s", "fill_s", "rss_mib", "cgroup_mib", "huge_mib"],
        programs: &[],
    },
];
