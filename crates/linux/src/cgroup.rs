//! How near a cgroup is to its memory limit (cgroups v1: memory.rst, v2: cgroup-v2.rst).

use crate::root::Root;
use hugewise_base::parse::pressure;
use hugewise_base::units::Bytes;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Directory below which controllers of version 1 are mounted by convention, and version 2 itself.
const MOUNT: &str = "sys/fs/cgroup";
/// Version 1 has no word for "no limit": it shows the largest multiple of the page size that a
/// signed number of bytes can have. No machine has half of that.
const NO_LIMIT: u64 = 1 << 62;

/// Levels below the root that are asked, beside the cgroup itself: container runtimes make eight or
/// so. Who was given a part of the tree can nest it until each look takes a second, and hides with
/// deeper limits nothing but his own.
const LEVELS_MAX: usize = 32;

/// Memory of a cgroup and of everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// What is charged to it now, without file pages that were not used twice: those the kernel
    /// takes back at no cost, and a cgroup that reads files is full of them all the time.
    pub usage: Bytes,
    /// What may be charged before the kernel reclaims in it, and ends its processes.
    pub limit: Bytes,
    /// How often it and its ancestors reached theirs, since they were made; `None` where nobody
    /// counts it.
    pub hits: Option<u64>,
}

impl Usage {
    /// Whether this is fuller than `other`: a larger usage by limit, compared without dividing,
    /// for a limit may be 0.
    fn fuller_than(self, other: Self) -> bool {
        let product = |a: Bytes, b: Bytes| u128::from(a.0) * u128::from(b.0);
        product(self.usage, other.limit) > product(other.usage, self.limit)
    }
}

/// The files of one version of the interface.
struct Files {
    folder: &'static str,
    usage: &'static str,
    /// The lowest of them counts.
    limits: &'static [&'static str],
    /// In `memory.stat`, for it and everything below it.
    idle_cache: &'static str,
    /// How often the limit was reached. Version 2 has stalls instead.
    hits: Option<&'static str>,
}

const V1: Files = Files {
    folder: "/memory",
    usage: "memory.usage_in_bytes",
    limits: &["memory.limit_in_bytes"],
    idle_cache: "total_inactive_file",
    hits: Some("memory.failcnt"),
};
const V2: Files = Files {
    folder: "",
    usage: "memory.current",
    // Above the second the kernel puts the cgroup's processes to sleep.
    limits: &["memory.max", "memory.high"],
    idle_cache: "inactive_file",
    hits: None,
};

/// The tightest (largest usage by limit) of a cgroup and its ancestors: whichever is full first
/// stops the process. `cgroup` is its path as in `/proc/PID/cgroup`, of the version 1 memory
/// controller where there is one, else of version 2.
///
/// `None` when none of them has a limit, when nothing can be read, or when the path leads out of
/// what this process sees: the root of its cgroup namespace.
pub fn usage(root: &Root, cgroup: &str) -> Option<Usage> {
    let parts = parts(cgroup)?;
    // On a hybrid host version 1 has the memory controller.
    let v1 = root.has(format!("{MOUNT}{}/{}", V1.folder, V1.usage));
    let files = if v1 { V1 } else { V2 };
    let asked = (0..=parts.len()).filter(|depth| *depth <= LEVELS_MAX || *depth == parts.len());
    let ancestors = asked.filter_map(|depth| {
        let path: String = parts[..depth].iter().flat_map(|part| ["/", part]).collect();
        read(root, &files, &path)
    });
    // Counts of one and of another cannot be compared, and who is the tightest changes: of all
    // together.
    ancestors.reduce(|full, other| {
        let hits = full.hits.zip(other.hits).map(|(one, two)| one.saturating_add(two));
        Usage { hits, ..if other.fuller_than(full) { other } else { full } }
    })
}

/// Time in which some process of this cgroup waited for memory, since it was made. `None` where
/// that is not counted, and for cgroups of version 1.
///
/// Its ancestors are not asked: what their other members do is no trouble of this one.
pub fn stalled_us(root: &Root, cgroup: &str) -> Option<u64> {
    let path: String = parts(cgroup)?.iter().flat_map(|part| ["/", part]).collect();
    // On a hybrid host this path is one of version 1, and leads nowhere here.
    let text = root.read_text(format!("{MOUNT}{path}/memory.pressure")).ok()?;
    pressure::parse(&text).value.some.map(|stall| stall.total_us)
}

/// Default of `cpu.weight` (version 2, cgroup-v2.rst) and of `cpu.shares` (version 1,
/// sched-design-CFS.rst).
const WEIGHT: u64 = 100;
const SHARES: u64 = 1024;

/// CPU weight of a cgroup in percent of the default, at least 1: the controller's path of version
/// 1 where there is one, else the one of version 2. `None` where it has none, and where somebody
/// else than root may set it: a user to whom a part of the tree was given would make claims out of
/// nothing.
pub fn cpu_weight_percent(root: &Root, v1: Option<&str>, v2: Option<&str>) -> Option<u32> {
    let (folder, path, name, default) = match (v1, v2) {
        (Some(path), _) => ("/cpu", path, "cpu.shares", SHARES),
        (None, Some(path)) => ("", path, "cpu.weight", WEIGHT),
        (None, None) => return None,
    };
    let path: String = parts(path)?.iter().flat_map(|part| ["/", part]).collect();
    let file = format!("{MOUNT}{folder}{path}/{name}");
    let owner = fs::metadata(root.path(&file)).ok()?.uid();
    let weight: u64 = root.read_line(&file).ok().filter(|_| owner == 0)?.parse().ok()?;
    u32::try_from(weight.saturating_mul(100) / default).ok().map(|percent| percent.max(1))
}

/// The names in a path; `None` when one of them is not below the one before.
fn parts(cgroup: &str) -> Option<Vec<&str>> {
    let parts: Vec<_> = cgroup.strip_prefix('/')?.split('/').filter(|p| !p.is_empty()).collect();
    let below = |part: &&str| !matches!(*part, "." | "..") && !part.contains('\0');
    parts.iter().all(below).then_some(parts)
}

/// One cgroup by itself; `None` without a limit.
fn read(root: &Root, files: &Files, path: &str) -> Option<Usage> {
    let number = |name: &str| {
        let file = format!("{MOUNT}{}{path}/{name}", files.folder);
        root.read_line(file).ok()?.parse::<u64>().ok()
    };
    // "max" is no number, as is the root of version 2, which has no such file.
    let limits = files.limits.iter().filter_map(|name| number(name));
    let limit = limits.min().filter(|limit| *limit < NO_LIMIT)?;
    let usage = Bytes(number(files.usage)?);
    let stat = root.read_text(format!("{MOUNT}{}{path}/memory.stat", files.folder));
    let idle = stat.unwrap_or_default().lines().find_map(|line| {
        let (name, bytes) = line.split_once(' ')?;
        (name == files.idle_cache).then(|| bytes.trim().parse().ok()).flatten()
    });
    let hits = files.hits.and_then(number);
    Some(Usage { usage: usage.saturating_sub(Bytes(idle.unwrap_or(0))), limit: Bytes(limit), hits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;

    /// A directory that looks like the root of a machine with these cgroups: folder below the
    /// mount, usage, limit.
    struct Tree(Scratch);

    impl Tree {
        fn new(files: &Files, cgroups: &[(&str, &str, &str)]) -> Self {
            let tree = Self(Scratch::new());
            for (path, usage, limit) in cgroups {
                tree.add(files, path, usage, limit);
            }
            tree
        }

        fn add(&self, files: &Files, path: &str, usage: &str, limit: &str) {
            let folder = self.0.join(format!("{MOUNT}{}{path}", files.folder));
            fs::create_dir_all(&folder).expect("mkdir");
            fs::write(folder.join(files.usage), usage).expect("write");
            fs::write(folder.join(files.limits[0]), limit).expect("write");
        }

        fn usage(&self, cgroup: &str) -> Option<(u64, u64)> {
            let usage = usage(&Root::at(&self.0), cgroup);
            usage.map(|usage| (usage.usage.0, usage.limit.0))
        }
    }

    const UNLIMITED: &str = "9223372036854771712\n";

    #[test]
    fn version_1_is_read() {
        let tree = Tree::new(
            &V1,
            &[("", "900\n", UNLIMITED), ("/a", "50\n", "100\n"), ("/a/b", "40\n", UNLIMITED)],
        );
        assert_eq!(tree.usage("/"), None);
        assert_eq!(tree.usage("/a"), Some((50, 100)));
        assert_eq!(tree.usage("/a/b"), Some((50, 100)));
    }

    #[test]
    fn version_2_is_read() {
        let tree = Tree::new(&V2, &[("/a", "50\n", "100\n"), ("/a/b", "40\n", "max\n")]);
        assert_eq!(tree.usage("/"), None);
        assert_eq!(tree.usage("/a"), Some((50, 100)));
        assert_eq!(tree.usage("/a/b/"), Some((50, 100)));
        assert_eq!(tree.usage("/x.slice"), None);
    }

    #[test]
    fn weights_are_roots_to_give() {
        if !rustix::process::getuid().is_root() {
            eprintln!("skipped: files of two owners need root");
            return;
        }
        let tree = Tree::new(&V2, &[("/a", "1", "2"), ("/cpu/b", "1", "2")]);
        let put = |path: &str, value: &str| {
            let file = tree.0.join(format!("{MOUNT}{path}"));
            fs::write(&file, value).expect("write");
            file
        };
        let root = Root::at(&tree.0);
        let file = put("/a/cpu.weight", "250\n");
        assert_eq!(cpu_weight_percent(&root, None, Some("/a")), Some(250));
        put("/cpu/b/cpu.shares", "2\n");
        assert_eq!(cpu_weight_percent(&root, Some("/b"), Some("/a")), Some(1));
        put("/cpu/b/cpu.shares", "2048\n");
        assert_eq!(cpu_weight_percent(&root, Some("/b"), Some("/a")), Some(200));
        std::os::unix::fs::chown(file, Some(1234), None).expect("chown");
        assert_eq!(cpu_weight_percent(&root, None, Some("/a")), None, "not root's");
        assert_eq!(cpu_weight_percent(&root, None, Some("/gone")), None);
        assert_eq!(cpu_weight_percent(&root, None, Some("/../a")), None);
    }

    #[test]
    fn idle_page_cache_is_no_pressure() {
        for (files, name) in [(&V1, "total_inactive_file"), (&V2, "inactive_file")] {
            let tree = Tree::new(files, &[("", "1", UNLIMITED), ("/a", "99", "100")]);
            let stat = format!("anon 3\nfile 90\n{name} 60\nactive_file 5\n");
            let file = tree.0.join(format!("{MOUNT}{}/a/memory.stat", files.folder));
            fs::write(file, stat).expect("write");
            assert_eq!(tree.usage("/a"), Some((39, 100)), "{name}");
        }
    }

    #[test]
    fn the_tightest_ancestor_counts() {
        let tree = Tree::new(
            &V2,
            &[("/a", "50", "100"), ("/a/b", "45", "50"), ("/a/b/c", "10", "40"), ("/d", "0", "0")],
        );
        assert_eq!(tree.usage("/a/b/c"), Some((45, 50)));
        assert_eq!(tree.usage("/a"), Some((50, 100)));
        // A cgroup that is gone: its ancestors still have limits.
        assert_eq!(tree.usage("/a/gone"), Some((50, 100)));
        assert_eq!(tree.usage("/d"), Some((0, 0)));
    }

    #[test]
    fn limits_that_lie_very_deep_are_not_asked_for() {
        let deep = |levels: usize| "/d".repeat(levels);
        let tree = Tree::new(&V2, &[("/d", "50", "100"), (&deep(40), "45", "46")]);
        assert_eq!(tree.usage(&deep(41)), Some((50, 100)));
        assert_eq!(tree.usage(&deep(40)), Some((45, 46)), "its own counts");
    }

    #[test]
    fn how_often_limits_were_reached_never_falls() {
        let tree = Tree::new(&V1, &[("/a", "50", "100"), ("/a/b", "10", "40")]);
        let put = |path: &str, name: &str, value: &str| {
            let file = tree.0.join(format!("{MOUNT}{}{path}/{name}", V1.folder));
            fs::write(file, value).expect("write");
        };
        put("/a", "memory.failcnt", "1000");
        put("/a/b", "memory.failcnt", "5");
        put("", "memory.usage_in_bytes", "1");
        let hits = || usage(&Root::at(&tree.0), "/a/b").and_then(|usage| usage.hits);
        assert_eq!(hits(), Some(1005));
        put("/a/b", "memory.usage_in_bytes", "39");
        assert_eq!((hits(), tree.usage("/a/b")), (Some(1005), Some((39, 40))));
    }

    /// The kernel slows a cgroup down before it stops it.
    #[test]
    fn the_lower_of_two_limits_counts() {
        let tree = Tree::new(&V2, &[("/a", "50", "max"), ("/b", "50", "100")]);
        let high = |path: &str, value: &str| {
            let file = tree.0.join(format!("{MOUNT}{path}/memory.high"));
            fs::write(file, value).expect("write");
        };
        high("/a", "60");
        high("/b", "max");
        assert_eq!(tree.usage("/a"), Some((50, 60)));
        assert_eq!(tree.usage("/b"), Some((50, 100)));
        high("/b", "80");
        assert_eq!(tree.usage("/b"), Some((50, 80)));
    }

    #[test]
    fn stalls_are_those_of_the_cgroup_itself() {
        let tree = Tree::new(&V2, &[("/a", "1", "2"), ("/a/b", "1", "2")]);
        let root = Root::at(&tree.0);
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        fs::write(tree.0.join(format!("{MOUNT}/a/memory.pressure")), text).expect("write");
        assert_eq!(stalled_us(&root, "/a"), Some(77));
        for none in ["/a/b", "/gone", "/../a", ""] {
            assert_eq!(stalled_us(&root, none), None, "{none}");
        }
    }

    #[test]
    fn on_a_hybrid_host_version_1_has_the_memory() {
        let tree = Tree::new(&V1, &[("", "9", UNLIMITED), ("/a", "1", "2")]);
        tree.add(&V2, "/a", "7", "8");
        assert_eq!(tree.usage("/a"), Some((1, 2)));
        // The controller is there: version 2 is not asked about what it does not know.
        tree.add(&V2, "/b", "7", "8");
        assert_eq!(tree.usage("/b"), None);
    }

    #[test]
    fn what_makes_no_sense_is_unknown() {
        let tree = Tree::new(
            &V2,
            &[("/a", "", "100"), ("/b", "5", "-1"), ("/c", "5", "1e3"), ("/d", "x", "100")],
        );
        for cgroup in ["/a", "/b", "/c", "/d", "/missing", "", "a", "/\0"] {
            assert_eq!(tree.usage(cgroup), None, "{cgroup:?}");
        }
    }

    #[test]
    fn no_path_leads_out() {
        let tree = Tree::new(&V2, &[("/a", "1", "2"), ("/../../etc", "1", "2")]);
        for cgroup in ["/..", "/../../etc", "/a/../a", "/a/..", "/./a", "/../a"] {
            assert_eq!(tree.usage(cgroup), None, "{cgroup}");
        }
        assert_eq!(tree.usage("//a"), Some((1, 2)));
    }

    /// This machine may have a limit or not; if it has, its cgroup uses memory.
    #[test]
    fn this_process_can_be_asked_about() {
        let root = Root::live();
        let text = root.read("proc/self/cgroup").unwrap_or_default();
        let cgroup = hugewise_base::parse::cgroup::parse(&text).value;
        let path = cgroup.v1_paths.get("memory").cloned().or(cgroup.v2_path);
        let found = path.and_then(|path| usage(&root, &path));
        assert!(found.is_none_or(|found| found.usage > Bytes(0)), "{found:?}");
    }
}
