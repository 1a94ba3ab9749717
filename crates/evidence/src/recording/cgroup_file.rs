//! Files of cgroups, by their names: they are shown with their path, below a heading, or by a
//! command that was typed in their folder.

/// Where cgroups are mounted.
pub const CGROUPS: &str = "/sys/fs/cgroup";

/// What such a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One line with a value.
    Value,
    /// Lines with a name and a value.
    Pairs,
    /// Lines about pressure.
    Pressure,
}

/// What a file of this path has, where it is one of a cgroup's: of any folder below the mount, or
/// without a folder.
pub fn shape(path: &str) -> Option<Shape> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if !(folder.is_empty() || folder.starts_with(CGROUPS)) {
        return None;
    }
    Some(match name {
        "memory.max"
        | "memory.high"
        | "memory.low"
        | "memory.min"
        | "memory.current"
        | "memory.peak"
        | "memory.swap.max"
        | "memory.swap.current"
        | "memory.limit_in_bytes"
        | "memory.usage_in_bytes"
        | "memory.max_usage_in_bytes"
        | "memory.soft_limit_in_bytes"
        | "memory.memsw.limit_in_bytes"
        | "memory.memsw.usage_in_bytes"
        | "memory.failcnt"
        | "memory.swappiness"
        | "cpu.max"
        | "cpu.weight"
        | "cpu.shares"
        | "cpu.cfs_quota_us"
        | "cpu.cfs_period_us"
        | "pids.max"
        | "pids.current" => Shape::Value,
        "memory.events"
        | "memory.events.local"
        | "memory.stat"
        | "cpu.stat"
        | "cpu.stat.local"
        | "memory.oom_control" => Shape::Pairs,
        "memory.pressure" | "io.pressure" | "cpu.pressure" => Shape::Pressure,
        _ => return None,
    })
}

/// The cgroup's folder in a prompt or in what was typed: `root@db1:/sys/fs/cgroup/jobs#`,
/// `cd /sys/fs/cgroup/jobs`.
pub(crate) fn folder_in(text: &str) -> Option<&str> {
    let from = text.find(CGROUPS)?;
    let rest = text.get(from..)?;
    let end = rest.find(|c: char| c.is_whitespace() || "#$;&|>]".contains(c));
    let path = rest.get(..end.unwrap_or(rest.len()))?.trim_end_matches('/');
    let named = shape(path).and_then(|_| path.rsplit_once('/'));
    Some(named.map_or(path, |(folder, _)| folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders() {
        assert_eq!(shape("memory.max"), Some(Shape::Value));
        assert_eq!(shape("/sys/fs/cgroup/a/memory.stat"), Some(Shape::Pairs));
        assert_eq!(shape("/home/a/memory.stat"), None);
        assert_eq!(shape("/proc/pressure/memory"), None);
        for (text, folder) in [
            ("root@a:/sys/fs/cgroup/x.slice# head memory.max", "/sys/fs/cgroup/x.slice"),
            ("cd /sys/fs/cgroup/memory/docker/8f1e", "/sys/fs/cgroup/memory/docker/8f1e"),
            ("cat /sys/fs/cgroup/x/memory.max", "/sys/fs/cgroup/x"),
        ] {
            assert_eq!(folder_in(text), Some(folder), "{text}");
        }
        assert_eq!(folder_in("cat memory.max"), None);
    }
}
