//! `hugewise hugetlb` on the command line: what it answers to bad input, and the numbers of a
//! known machine. Needs no right and changes nothing.

use hugewise_scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A directory of one test, removed afterwards.
struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        let path = Scratch::new();
        Self(path)
    }

    /// A file with this content; its path.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("mkdir");
        fs::write(&path, content).expect("write");
        path.to_str().expect("a plain path").to_owned()
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a plain path")
    }
}

#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    /// Ends with this code, and says this on standard error.
    fn fails(&self, code: i32, why: &str) {
        let err = &self.err;
        assert!(self.code == Some(code) && err.contains(why), "{code}, '{why}': {self:#?}");
        assert!(self.out.is_empty(), "no output beside the error: {self:#?}");
        assert!(!err.contains("panicked"), "{self:#?}");
    }

    fn says(&self, code: i32, texts: &[&str]) {
        assert!(self.code == Some(code), "{code}: {self:#?}");
        let line = self.out.split_whitespace().collect::<Vec<_>>().join(" ");
        texts.iter().for_each(|text| assert!(line.contains(text), "'{text}': {self:#?}"));
    }
}

fn hugetlb(args: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    let done = command.args(["--color", "never", "hugetlb"]).args(args).output();
    let done = done.expect("the program runs");
    Said {
        code: done.status.code(),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// A database host of 20 GB with a fifth of it in page tables, and no pool.
const MEMINFO: &str = "MemTotal:       20549012 kB\nMemFree:          203044 kB\n\
    Buffers:           12000 kB\nCached:          8000000 kB\nPageTables:      5007924 kB\n\
    HugePages_Total:       0\nHugePages_Free:        0\nHugePages_Rsvd:        0\n\
    HugePages_Surp:        0\nHugepagesize:       2048 kB\n";

#[test]
fn sizes_that_make_no_sense_are_refused_by_name() {
    for command in ["plan", "apply", "verify"] {
        for (args, why) in [
            (&["--sga", "0"][..], "--sga 0: nothing to plan for"),
            (&["--sga=-5G"], "--sga '-5G': wanted a size that is not negative"),
            (&["--sga", "10"], "--sga '10' has no unit: write 10GiB, 10MiB"),
            (&["--sga", "1G", "--headroom", "2"], "--headroom '2' has no unit"),
            (&["--sga", "1G", "--page-size", "2097152"], "--page-size '2097152' has no unit"),
            (&["--sga", "1G", "--leave", "512"], "--leave '512' has no unit"),
            (&["--sga", "-5G"], "--sga '-5G': wanted a size that is not negative"),
            (&["--sga", "10X"], "wanted a unit"),
            (&["--sga", ""], "--sga"),
            (&["--sga", "99999999999G"], "less than 16 EiB"),
            (&["--sga", "1G", "--headroom", "much"], "--headroom"),
            (&["--sga", "1G", "--leave", "1e400"], "--leave"),
            (&["--sga", "1G", "--page-size", "3M"], "powers of two"),
            (&["--sga", "1G", "--page-size", "0"], "powers of two"),
            (&["--sga", "1G", "--page-size", "4K"], "powers of two"),
            (&["--sga", "1G", "--processes", "0"], "--processes"),
            (&["--sga", "1G", "--processes", "4194305"], "--processes"),
            (&["--sga", "1G", "--shm-group", "4294967296"], "--shm-group"),
            (&["--sga", "1G", "--user", "a b"], "--user 'a b'"),
            (&["--sga", "1G", "--user", "x\ny"], "--user"),
            (&["--sga", "1G", "--unit", "../x.service"], "--unit"),
            (&["--sga", "1G", "--unit", "x.socket"], "--unit"),
            (&["--java", "-Xms1g"], "wanted the heap's largest size"),
            (&["--java", ""], "wanted the heap's largest size"),
            (&["--java", "-Xmx0"], "wanted the heap's largest size"),
            (&["--java", "-Xmx99999999999999999999g"], "wanted the heap's largest size"),
            (&["--java", "-Xmx4g -XX:+UseTransparentHugePages"], "takes no HugeTLB pages"),
            (&["--java", "-Xmx4g -XX:LargePageSizeInBytes=1g"], "no formula"),
            (&["--java", "-Xmx4g -XX:+UseFooGC"], "no formula for '-XX:+UseFooGC': collectors are"),
            (&["--pid", "1 x"], "'x' is no process: write numbers"),
        ] {
            let all: Vec<&str> = [command].into_iter().chain(args.iter().copied()).collect();
            let all = match command {
                "apply" => [all, vec!["--dry-run"]].concat(),
                _ => all,
            };
            hugetlb(&all).fails(2, why);
        }
    }
}

#[test]
fn what_is_not_there_is_an_error() {
    let scratch = Folder::new();
    for command in ["plan", "verify"] {
        hugetlb(&[command, "--sga", "1G", "--node", "99"]).fails(2, "99: no such NUMA node");
    }
    let root = scratch.path();
    scratch.file("etc/passwd", "oracle:x:54321:54321::/:/bin/sh\n");
    scratch.file("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\n");
    let user = |name| hugetlb(&["--root", root, "plan", "--sga", "1G", "--user", name]);
    user("nosuch").fails(2, "--user nosuch: this machine has no such user");
    assert_eq!(user("oracle").code, Some(0));
    // The largest pid of a kernel is one less.
    hugetlb(&["plan", "--pid", "4194304"]).fails(1, "--pid 4194304: there is no such process");
    hugetlb(&["plan", "--pid", "0"]).fails(1, "there is no such process");
    let directory = ["plan", "--postgres", scratch.path()];
    hugetlb(&directory).fails(1, "is no PostgreSQL data directory");
    scratch.file("PG_VERSION", "14\n");
    hugetlb(&directory).fails(1, "PostgreSQL 14 cannot say");
    hugetlb(&["plan", "--postgres", "/none"]).fails(1, "is no PostgreSQL data directory");
    let state = scratch.0.join("none");
    let state = state.to_str().expect("a plain path");
    hugetlb(&["verify", "--state-dir", state]).fails(1, "nothing was applied");
    let nothing = hugetlb(&["revert", "--state-dir", state]);
    // A kernel without pools, or somebody who changes them just now, is another matter.
    if nothing.code != Some(6) {
        nothing.says(0, &["Nothing to put back"]);
    }
    assert!(!Path::new(state).exists(), "looking makes no directory");
}

#[test]
fn files_that_are_none_are_told_apart() {
    let scratch = Folder::new();
    let binary: Vec<u8> = (0..5000_u32).map(|n| u8::try_from(n % 251).unwrap_or(0)).collect();
    for (name, content, why) in [
        ("empty", &b""[..], "is empty"),
        ("binary", &binary, "is a binary file"),
        ("words", b"hello\n", "nothing in it was recognised"),
        ("vmstat", b"nr_free_pages 1\npgfault 2\n", "does not say how much memory"),
    ] {
        let file = scratch.file(name, content);
        hugetlb(&["plan", "--sga", "10G", &file]).fails(1, why);
    }
    hugetlb(&["plan", "--sga", "10G", "/none"]).fails(1, "cannot open");
    for (name, content) in [("words", &b"hello\n"[..]), ("binary", &binary), ("empty", b"")] {
        let file = scratch.file(name, content);
        hugetlb(&["verify", "--plan", &file]).fails(1, name);
    }
    hugetlb(&["verify", "--plan", "/dev/zero"]).fails(1, "is no file of at most 16 MiB");
    let old = scratch.file("old", "{\"schema\":0}");
    hugetlb(&["verify", "--plan", &old]).fails(1, "is no plan");
}

#[test]
fn a_known_machine_has_known_numbers() {
    let scratch = Folder::new();
    let file = scratch.file("meminfo", MEMINFO);
    let args = ["plan", "--sga", "10G", "--headroom", "2G", &file];
    let sums = ["10 GiB / 2 MiB 5120", "2.0 GiB / 2 MiB 1024", "12.0 GiB 6144"];
    hugetlb(&args).says(0, &sums);
    let rest = ["6144 pages x 2048 kB = 12582912 kB", "24.4 % of the memory", "as 244 processes"];
    hugetlb(&args).says(0, &rest);
    let said = hugetlb(&[&args[..], &["--json"]].concat());
    let plan: Value = serde_json::from_str(&said.out).expect("one JSON value");
    let pool = &plan["pools"][0];
    assert_eq!((&pool["target_pages"], &pool["page_bytes"]), (&6144.into(), &(2 << 20).into()));
    assert_eq!(plan["memlock"]["limit_kb"], 12_582_912);
    let about = |value: &Value| value.as_f64().map(|number| (number * 10.0).round() / 10.0);
    assert_eq!(about(&plan["tables"]["machine_percent"]), Some(24.4));
    assert_eq!(plan["tables"]["sharers"].as_f64().map(f64::floor), Some(244.0));
    // A plan of one machine can be the expectation on another one, whatever that has.
    let kept = scratch.file("plan.json", &said.out);
    let told = hugetlb(&["verify", "--plan", &kept]);
    assert!([Some(0), Some(3), Some(5)].contains(&told.code), "{told:#?}");
}

#[test]
fn more_than_there_is_is_refused() {
    let scratch = Folder::new();
    let file = scratch.file("meminfo", MEMINFO);
    let more = hugetlb(&["plan", "--sga", "20G", &file]);
    more.says(3, &["REFUSED: the pools would be larger than the memory"]);
    let little = hugetlb(&["plan", "--sga", "18G", &file]);
    little.says(3, &["REFUSED: too little memory would remain", "lower --leave"]);
    hugetlb(&["plan", "--sga", "18G", "--leave", "1G", &file]).says(0, &["9216"]);
    hugetlb(&["plan", "--java", "-Xmx19g", &file]).says(3, &["REFUSED"]);
    // Sums that no number can hold.
    let most = "18446744073709551614B";
    hugetlb(&["plan", "--sga", most, "--sga", most, "--processes", "4194304", &file])
        .says(3, &["REFUSED"]);
    let root = scratch.file("root/proc/meminfo", MEMINFO);
    let pool = "root/sys/kernel/mm/hugepages/hugepages-2048kB";
    for name in ["nr_hugepages", "free_hugepages", "resv_hugepages", "surplus_hugepages"] {
        scratch.file(&format!("{pool}/{name}"), "0\n");
    }
    let root = root.trim_end_matches("/proc/meminfo");
    let dry = ["apply", "--root", root, "--dry-run", "--sga"];
    let apply = |size| hugetlb(&[&dry[..], &[size]].concat());
    apply("20G").fails(6, "not applied: the pools would be larger than the memory");
    apply("18G").fails(6, "not applied: too little memory would remain");
    apply("10G").says(0, &["would bring the pool of 2 MiB pages from 0 to 5120 pages"]);
    let said = hugetlb(&["plan", "--root", root, "--sga", "2G", "--page-size", "1G"]);
    said.says(3, &["REFUSED: this kernel has no HugeTLB pages of the planned size"]);
    let real = ["apply", "--root", root, "--sga", "1G", "--state-dir", scratch.path()];
    hugetlb(&real).fails(2, "--dry-run");
}

#[test]
fn a_kernel_without_pools_can_be_planned_for() {
    let scratch = Folder::new();
    let root = scratch.file("root/proc/meminfo", MEMINFO);
    let root = root.trim_end_matches("/proc/meminfo");
    let said = hugetlb(&["plan", "--root", root, "--sga", "10G", "--headroom", "2G"]);
    said.says(0, &["6144", "Not seen: /sys/kernel/mm/hugepages: no pools there"]);
    let said = hugetlb(&["apply", "--root", root, "--sga", "10G", "--dry-run"]);
    said.fails(1, "this kernel has no HugeTLB pages");
    assert!(!Path::new(root).join("var").exists(), "a dry run leaves nothing");
}
