//! The files of DAMON, of which a machine has one set: who has it.

use crate::probe::why_not_writable;
use crate::root::Root;
use hugewise_manager::reason::SkipReason;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Folder of DAMON's threads.
pub(crate) const KDAMONDS: &str = "sys/kernel/mm/damon/admin/kdamonds";
/// How many of them there are: 0 while nobody uses DAMON through these files.
pub(crate) const COUNT: &str = "sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds";
/// Modules of the kernel that use DAMON for themselves; each is exclusive while enabled.
const OWNERS: [&str; 3] = ["damon_stat", "damon_reclaim", "damon_lru_sort"];
/// The interval at which DAMON looks for changed mappings, us: about a second, and nobody else's
/// number. Who finds it knows whose DAMON this is.
pub(crate) const MARK_US: &str = "1000193";

/// Whether a file is the number of DAMON's threads.
pub(crate) fn is_count(file: &str) -> bool {
    file == COUNT
}

/// Whether what is set up there is what hugewise sets up: it bears the mark, or nobody has come so
/// far as to name what is watched.
pub(crate) fn is_ours(root: &Root) -> bool {
    let read = |file: &str| root.read_line(format!("{KDAMONDS}/{file}")).ok();
    let contexts = read("0/contexts/nr_contexts");
    let targets = read("0/contexts/0/targets/nr_targets");
    let mark = read("0/contexts/0/monitoring_attrs/intervals/update_us");
    let alone = read("nr_kdamonds").is_some_and(|count| count == "1");
    let begun = read("0/state").is_some_and(|state| state == "off")
        && (contexts.is_some_and(|n| n == "0") || targets.is_some_and(|n| n == "0"));
    alone && (begun || mark.is_some_and(|mark| mark == MARK_US))
}

/// Stops what was started, so that the number of threads can be set: it cannot while one runs.
pub(crate) fn stop(root: &Root) {
    let _ = write(root, "0/state", "off");
}

/// Whether nobody uses DAMON.
///
/// # Errors
/// The reason, and what says so.
pub(crate) fn is_free(root: &Root) -> Result<(), (SkipReason, String)> {
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
        let why = format!("set up by somebody ({count} in all, the first has pid {pid})");
        return Err((SkipReason::TrackerBusy, why));
    }
    match why_not_writable(root, COUNT) {
        Some(why) => Err((SkipReason::NoPermission, why)),
        None => Ok(()),
    }
}

/// Writes a file below the folder of DAMON's threads.
///
/// # Errors
/// As the system says.
pub(crate) fn write(root: &Root, file: &str, value: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut open =
        options.write(true).truncate(true).open(root.path(format!("{KDAMONDS}/{file}")))?;
    open.write_all(value.as_bytes())
}
