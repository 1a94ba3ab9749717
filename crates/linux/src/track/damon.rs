//! DAMON, through its files below `/sys/kernel/mm/damon/admin`.

use super::offers::{Refusal, writable};
use crate::root::Root;
use hugewise_core::manager::reason::SkipReason;
use std::io;

/// Folder of DAMON's threads.
const KDAMONDS: &str = "sys/kernel/mm/damon/admin/kdamonds";
/// How many of them there are: 0 while nobody uses DAMON through these files.
const COUNT: &str = "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";
/// Modules of the kernel that use DAMON for themselves; each is exclusive while enabled.
const OWNERS: [&str; 3] = ["damon_stat", "damon_reclaim", "damon_lru_sort"];

/// Whether DAMON is there and free.
pub(super) fn look(root: &Root) -> Result<(), Refusal> {
    let count = match root.read_line(COUNT) {
        Ok(count) => count,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err((SkipReason::NoMechanism, format!("/{KDAMONDS} is missing")));
        }
        Err(error) => return Err((SkipReason::NoPermission, format!("/{COUNT}: {error}"))),
    };
    for module in OWNERS {
        let enabled = root.read_line(format!("sys/module/{module}/parameters/enabled"));
        if enabled.is_ok_and(|value| value == "Y") {
            return Err((SkipReason::TrackerBusy, format!("taken by the kernel's own {module}")));
        }
    }
    if count != "0" {
        // Running or not: somebody has set it up, and is to find it as it was.
        let pid = root.read_line(format!("{KDAMONDS}/0/pid")).unwrap_or_else(|_| "?".into());
        let why = format!("set up by somebody ({count}, kdamond.0 has pid {pid}): left alone");
        return Err((SkipReason::TrackerBusy, why));
    }
    writable(root, COUNT)
}
