//! DAMON: whether it is there, and who has it. Never taken from its user.

use super::finding::{Finding, absent, named};
use crate::root::Root;
use std::io;

const ADMIN: &str = "sys/kernel/mm/damon/admin/kdamonds";
/// Modules of the kernel that use DAMON for themselves; each is exclusive while enabled.
const OWNERS: [&str; 3] = ["damon_stat", "damon_reclaim", "damon_lru_sort"];

pub(super) fn look(root: &Root) -> Finding {
    let count = match root.read_line(format!("{ADMIN}/nr_kdamonds")) {
        Ok(text) => text.parse::<u32>().unwrap_or(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let why = "no CONFIG_DAMON_SYSFS (5.18 and later)";
            return absent(root, "sys/kernel/mm", why);
        }
        Err(error) => return Finding::refused(named(&error)),
    };
    for module in OWNERS {
        let enabled = root.read_line(format!("sys/module/{module}/parameters/enabled"));
        if enabled.is_ok_and(|value| value == "Y") {
            return Finding::refused(format!("taken by the kernel's own {module}"));
        }
    }
    let mut hidden = None;
    // The count is a kernel's number, the bound only keeps a broken tree from costing time.
    for n in 0..count.min(1024) {
        match root.read_line(format!("{ADMIN}/{n}/state")) {
            Ok(state) if state == "on" => return taken(root, n),
            Ok(_) => {}
            Err(error) => hidden = Some(named(&error)),
        }
    }
    match hidden {
        Some(why) => Finding::unknown(format!("somebody set it up; its state: {why}")),
        None if count > 0 => Finding::with(format!("free, but set up by somebody ({count})")),
        None => Finding::with("free"),
    }
}

fn taken(root: &Root, n: u32) -> Finding {
    let pid = root.read_line(format!("{ADMIN}/{n}/pid")).unwrap_or_else(|_| "?".into());
    let operations = root.read_line(format!("{ADMIN}/{n}/contexts/0/operations"));
    let watches = operations.map(|word| format!(", watches {word}")).unwrap_or_default();
    Finding::refused(format!("in use: kdamond {n} runs (pid {pid}{watches}); left alone"))
}
