use super::*;
use hugewise_evidence::hugetlb::facts::{NodePool, Object, ObjectKind, Pool, Process};
use hugewise_scratch::Scratch;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory that looks like the root of a machine.
struct Tree(Scratch);

impl Tree {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn place(&self, path: &str) -> PathBuf {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("mkdir");
        path
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        fs::write(self.place(path), text).expect("write");
        self
    }

    fn link(&self, path: &str, target: &str) -> &Self {
        std::os::unix::fs::symlink(target, self.place(path)).expect("symlink");
        self
    }

    fn process(&self, pid: u32, name: &str, parent: u32, maps: &str) -> &Self {
        self.file(&format!("proc/{pid}/stat"), &stat(pid, name, parent, 0));
        self.file(&format!("proc/{pid}/maps"), maps)
    }

    fn facts(&self) -> Facts {
        self.facts_of(&[])
    }

    fn facts_of(&self, pids: &[u32]) -> Facts {
        facts(&Root::at(&self.0), &ProcessSelection { pids: pids.to_vec() })
    }
}

fn stat(pid: u32, name: &str, parent: u32, flags: u64) -> String {
    let rest = "0 0 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0";
    format!("{pid} ({name}) S {parent} 0 0 0 -1 {flags} {rest}")
}

/// A line of maps, `mib` long, at an address of its own.
fn map(perms: &str, offset: u64, device: &str, inode: u32, mib: u64, name: &str) -> String {
    static START: AtomicU64 = AtomicU64::new(0x7f00_0000_0000);
    let start = START.fetch_add(1 << 30, Ordering::Relaxed);
    let end = start + (mib << 20);
    format!("{start:x}-{end:x} {perms} {offset:08x} {device} {inode}                {name}\n")
}

/// The same in smaps, on HugeTLB pages of `page` KiB where `huge` of them are touched, else base.
fn smap(line: &str, page: u64, huge: Option<(u64, u64)>) -> String {
    let (shared, private) = huge.unwrap_or((0, 0));
    let flags = if huge.is_some() { "rd wr sh de ht" } else { "rd wr sh" };
    format!(
        "{line}KernelPageSize: {page} kB\nRss: 0 kB\nShared_Hugetlb: {shared} kB\n\
         Private_Hugetlb: {private} kB\nVmFlags: {flags} \n"
    )
}

const SHM_HEAD: &str = "       key      shmid perms       size  cpid  lpid nattch   uid   gid  \
                        cuid  cgid  atime  dtime  ctime       rss      swap\n";

fn segment(key: i32, id: u32, bytes: u64, attached: u32, rss: u64) -> String {
    format!("{key} {id} 600 {bytes} 10 10 {attached} 26 26 26 26 1 0 1 {rss} 0\n")
}

fn what(facts: &Facts) -> Vec<(&str, &str)> {
    facts.missing.iter().map(|missing| (missing.what.as_str(), missing.why.as_str())).collect()
}

fn kinds(facts: &Facts) -> Vec<(ObjectKind, u64, Option<u64>, &[u32])> {
    let each = |o| -> (ObjectKind, u64, Option<u64>, &[u32]) {
        let o: &Object = o;
        (o.kind.clone(), o.bytes.0 >> 20, o.page.map(|page| page.0 >> 10), &o.pids)
    };
    facts.objects.iter().map(each).collect()
}

#[test]
fn pools_and_memory_of_two_nodes() {
    let tree = Tree::new();
    let small = "sys/kernel/mm/hugepages/hugepages-2048kB";
    for (file, text) in [("nr", "64"), ("free", "60"), ("resv", "3"), ("surplus", "0")] {
        tree.file(&format!("{small}/{file}_hugepages"), &format!("{text}\n"));
    }
    tree.file(&format!("{small}/nr_overcommit_hugepages"), "5\n");
    let node = "sys/devices/system/node/node0";
    tree.file(&format!("{node}/meminfo"), "Node 0 MemTotal: 8 kB\nNode 0 MemFree: 4 kB\n")
        .file(&format!("{node}/hugepages/hugepages-2048kB/nr_hugepages"), "64\n")
        .file(&format!("{node}/hugepages/hugepages-2048kB/free_hugepages"), "60\n")
        .file(&format!("{node}/hugepages/hugepages-2048kB/surplus_hugepages"), "0\n")
        .file("proc/meminfo", "MemTotal: 8 kB\nPageTables: 4 kB\nHugepagesize: 2048 kB\n")
        .file("proc/sys/vm/hugetlb_shm_group", "26\n")
        .file("proc/sys/kernel/shmmax", "18446744073692774399\n")
        .file("proc/sys/kernel/shmall", "torn")
        .file(
            "proc/self/mountinfo",
            "27 20 254:0 / / rw - ext4 /dev/vda rw\n\
             26 20 0:24 / /dev/huge\\040pages rw - hugetlbfs none rw,pagesize=2M,size=4194304\n",
        );
    let facts = tree.facts();
    let share =
        NodePool { node: 0, total: 64, free: 60, surplus: Some(0), memory_free: Some(Bytes(4096)) };
    let pool = Pool {
        page: Bytes::mib(2),
        total: 64,
        free: 60,
        reserved: Some(3),
        surplus: Some(0),
        overcommit: Some(5),
        nodes: vec![share],
    };
    assert_eq!(facts.pools, [pool]);
    assert_eq!(
        (facts.memory.total, facts.memory.page_tables),
        (Some(Bytes(8192)), Some(Bytes(4096)))
    );
    assert_eq!((facts.memory.swap_total, facts.default_page), (None, Some(Bytes::mib(2))));
    let shmmax = Some(Bytes(18_446_744_073_692_774_399));
    let limits = Limits { shm_group: Some(26), shmmax, ..Limits::default() };
    assert_eq!(facts.limits, limits);
    let (path, limit) = ("/dev/huge pages".to_owned(), Some(Bytes::mib(4)));
    assert_eq!(facts.mounts, [Mount { path, page: Some(Bytes::mib(2)), limit }]);
}

#[test]
fn an_empty_root_is_told_and_no_more() {
    let tree = Tree::new();
    tree.file("etc/hostname", "vm\n");
    let facts = tree.facts();
    let wanted = Facts {
        source: tree.0.display().to_string(),
        missing: facts.missing.clone(),
        ..Facts::default()
    };
    assert_eq!(facts, wanted);
    let missing: Vec<&str> = facts.missing.iter().map(|missing| missing.what.as_str()).collect();
    let paths = [
        "/proc/meminfo",
        "/proc/sys/vm/hugetlb_shm_group",
        "/proc/sys/kernel/shmmax",
        "/proc/sys/kernel/shmall",
        "/proc/sys/vm/overcommit_memory",
        "/proc/cmdline",
        "/sys/kernel/mm/hugepages",
        "/proc/self/mountinfo",
        "/proc",
        "/proc/sysvipc/shm",
    ];
    assert_eq!(missing, paths);
}

/// Names, devices and fields as Linux 6.18 writes them.
#[test]
fn every_kind_of_memory_is_found() {
    let tree = Tree::new();
    let lines = [
        (map("rw-s", 0, "00:01", 3, 8, "/SYSV00000000 (deleted)"), None),
        (map("rw-s", 0, "00:11", 5, 8, "/SYSV0000002a (deleted)"), Some((2048, 4096))),
        (map("rw-s", 0, "00:11", 700, 4, "/memfd:heap (deleted)"), Some((0, 2048))),
        (map("rw-s", 0, "00:11", 700, 4, "/memfd:heap (deleted)"), Some((0, 2048))),
        (map("---s", 0x40_0000, "00:11", 700, 4, "/memfd:heap (deleted)"), Some((0, 4096))),
        (map("rw-s", 0x20_0000, "00:01", 800, 8, "/memfd:a (b) (deleted)"), None),
        (map("rw-s", 0, "00:01", 801, 16, "/dev/zero (deleted)"), None),
        (map("rw-s", 0, "00:01", 802, 16, "[anon_shmem:pool]"), None),
        (map("rw-s", 0, "00:11", 701, 6, "/anon_hugepage (deleted)"), Some((0, 0))),
        (map("rw-p", 0, "00:11", 702, 4, "/anon_hugepage (deleted)"), Some((0, 2048))),
        (map("rw-p", 0, "00:11", 703, 2, "/anon_hugepage (deleted)"), Some((0, 2048))),
        (map("rw-s", 0, "00:1b", 53, 8, "/dev/shm/PostgreSQL.1"), None),
        (map("rw-s", 0, "00:27", 9, 8, "/mnt/huge/file"), Some((8192, 0))),
        (map("rw-s", 0, "00:01", 803, 1, "/dev/zero (deleted)"), None),
        (map("rw-s", 0, "fe:00", 804, 64, "/var/lib/mapped"), None),
        (map("rw-p", 0, "00:00", 0, 64, ""), None),
        (map("r--p", 0, "00:27", 9, 8, "/mnt/huge/file"), None),
        ("7f04-torn\n".to_owned(), None),
    ];
    let maps: String = lines.iter().map(|(line, _)| line.as_str()).collect();
    let page = |huge: Option<_>| if huge.is_some() { 2048 } else { 4 };
    let smaps: String = lines.iter().map(|(line, huge)| smap(line, page(*huge), *huge)).collect();
    let shm = format!(
        "{SHM_HEAD}{}{}{}{}{}",
        segment(0, 3, 8 << 20, 1, 8 << 20),
        segment(42, 5, 7 << 20, 1, 3 << 30),
        segment(-1, 6, 8 << 20, 0, 0),
        segment(0, 7, 8 << 20, 2, 2 << 30),
        segment(0, 8, 4096, 0, 0),
    );
    tree.process(10, "db", 1, &maps)
        .file("proc/10/smaps", &smaps)
        .file("proc/sysvipc/shm", &shm)
        .file("proc/self/mountinfo", "30 20 0:27 / /dev/shm rw - tmpfs tmpfs rw\n")
        .file("proc/10/mountinfo", "31 20 0:39 / /mnt/huge rw - hugetlbfs none rw,pagesize=2M\n")
        .file("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "64")
        .file("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "64");
    let facts = tree.facts();
    let own: &[u32] = &[10];
    let wanted = [
        (ObjectKind::SysV(3), 8, Some(4), own),
        (ObjectKind::SysV(5), 7, Some(2048), own),
        (ObjectKind::SysV(6), 8, None, &[]),
        (ObjectKind::SysV(7), 8, Some(2048), &[]),
        (ObjectKind::Posix, 8, Some(4), own),
        (ObjectKind::Memfd, 10, Some(4), own),
        (ObjectKind::Memfd, 8, Some(2048), own),
        (ObjectKind::SharedAnonymous, 6, Some(2048), own),
        (ObjectKind::SharedAnonymous, 16, Some(4), own),
        (ObjectKind::SharedAnonymous, 16, Some(4), own),
        (ObjectKind::HugetlbFile, 8, Some(2048), own),
        (ObjectKind::PrivateHuge, 6, Some(2048), own),
    ];
    assert_eq!(kinds(&facts), wanted);
    let names: Vec<&str> = facts.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names[..3], ["/SYSV00000000", "/SYSV0000002a", "/SYSVffffffff"]);
    assert_eq!((names[5], names[8]), ("/memfd:a (b)", "/dev/zero"));
    let touched = |at: usize| facts.objects[at].touched.map(|bytes| bytes.0 >> 20);
    let wanted_touched = [None, Some(6), Some(6), Some(0), Some(8), Some(4)];
    assert_eq!([0, 1, 6, 7, 10, 11].map(touched), wanted_touched);
    let second = &facts.objects[1];
    assert_eq!((second.uid, second.attached), (Some(26), 1));
    assert_eq!(facts.objects[3].attached, 2);
    assert!(what(&facts).contains(&("maps of 1 process", "some lines make no sense")));
    // Of one process: no segments of others.
    assert_eq!(tree.facts_of(&[10]).objects.len(), wanted.len() - 2);
}

#[test]
fn smaps_is_read_of_one_of_hundreds() {
    let tree = Tree::new();
    let line = map("rw-s", 0, "00:11", 5, 8, "/SYSV00000000 (deleted)");
    let base = map("rw-s", 0, "00:01", 6, 8, "/SYSV00000000 (deleted)");
    for pid in 100..500 {
        tree.process(pid, "worker", 99, &format!("{line}{base}"));
    }
    // Whoever is asked second has no smaps to read: it would be told.
    let smaps = format!("{}{}", smap(&line, 2048, Some((4096, 0))), smap(&base, 4, None));
    tree.file("proc/100/smaps", &smaps);
    for pid in 101..500 {
        fs::create_dir(tree.place(&format!("proc/{pid}/smaps"))).expect("mkdir");
    }
    let rows = [segment(0, 5, 8 << 20, 400, 0), segment(0, 6, 8 << 20, 400, 0)].concat();
    tree.file("proc/sysvipc/shm", &format!("{SHM_HEAD}{rows}"));
    let facts = tree.facts();
    let pids: Vec<u32> = (100..500).collect();
    let wanted = [
        (ObjectKind::SysV(5), 8, Some(2048), pids.as_slice()),
        (ObjectKind::SysV(6), 8, Some(4), pids.as_slice()),
    ];
    assert_eq!(kinds(&facts), wanted);
    assert_eq!(facts.objects[0].touched, Some(Bytes::mib(4)));
    assert!(!facts.missing.iter().any(|missing| missing.what.contains("smaps")));
    assert_eq!(facts.processes.len(), 400);
}

#[test]
fn unreadable_processes_are_one_entry_and_ended_ones_none() {
    let tree = Tree::new();
    let line = map("rw-s", 0, "00:11", 5, 8, "/SYSV00000000 (deleted)");
    // 10 ended before its maps, 11 to 13 cannot be read, 14 ended before its smaps.
    tree.file("proc/10/stat", &stat(10, "a", 1, 0));
    for pid in 11..14 {
        tree.file(&format!("proc/{pid}/stat"), &stat(pid, "b", 1, 0));
        fs::create_dir(tree.place(&format!("proc/{pid}/maps"))).expect("mkdir");
    }
    tree.process(14, "c", 1, &line);
    tree.file("proc/2/stat", &stat(2, "kthreadd", 0, 0x0020_0000));
    tree.file("proc/3/stat", "3 (torn");
    let facts = tree.facts();
    assert_eq!(kinds(&facts), [(ObjectKind::SysV(5), 8, None, [14].as_slice())]);
    assert_eq!(facts.objects[0].touched, None);
    assert_eq!(facts.processes.keys().copied().collect::<Vec<_>>(), [10, 11, 12, 13, 14]);
    let of_processes: Vec<_> = what(&facts).into_iter().filter(|w| w.0.contains(" of ")).collect();
    assert_eq!(of_processes, [("maps of 3 processes", "Is a directory")]);
    let unknown = tree.facts_of(&[2, 14, 77]);
    assert_eq!(unknown.processes.len(), 1);
    let told = what(&unknown).into_iter().filter(|w| w.0.starts_with("process "));
    assert_eq!(told.map(|w| w.0).collect::<Vec<_>>(), ["process 2", "process 77"]);
}

#[test]
fn segments_of_another_ipc_namespace_are_others() {
    let tree = Tree::new();
    let line = map("rw-s", 0, "00:01", 5, 8, "/SYSV00000000 (deleted)");
    let large = map("rw-s", 0, "00:01", 5, 64, "/SYSV00000000 (deleted)");
    tree.process(10, "a", 1, &line).process(11, "b", 1, &large).process(12, "c", 1, &large);
    tree.link("proc/self/ns/ipc", "ipc:[1]").link("proc/10/ns/ipc", "ipc:[1]");
    tree.link("proc/11/ns/ipc", "ipc:[2]").link("proc/12/ns/ipc", "ipc:[2]");
    tree.file("proc/sysvipc/shm", &format!("{SHM_HEAD}{}", segment(0, 5, 8 << 20, 1, 0)));
    let facts = tree.facts();
    let wanted = [
        (ObjectKind::SysV(5), 8, None, [10].as_slice()),
        (ObjectKind::SysV(5), 64, None, [11, 12].as_slice()),
    ];
    assert_eq!(kinds(&facts), wanted);
    assert_eq!((facts.objects[0].uid, facts.objects[1].uid), (Some(26), None));
    assert_eq!(facts.objects[1].attached, 2);
}

#[test]
fn the_first_segment_since_boot_has_the_number_0() {
    let tree = Tree::new();
    let line = map("rw-s", 0, "00:11", 0, 8, "/SYSV00000000 (deleted)");
    let none = map("rw-p", 0, "00:00", 0, 8, "[heap]");
    tree.process(10, "a", 1, &format!("{line}{none}")).process(11, "b", 1, &line);
    tree.file("proc/10/smaps", &smap(&line, 2048, Some((4096, 0))));
    tree.file("proc/sysvipc/shm", &format!("{SHM_HEAD}{}", segment(0, 0, 8 << 20, 2, 0)));
    let wanted = [(ObjectKind::SysV(0), 8, Some(2048), [10, 11].as_slice())];
    let facts = tree.facts();
    assert_eq!(kinds(&facts), wanted);
    assert_eq!(facts.objects[0].touched, Some(Bytes::mib(4)));
}

#[test]
fn programs_are_known_with_their_services_and_limits() {
    let tree = Tree::new();
    tree.process(10, "postgres", 1, "")
        .file(
            "proc/10/status",
            "Name:\tpostgres\nUid:\t26\t27\t26\t26\nGid:\t26\t28\t26\t26\n\
             Groups:\t28 501 \nVmPTE:\t 40 kB\n",
        )
        .file(
            "proc/10/limits",
            "Max locked memory         8388608              unlimited            bytes     \n",
        )
        .file("proc/10/cgroup", "0::/system.slice/system-pg.slice/postgresql@15-main.service\n")
        .link("proc/10/exe", "/usr/lib/postgresql/15/bin/postgres (deleted)")
        .link("proc/10/cwd", "/var/lib/pg")
        .file("proc/10/cmdline", "postgres\0-c\0secret=1\0");
    tree.process(11, "postgres", 10, "").link("proc/11/cwd", "/var/lib/pg");
    tree.process(20, "postgres", 1, "").file("proc/20/cmdline", "postgres\0-D\0/srv/pg\0");
    tree.process(30, "main", 1, "").link("proc/30/exe", "/opt/jdk/bin/java");
    tree.file("proc/30/cmdline", "java\0-Xmx4g\0-Dpassword=secret\0-XX:+UseLargePages\0Main\0");
    tree.process(31, "java", 1, "");
    tree.file("etc/passwd", "postgres:x:27:27::/:/bin/sh\n");
    let facts = tree.facts();
    let server = Process {
        name: "postgres".to_owned(),
        program: Some("postgres".to_owned()),
        uid: Some(27),
        user: Some("postgres".to_owned()),
        groups: vec![28, 28, 501],
        page_tables: Some(Bytes::kib(40)),
        memlock: Some(Bytes::mib(8)),
        unit: Some("postgresql@15-main.service".to_owned()),
        directory: Some("/var/lib/pg".to_owned()),
    };
    assert_eq!(facts.processes[&10], server);
    assert_eq!(facts.processes[&11].directory, None);
    assert_eq!(facts.processes[&20].directory.as_deref(), Some("/srv/pg"));
    let java: Vec<_> = facts.java.iter().map(|java| (java.pid, java.flags.join(" "))).collect();
    let flags = "-Xmx4g -XX:+UseLargePages".to_owned();
    assert_eq!(java, [(30, flags), (31, String::new())]);
    assert!(!format!("{facts:?}").contains("secret"));
}

#[test]
fn configuration_is_listed_as_it_is_applied() {
    let tree = Tree::new();
    let set = |pages: u32| format!("# pools\nvm.nr_hugepages = {pages}\n");
    tree.file("proc/cmdline", "root=secret hugepagesz=1G hugepages=2\n")
        .file("etc/sysctl.d/50-a.conf", &set(1))
        .file("etc/sysctl.d/README", &set(2))
        .file("usr/lib/sysctl.d/50-a.conf", &set(3))
        .file("usr/lib/sysctl.d/10-b.conf", "vm/hugetlb_shm_group=26\nkernel.x = 1\n")
        .file("run/sysctl.d/60-c.conf", &set(4))
        .link("etc/sysctl.d/70-d.conf", "/dev/null")
        .file("usr/lib/sysctl.d/70-d.conf", &set(5))
        .file("etc/sysctl.conf", &set(6))
        .file("lib/sysctl.d/99-z.conf", "-vm.nr_overcommit_hugepages=7\n");
    let lines = |tree: &Tree| -> Vec<String> {
        let mut lines = Vec::new();
        for c in tree.facts().configured {
            let mut line = String::new();
            let _ = write!(line, "{}:{} {}={}", c.file, c.line, c.key, c.value);
            lines.push(line);
        }
        lines
    };
    let mut wanted = [
        "/proc/cmdline:1 hugepagesz=1G",
        "/proc/cmdline:1 hugepages=2",
        "/usr/lib/sysctl.d/10-b.conf:1 vm.hugetlb_shm_group=26",
        "/etc/sysctl.d/50-a.conf:2 vm.nr_hugepages=1",
        "/run/sysctl.d/60-c.conf:2 vm.nr_hugepages=4",
        "/lib/sysctl.d/99-z.conf:1 vm.nr_overcommit_hugepages=7",
        "/etc/sysctl.conf:2 vm.nr_hugepages=6",
    ];
    assert_eq!(lines(&tree), wanted);
    // Where systemd reads it through a link, it is read there, and not twice.
    for target in ["../sysctl.conf", "/etc/sysctl.conf"] {
        let _ = fs::remove_file(tree.0.join("etc/sysctl.d/99-sysctl.conf"));
        tree.link("etc/sysctl.d/99-sysctl.conf", target);
        wanted[5] = "/etc/sysctl.conf:2 vm.nr_hugepages=6";
        wanted[6] = "/lib/sysctl.d/99-z.conf:1 vm.nr_overcommit_hugepages=7";
        assert_eq!(lines(&tree), wanted, "{target}");
    }
}

#[test]
fn a_kubelet_runs_or_is_installed() {
    let tree = Tree::new();
    tree.process(10, "a", 1, "");
    assert_eq!(tree.facts().kubelet, None);
    fs::create_dir_all(tree.0.join("var/lib/kubelet")).expect("mkdir");
    assert_eq!(tree.facts().kubelet, Some(Kubelet::Installed));
    tree.process(11, "kubelet", 1, "");
    assert_eq!(tree.facts_of(&[10]).kubelet, Some(Kubelet::Running));
}

/// Shared memory of this very process, on the real kernel.
#[test]
fn this_machine_has_facts() {
    let own = std::process::id();
    let all = facts(&Root::live(), &ProcessSelection::default());
    assert_eq!(all.source, "this machine");
    assert!(all.memory.total.is_some() && all.memory.page_tables.is_some());
    assert!(all.processes.contains_key(&own));
    let one = facts(&Root::live(), &ProcessSelection { pids: vec![own] });
    assert_eq!(one.processes.keys().copied().collect::<Vec<_>>(), [own]);
    let process = &one.processes[&own];
    assert!(process.page_tables.is_some() && process.memlock.is_some() && process.uid.is_some());
}
