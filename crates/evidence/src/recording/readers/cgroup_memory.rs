//! Memory of cgroups: limits, use, how often they were at the limit, and what it cost. Version 2
//! (`Documentation/admin-guide/cgroup-v2.rst`) and version 1 (`cgroup-v1/memory.rst`).

use super::capture::cgroup_path;
use super::prelude::*;
use crate::recording::cgroup_file::{CGROUPS, folder_in};

/// From here on a limit of version 1 is none: `PAGE_COUNTER_MAX` in bytes is just below 2^63.
const NO_LIMIT: u64 = 1 << 60;

/// The cgroup of a file: by its own path, else by the folder in which the command was typed, or
/// the container in which it ran.
pub(super) fn subject(path: &str, out: &Builder) -> Subject {
    let own = folder_in(path).or_else(|| folder_in(out.latest_command()));
    let folder = own.or_else(|| out.folder()).and_then(|folder| folder.strip_prefix(CGROUPS));
    let cgroup = folder.map_or("a cgroup", cgroup_path);
    let inside = out.container().map(|name| format!("of {name}"));
    let inside = inside.filter(|_| matches!(cgroup, "/" | "a cgroup"));
    Subject::Cgroup(inside.unwrap_or_else(|| cgroup.to_owned()))
}

/// A file of one value, or a line about pressure.
pub(super) fn file(path: &str, value: &str, out: &mut Builder) {
    let cgroup = subject(path, out);
    let name = path.rsplit('/').next().unwrap_or(path);
    if name == "memory.pressure" {
        return pressure(&cgroup, value, out);
    }
    let Some(amount) = count(value) else { return };
    let field = match name {
        "memory.max" | "memory.limit_in_bytes" => Field::CgroupMemoryMax,
        "memory.high" => Field::CgroupMemoryHigh,
        "memory.current" | "memory.usage_in_bytes" => Field::CgroupMemory,
        "memory.failcnt" => Field::CgroupMaxHitCount,
        _ => return,
    };
    if name == "memory.failcnt" || amount < NO_LIMIT {
        out.put(field, &cgroup, None, amount as f64);
    }
}

fn pressure(cgroup: &Subject, line: &str, out: &mut Builder) {
    let words = words(line);
    let share = words.iter().find_map(|word| number(word.strip_prefix("avg10=")?));
    if let (Some(&"some"), Some(percent)) = (words.first(), share.filter(|share| *share <= 100.0)) {
        out.put(Field::CgroupPsiMemory, cgroup, None, percent);
    }
}

/// A line of `memory.events` or `memory.stat`.
pub(super) fn pair(cgroup: &Subject, key: &str, value: u64, out: &mut Builder) {
    let field = match key {
        "max" => Field::CgroupMaxHitCount,
        "high" => Field::CgroupHighHitCount,
        "oom_kill" => Field::OomKillCount,
        // Before Linux 5.9 and in version 1 there is one count for all.
        "workingset_refault_file" | "workingset_refault" => Field::CgroupRefaultCount,
        // Version 1 calls it `rss`; both are what programs map (`NR_ANON_MAPPED`).
        "anon" | "rss" => Field::Anon,
        "active_anon" => Field::AnonActive,
        "inactive_anon" => Field::AnonInactive,
        "shmem" => Field::Shmem,
        _ => return,
    };
    out.put(field, cgroup, None, value as f64);
}

/// Names of `memory.stat` that come in this order at its start, or that it alone has.
pub(super) fn begins_stat(key: &str, next: &str) -> bool {
    let pairs = [("anon", "file"), ("anon", "kernel"), ("file", "kernel"), ("cache", "rss")];
    pairs.contains(&(key, next)) || (key.starts_with("total_") && next.starts_with("total_"))
}
