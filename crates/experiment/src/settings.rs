//! Kernel settings that an experiment may change, and which of them touch everybody's programs.

use hugewise_base::owner::Owner;
use hugewise_base::parse::pool_path;
use hugewise_manager::ownership::{self, MIN_FREE, THP_DIR};

/// Directory, below that of the state, in which the manager of a variant keeps its own.
pub const MANAGER: &str = "lab-manager";

/// Whose settings an experiment that was killed has left, and where below the state directory their
/// trails are. The manager's go back first, as they were changed last.
pub const LEFT: [(Owner, &str); 2] = [(ownership::OWNER, MANAGER), (OWNER, "")];

/// `lab run`: what a variant asks for, for the length of a run.
pub const OWNER: Owner = Owner {
    trail: "lab.jsonl",
    owns: |file| file == MIN_FREE || pool_path::is_size(file) || may_own(file),
    over_reboots: false,
};

/// Settings below `/proc/sys/vm` that matter for huge pages.
const VM: [&str; 9] = [
    "compaction_proactiveness",
    "defrag_mode",
    "extfrag_threshold",
    "nr_overcommit_hugepages",
    "overcommit_memory",
    "swappiness",
    "vfs_cache_pressure",
    "watermark_boost_factor",
    "watermark_scale_factor",
];

/// Settings below the kernel's directory for transparent huge pages.
const THP: [&str; 10] = [
    "enabled",
    "defrag",
    "shmem_enabled",
    "use_zero_page",
    "khugepaged/alloc_sleep_millisecs",
    "khugepaged/defrag",
    "khugepaged/max_ptes_none",
    "khugepaged/max_ptes_shared",
    "khugepaged/pages_to_scan",
    "khugepaged/scan_sleep_millisecs",
];

/// Settings of same-page merging (KSM), and where they are. Not `merge_across_nodes` and
/// `max_page_sharing`, which the kernel takes only while nothing is merged: they could not go back
/// (kernel 6.18, `Documentation/admin-guide/mm/ksm.rst`).
const KSM: [&str; 6] =
    ["advisor_mode", "pages_to_scan", "run", "sleep_millisecs", "smart_scan", "use_zero_pages"];
const KSM_DIR: &str = "sys/kernel/mm/ksm";

/// Whether the kernel counts what programs wait for, in those that start from then on (Linux 5.14).
const DELAY_ACCOUNTING: &str = "kernel.task_delayacct";
const DELAY_ACCOUNTING_FILE: &str = "proc/sys/kernel/task_delayacct";

/// Limits and weights of a cgroup that can be put back by writing what stood there: one line each
/// (kernel 6.18, `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1`). `io.max` and the
/// throttles of `blkio` have a line a device, and one that is missing cannot be written back.
const CGROUP: [&str; 8] = [
    "cgroup.freeze",
    "cpu.cfs_quota_us",
    "cpu.max",
    "cpu.shares",
    "cpu.weight",
    "io.weight",
    "memory.high",
    "memory.soft_limit_in_bytes",
];

/// Where cgroups are, below the root.
const CGROUP_DIR: &str = "sys/fs/cgroup";

/// The file of a setting, below the root; `None` where an experiment may not change it.
///
/// A key is a path below `/sys/kernel/mm/transparent_hugepage`, as `khugepaged/max_ptes_none` or
/// `hugepages-64kB/enabled`, `vm.` with the name of a sysctl, `ksm/` with the name of a file below
/// `/sys/kernel/mm/ksm`, or `cgroup/` with the path of a limit below `/sys/fs/cgroup`, as
/// `cgroup/batch.slice/cpu.max`.
pub fn file(key: &str) -> Option<String> {
    if let Some(name) = key.strip_prefix("vm.") {
        return VM.contains(&name).then(|| format!("proc/sys/vm/{name}"));
    }
    if key == DELAY_ACCOUNTING {
        return Some(DELAY_ACCOUNTING_FILE.into());
    }
    if let Some(name) = key.strip_prefix("ksm/") {
        return KSM.contains(&name).then(|| format!("{KSM_DIR}/{name}"));
    }
    if let Some(path) = key.strip_prefix("cgroup/") {
        return is_limit(path).then(|| format!("{CGROUP_DIR}/{path}"));
    }
    (THP.contains(&key) || of_size(key)).then(|| format!("{THP_DIR}/{key}"))
}

/// The keys that [`file`] knows, without those of each size of pages.
pub fn keys() -> impl Iterator<Item = String> {
    let vm = VM.iter().map(|name| format!("vm.{name}"));
    let ksm = KSM.iter().map(|name| format!("ksm/{name}"));
    let others = [DELAY_ACCOUNTING].into_iter().chain(THP).map(str::to_owned);
    others.chain(vm).chain(ksm)
}

/// `batch.slice/cpu.max` and the like: of a cgroup that is not the root, and straight on.
fn is_limit(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let known = parts.next().is_some_and(|name| CGROUP.contains(&name));
    let (mut groups, mut straight) = (0_u32, true);
    for part in parts {
        groups += 1;
        straight &= !part.is_empty() && part != "." && part != "..";
        straight &= !part.contains(char::is_control);
    }
    known && groups > 0 && straight
}

/// `hugepages-64kB/enabled` and the like.
fn of_size(key: &str) -> bool {
    let size = key.strip_prefix("hugepages-").and_then(|rest| rest.split_once("kB/"));
    size.is_some_and(|(size, name)| {
        !size.is_empty()
            && size.bytes().all(|b| b.is_ascii_digit())
            && ["enabled", "shmem_enabled"].contains(&name)
    })
}

/// Whether a setting changes what faults of programs do that are no part of the experiment, or how
/// the kernel deals with all memory: those need leave.
///
/// khugepaged's do not: they change how soon and where programs get huge pages that want them
/// anyway (or all, where the machine says `always`), not what a fault does. Neither do `HugeTLB`
/// pools, whose memory is taken from what is free.
pub fn is_machine_wide(key: &str) -> bool {
    let everywhere = ["defrag", "use_zero_page", DELAY_ACCOUNTING].contains(&key);
    let of_all = key.starts_with("vm.") || key.starts_with("ksm/");
    everywhere || of_all || key.ends_with("enabled")
}

/// Whether this is the file of a setting that [`file()`] knows.
fn may_own(path: &str) -> bool {
    let thp = path.strip_prefix(THP_DIR).and_then(|rest| rest.strip_prefix('/'));
    let vm = path.strip_prefix("proc/sys/vm/");
    let ksm = path.strip_prefix(KSM_DIR).and_then(|rest| rest.strip_prefix('/'));
    let cgroup = path.strip_prefix(CGROUP_DIR).and_then(|rest| rest.strip_prefix('/'));
    path == DELAY_ACCOUNTING_FILE
        || thp.is_some_and(|key| file(key).is_some())
        || vm.is_some_and(|name| VM.contains(&name))
        || ksm.is_some_and(|name| KSM.contains(&name))
        || cgroup.is_some_and(is_limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_settings_have_a_file_and_no_others() {
        let none = file("khugepaged/max_ptes_none").expect("known");
        assert_eq!(none, "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none");
        assert_eq!(file("vm.swappiness").as_deref(), Some("proc/sys/vm/swappiness"));
        assert!(file("hugepages-64kB/enabled").is_some_and(|path| may_own(&path)));
        for key in [
            "vm.panic_on_oom",
            "ksm/merge_across_nodes",
            "../x",
            "hugepages-kB/enabled",
            "hugepages-6/4kB/enabled",
        ] {
            assert_eq!(file(key), None, "{key}");
        }
        assert_eq!(file("ksm/run").as_deref(), Some("sys/kernel/mm/ksm/run"));
        assert!(!may_own("sys/kernel/mm/ksm/max_page_sharing"));
        assert!(!may_own("proc/sys/vm/panic_on_oom") && !may_own("etc/passwd"));
        let quota = file("cgroup/cpu/batch/cpu.cfs_quota_us").expect("a limit");
        assert_eq!(quota, "sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us");
        assert!(may_own(&quota) && !is_machine_wide("cgroup/batch.slice/cpu.max"));
        for path in ["cpu.max", "a/../cpu.max", "a//cpu.max", "a/./cpu.max", "a/cgroup.procs", ""] {
            assert_eq!(file(&format!("cgroup/{path}")), None, "{path}");
            assert!(!may_own(&format!("sys/fs/cgroup/{path}")), "{path}");
        }
        for key in keys() {
            assert!(file(&key).is_some_and(|path| may_own(&path)), "{key}");
        }
    }

    #[test]
    fn switches_touch_everybody() {
        assert!(is_machine_wide("enabled") && is_machine_wide("hugepages-64kB/enabled"));
        assert!(is_machine_wide("defrag") && is_machine_wide("use_zero_page"));
        assert!(is_machine_wide("ksm/run") && is_machine_wide("ksm/pages_to_scan"));
        assert!(!is_machine_wide("khugepaged/defrag"));
        assert!(is_machine_wide("vm.swappiness") && !is_machine_wide("khugepaged/pages_to_scan"));
    }
}
