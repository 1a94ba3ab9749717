//! Which files a sample has.

use std::collections::VecDeque;
use std::fs;

use crate::hugetlb::pools;
use hugewise_linux::root::Root;

/// Files of the whole machine, beside [`FAST`].
pub(super) const FILES: [&str; 28] = [
    "/proc/diskstats",
    "/proc/net/dev",
    "/proc/net/softnet_stat",
    "/proc/net/snmp",
    "/proc/net/netstat",
    "/proc/interrupts",
    "/proc/sysvipc/shm",
    "/proc/version",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/kernel/shmall",
    "/proc/sys/net/core/somaxconn",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/zone_reclaim_mode",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_expire_centisecs",
    "/proc/sys/vm/dirty_writeback_centisecs",
    "/proc/sys/vm/watermark_scale_factor",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/defrag_mode",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/vm/vfs_cache_pressure",
];

/// Counters of the whole machine that move within a second, and cost little to read.
pub(super) const FAST: [&str; 9] = [
    "/proc/stat",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/buddyinfo",
    "/proc/loadavg",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/softirqs",
];

/// How long tasks waited for a CPU.
pub(super) const SCHEDSTAT: &str = "/proc/schedstat";

/// Settings that a kernel without HugeTLB does not have; as above, where they are there.
const HUGETLB: [&str; 2] =
    ["/proc/sys/vm/hugetlb_shm_group", "/proc/sys/vm/nr_overcommit_hugepages"];

/// Files of each interface.
const OF_INTERFACE: [&str; 3] = ["operstate", "speed", "duplex"];
/// Most interfaces: a host of containers has one for each.
const INTERFACES_MAX: usize = 1000;

const THP: &str = "sys/kernel/mm/transparent_hugepage";
/// What is taken of the counters by size: the rest is in `/proc/vmstat`, too.
const THP_COUNTS: [&str; 2] = ["nr_anon", "nr_anon_partially_mapped"];

const CGROUPS: &str = "sys/fs/cgroup";
/// Where version 1 has CPU quotas: together with accounting on most systems.
const CPU_FOLDERS: [&str; 2] = ["cpu,cpuacct", "cpu"];
/// Most cgroups of a sample.
const CGROUPS_MAX: usize = 200;
/// How far below the root they may be.
const CGROUP_DEPTH_MAX: usize = 4;
/// Most folders that are searched for them.
const FOLDERS_MAX: usize = 4000;

/// The settings for huge pages that this kernel has, and its pools of HugeTLB pages.
pub(super) fn settings(root: &Root) -> Vec<String> {
    let mut files: Vec<String> =
        root.names(THP, false).iter().map(|file| format!("/{THP}/{file}")).collect();
    for folder in root.names(THP, true) {
        let path = format!("{THP}/{folder}");
        files.extend(root.names(&path, false).iter().map(|file| format!("/{path}/{file}")));
        for count in THP_COUNTS {
            let file = format!("{path}/stats/{count}");
            if root.has(&file) {
                files.push(format!("/{file}"));
            }
        }
    }
    files.extend(HUGETLB.map(str::to_owned));
    files.extend(pools::files(root));
    files
}

/// Files of all interfaces.
pub(super) fn interfaces(root: &Root) -> Vec<String> {
    // They are symbolic links, and so neither files nor folders.
    let entries = fs::read_dir(root.path("sys/class/net")).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok()).take(INTERFACES_MAX);
    let mut names: Vec<String> = names.collect();
    names.sort();
    let files = |name: String| OF_INTERFACE.map(|file| format!("/sys/class/net/{name}/{file}"));
    names.into_iter().flat_map(files).collect()
}

/// Files of cgroups.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    pub(super) files: Vec<String>,
    /// Cgroups that are there and were not taken.
    pub(super) left_out: usize,
}

/// Files of the cgroups nearest to the root.
pub(super) fn cgroups(root: &Root) -> Cgroups {
    let mut found = Cgroups::default();
    if root.has(format!("{CGROUPS}/cgroup.controllers")) {
        walk(root, CGROUPS, &["cpu.stat", "memory.stat"], &mut found);
        return found;
    }
    // Version 1, whose memory.stat has no word on reclaim, with version 2 beside it.
    let cpu = CPU_FOLDERS.iter().map(|folder| format!("{CGROUPS}/{folder}"));
    if let Some(cpu) = cpu.into_iter().find(|folder| root.has(folder)) {
        walk(root, &cpu, &["cpu.stat"], &mut found);
    }
    let unified = format!("{CGROUPS}/unified");
    if root.has(format!("{unified}/cgroup.controllers")) {
        walk(root, &unified, &["cpu.stat", "memory.stat"], &mut found);
    }
    found
}

fn walk(root: &Root, top: &str, wanted: &[&str], found: &mut Cgroups) {
    let mut open = VecDeque::from([(top.to_owned(), 0_usize)]);
    let mut count = 0_usize;
    while let Some((folder, depth)) = open.pop_front() {
        count += 1;
        if count > CGROUPS_MAX {
            found.left_out += 1;
        } else {
            found.files.extend(wanted.iter().map(|file| format!("/{folder}/{file}")));
        }
        if depth >= CGROUP_DEPTH_MAX || count + open.len() > FOLDERS_MAX {
            continue;
        }
        let below = root.names(&folder, true);
        open.extend(below.into_iter().map(|name| (format!("{folder}/{name}"), depth + 1)));
    }
}
