//! Cgroups: throttling by a CPU quota, reclaim at a memory limit.

use super::files::Files;
use super::previous::Now;
use crate::recording::{Field, Subject};
use hugewise_base::parse::vmstat;

const MOUNT: &str = "/sys/fs/cgroup";

/// Folders of version 1 controllers below the mount, and of version 2 beside them.
const FOLDERS: [&str; 6] =
    ["/cpu,cpuacct", "/cpuacct,cpu", "/cpu", "/cpuacct", "/memory", "/unified"];

pub(super) fn read(files: &mut Files<'_>, now: &mut Now<'_>) {
    for (rest, bytes) in files.below(MOUNT) {
        let Some((folder, file)) = rest.rsplit_once('/') else { continue };
        if !matches!(file, "cpu.stat" | "memory.stat") {
            continue;
        }
        let cgroup = path(folder);
        let stat = vmstat::parse(&String::from_utf8_lossy(bytes)).value;
        let subject = Subject::Cgroup(cgroup.to_owned());
        if file == "memory.stat" {
            now.rate(Field::CgroupScanDirect, &subject, stat.get("pgscan_direct"), 1.0);
        } else if let (Some(periods), Some(throttled)) =
            (stat.get("nr_periods"), stat.get("nr_throttled"))
        {
            throttling(now, &subject, cgroup, (periods, throttled));
        }
    }
}

/// The cgroup's own path, without the folder of the hierarchy that it was read in.
pub(in crate::recording::readers) fn path(folder: &str) -> &str {
    let below = FOLDERS.iter().find_map(|hierarchy| {
        folder.strip_prefix(hierarchy).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    Some(below.unwrap_or(folder)).filter(|path| !path.is_empty()).unwrap_or("/")
}

/// Without a quota there are no periods, and nothing to say.
fn throttling(now: &mut Now<'_>, subject: &Subject, cgroup: &str, counts: (u64, u64)) {
    let before = now.before.cgroups.get(cgroup).copied();
    now.counts.cgroups.insert(cgroup.to_owned(), counts);
    let Some(before) = before else { return };
    let grown = (counts.0.checked_sub(before.0), counts.1.checked_sub(before.1));
    if let (Some(periods @ 1..), Some(throttled)) = grown {
        let percent = throttled as f64 / periods as f64 * 100.0;
        now.state(Field::CgroupThrottled, subject, percent.min(100.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_hierarchy() {
        for (folder, cgroup) in [
            ("", "/"),
            ("/cpu", "/"),
            ("/cpu/jobs/a", "/jobs/a"),
            ("/cpu,cpuacct/jobs", "/jobs"),
            ("/unified/x", "/x"),
            ("/system.slice/redis.service", "/system.slice/redis.service"),
            ("/cpus/x", "/cpus/x"),
        ] {
            assert_eq!(path(folder), cgroup, "{folder}");
        }
    }
}
