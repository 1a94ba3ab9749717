//! Captured trees of kernels that are not this one, and children that misbehave.

use super::*;
use crate::machine;
use hugewise_base::units::Geometry;
use hugewise_manager::snapshot::SizeCollapses;
use hugewise_scratch::Scratch;
use std::path::Path;
use std::time::{Duration, Instant};

const THP: &str = "sys/kernel/mm/transparent_hugepage";

/// A directory that looks like the root of some machine.
struct Tree(Scratch);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(Scratch::new());
        for (path, text) in files {
            tree.add(path, text);
        }
        tree
    }

    fn add(&self, path: &str, text: &str) -> &Self {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("mkdir");
        std::fs::write(path, text).expect("write");
        self
    }

    fn probe(&self) -> Features {
        // A program that does not exist: on a tree it must not even be tried.
        run(&Root::at(&self.0), &child("/does/not/exist"))
    }
}

fn child(program: &str) -> ProbeChild {
    let time_limit = Duration::from_millis(200);
    ProbeChild { program: Path::new(program).into(), args: vec![], time_limit }
}

fn machine(release: &str) -> Tree {
    let tree = Tree::new(&[
        ("proc/sys/kernel/osrelease", release),
        ("proc/version", "Linux version\n"),
        ("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n"),
        ("proc/self/uid_map", "         0          0 4294967295\n"),
        ("sys/kernel/mm/ksm/run", "0\n"),
        ("proc/sys/vm/min_free_kbytes", "67584\n"),
    ]);
    for file in ["khugepaged/max_ptes_none", "khugepaged/scan_sleep_millisecs"] {
        tree.add(&format!("{THP}/{file}"), "511\n");
    }
    tree.add(&format!("{THP}/enabled"), "[always] madvise never\n");
    tree.add(&format!("{THP}/defrag"), "always defer defer+madvise [madvise] never\n");
    tree.add(&format!("{THP}/hpage_pmd_size"), "2097152\n");
    tree
}

fn state(features: &Features, key: &str) -> State {
    features.mechanism(key).map(|m| m.state.clone()).expect("every key is in the table")
}

fn why(features: &Features, key: &str) -> String {
    match state(features, key) {
        State::Present => panic!("{key} is present"),
        State::Absent(why) | State::Refused(why) | State::Unknown(why) => why,
    }
}

#[test]
fn keys_are_unique_and_every_one_is_looked_at() {
    let features = machine("6.18.44").probe();
    let mut keys: Vec<_> = features.mechanisms.iter().map(|m| m.key).collect();
    for mechanism in &features.mechanisms {
        assert_ne!(mechanism.state, State::Unknown("not looked at".into()), "{}", mechanism.key);
    }
    keys.sort_unstable();
    let count = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

#[test]
fn an_empty_tree_is_unknown_and_not_absent() {
    let features = Tree::new(&[("proc/none", "")]).probe();
    assert_eq!(features.kernel_release, None);
    assert_eq!(features.kernel_version, None);
    assert_eq!((features.thp_mode, features.hypervisor), (None, None));
    assert!(matches!(state(&features, "thp"), State::Unknown(_)));
    assert!(matches!(state(&features, "damon"), State::Unknown(_)));
    assert!(matches!(state(&features, "psi_memory"), State::Unknown(_)));
    assert!(matches!(state(&features, "memcg"), State::Unknown(_)));
    assert!(features.privileges.caps.iter().all(|cap| cap.held.is_none()));
    assert_eq!(features.privileges.initial_userns, None);
    assert_eq!(features.verdict.tier, None);
    assert!(!features.verdict.not_proven.is_empty());
}

#[test]
fn a_kernel_without_thp_is_tier_d_for_sure() {
    let tree =
        Tree::new(&[("proc/sys/kernel/osrelease", "6.18.1\n"), ("sys/kernel/mm/ksm/run", "0\n")]);
    let features = tree.probe();
    assert!(matches!(state(&features, "thp"), State::Absent(_)));
    assert_eq!(features.verdict, Verdict { tier: Some(Tier::D), not_proven: vec![] });
}

#[test]
fn linux_5_10_is_tier_d_by_version() {
    let features = machine("5.10.0-31-amd64").probe();
    assert_eq!(features.kernel_version, Some((5, 10)));
    assert_eq!(features.verdict.tier, Some(Tier::D));
    assert_eq!(features.thp_mode, Some(ThpMode::Always));
    for (key, since) in [
        ("per_vma_lock", "6.4"),
        ("shrinker_underused", "6.12"),
        ("per_size_thp_files", "6.8"),
        ("defrag_mode", "6.15"),
    ] {
        assert!(why(&features, key).contains(since), "{key}");
    }
    assert!(features.verdict.not_proven[0].contains("live machine"));
}

#[test]
fn a_newer_tree_is_judged_by_version_and_says_so() {
    let tree = machine("6.12.30+deb13-cloud-amd64");
    tree.add(&format!("{THP}/shrink_underused"), "1\n");
    tree.add(&format!("{THP}/hugepages-2048kB/enabled"), "always inherit madvise [never]\n");
    let features = tree.probe();
    assert_eq!((features.verdict.tier, features.verdict.not_proven.len()), (Some(Tier::A), 3));
    // The per-size file wins over the top one.
    assert_eq!(features.thp_mode, Some(ThpMode::Never));
    assert!(features.has("shrinker_underused"));
    tree.add(&format!("{THP}/shrink_underused"), "0\n");
    assert!(why(&tree.probe(), "shrinker_underused").contains("switched off"));
}

#[test]
fn khugepaged_of_smaller_sizes_is_known_by_its_counters() {
    let tree = machine("7.3.4+deb13-cloud-amd64");
    let none = || machine::thp_files(&Root::at(&tree.0), Geometry::X86_64).collapses_to_sizes;
    let stats = format!("{THP}/hugepages-64kB/stats");
    tree.add(&format!("{THP}/hugepages-64kB/enabled"), "always inherit madvise [never]\n");
    tree.add(&format!("{THP}/hugepages-2048kB/stats/split"), "0\n");
    let detail = || tree.probe().mechanism("per_size_thp_stats").and_then(|m| m.detail.clone());
    assert_eq!((none(), detail()), (false, None));
    for (file, value) in [
        ("collapse_alloc", "41\n"),
        ("collapse_alloc_failed", "2\n"),
        ("collapse_exceed_none_pte", "3\n"),
        ("collapse_exceed_swap_pte", "0\n"),
        ("collapse_exceed_shared_pte", "1\n"),
    ] {
        tree.add(&format!("{stats}/{file}"), value);
    }
    assert!(none() && detail().is_some_and(|detail| detail.contains("max_ptes_none")));
    let sample = machine::sample(&Root::at(&tree.0), Geometry::X86_64);
    let collapses = sample.sizes.iter().find_map(|size| size.collapses);
    let (made, failed, over_none, over_swap, over_shared) = (41, 2, 3, 0, 1);
    let expected = SizeCollapses { made, failed, over_none, over_swap, over_shared };
    assert_eq!(collapses, Some(expected));
}

#[test]
fn lockdown_and_container_are_told_with_their_evidence() {
    let tree = machine("6.18.1");
    assert_eq!((tree.probe().lockdown, tree.probe().container), (None, None));
    tree.add("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    tree.add("proc/1/cgroup", "0::/system.slice/docker-0123.scope\n");
    let features = tree.probe();
    assert_eq!(features.lockdown.as_deref(), Some("integrity"));
    let evidence = features.container.expect("a docker cgroup");
    assert!(evidence.contains("docker-0123"), "{evidence}");
    tree.add("proc/1/environ", "PATH=/bin\0container=podman\0SECRET=x\0");
    let evidence = tree.probe().container.expect("PID 1 says so");
    assert!(evidence.contains("podman") && !evidence.contains("SECRET"), "{evidence}");
}

#[test]
fn a_read_only_sysfs_is_named() {
    let tree = machine("6.18.1");
    tree.add("proc/self/mounts", "none / overlay rw 0 0\nsysfs /sys sysfs ro,nosuid 0 0\n");
    let refused = State::Refused("/sys is mounted read-only".into());
    assert_eq!(state(&tree.probe(), "settings_writable"), refused);
    tree.add(
        "proc/self/mounts",
        "none / overlay ro 0 0\nsysfs /sys sysfs ro 0 0\nsysfs /sys sysfs rw 0 0\n",
    );
    assert!(why(&tree.probe(), "settings_writable").contains("live machine"));
}

#[test]
fn missing_rights_are_named() {
    let tree = machine("6.18.1");
    assert_eq!(tree.probe().privileges.missing(), [""; 0]);
    assert_eq!(tree.probe().privileges.initial_userns, Some(true));
    // Docker's default set: no CAP_SYS_NICE, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH.
    tree.add("proc/self/status", "Uid:\t0\t1000\t0\t0\nCapEff:\t00000000a80425fb\n");
    tree.add("proc/self/uid_map", "         0     100000      65536\n");
    let privileges = tree.probe().privileges;
    assert_eq!(privileges.uid, Some(1000));
    let names = ["CAP_SYS_NICE", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"];
    assert_eq!(privileges.missing(), names);
    assert_eq!(privileges.initial_userns, Some(false));
}

#[test]
fn damon_is_left_to_whoever_has_it() {
    let admin = "sys/kernel/mm/damon/admin/kdamonds";
    let tree = machine("6.18.1");
    assert!(matches!(state(&tree.probe(), "damon"), State::Absent(_)));
    tree.add(&format!("{admin}/nr_kdamonds"), "0\n");
    assert!(tree.probe().has("damon"));
    tree.add("sys/module/damon_stat/parameters/enabled", "Y\n");
    assert!(why(&tree.probe(), "damon").contains("damon_stat"));
    tree.add("sys/module/damon_stat/parameters/enabled", "N\n");
    tree.add(&format!("{admin}/nr_kdamonds"), "1\n");
    tree.add(&format!("{admin}/0/state"), "on\n");
    tree.add(&format!("{admin}/0/pid"), "77\n");
    assert!(why(&tree.probe(), "damon").contains("pid 77"));
}

#[test]
fn the_tightest_memory_limit_on_the_way_up_counts() {
    let tree = machine("6.18.1");
    let unknown = OwnCgroup { version: None, memory_limit: None };
    assert_eq!(tree.probe().cgroup, unknown);
    tree.add("proc/self/cgroup", "0::/a/b\n");
    tree.add("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    tree.add("sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_eq!(tree.probe().cgroup.memory_limit, Some(MemoryLimit::Unlimited));
    tree.add("sys/fs/cgroup/a/memory.max", "1048576\n");
    let limited = tree.probe().cgroup;
    assert_eq!(limited.version, Some(CgroupVersion::V2));
    assert_eq!(limited.memory_limit, Some(MemoryLimit::Bytes(1 << 20)));
    tree.add("proc/self/cgroup", "0::/../elsewhere\n");
    assert_eq!(tree.probe().cgroup.memory_limit, None);
}

#[test]
fn a_child_that_is_silent_wrong_or_missing_costs_no_more_than_its_time() {
    // 'sleep 2097152' says nothing, 'echo 2097152' not what was asked for.
    for (program, said) in [
        ("/bin/sleep", "no answer within 0.2 s"),
        ("/bin/echo", "said '2097152'"),
        ("/bin/true", "ended early"),
        ("/does/not/exist", "did not start: No such file or directory (ENOENT)"),
    ] {
        let (began, mut child) = (Instant::now(), child(program));
        if program != "/bin/sleep" {
            child.time_limit = Duration::from_secs(20);
        }
        let features = run(&Root::live(), &child);
        assert!(began.elapsed() < Duration::from_secs(20), "{program}");
        let State::Unknown(why) = state(&features, "contents_unchanged") else {
            panic!("{program}: {:?}", state(&features, "contents_unchanged"));
        };
        // A machine whose huge page size cannot be read never starts a child.
        assert!(why.contains(said) || why.contains("hpage_pmd_size"), "{program}: {why}");
    }
}
