//! `hugewise advise` on a made-up host, and of files that nobody should believe. Needs no right and
//! changes nothing.

use hugewise_scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

/// A process of the made-up host.
struct Process {
    pid: u32,
    exe: &'static str,
    arguments: &'static [&'static str],
    maps: &'static str,
    /// `THP_enabled` of its status.
    thp_enabled: u32,
    package: &'static str,
    version: &'static str,
}

const QUARREL: [Process; 4] = [
    Process {
        pid: 11,
        exe: "/usr/bin/mongod",
        arguments: &["/usr/bin/mongod", "--config", "/etc/mongod.conf"],
        maps: "/usr/lib/libc.so.6",
        thp_enabled: 1,
        package: "mongodb-org-server",
        version: "8.0.4",
    },
    Process {
        pid: 12,
        exe: "/home/admin/oceanbase/bin/observer",
        arguments: &["observer", "-p", "2881"],
        maps: "/usr/lib/libc.so.6",
        thp_enabled: 1,
        package: "oceanbase-ce",
        version: "4.3.5.1",
    },
    Process {
        pid: 13,
        exe: "/opt/semeru/bin/java",
        arguments: &["java", "-jar", "/srv/shop.jar"],
        maps: "/opt/semeru/lib/default/libj9vm29.so",
        thp_enabled: 1,
        package: "ibm-semeru-open-17-jre",
        version: "17.0.9",
    },
    Process {
        pid: 14,
        exe: "/usr/bin/redis-server",
        arguments: &["/usr/bin/redis-server 127.0.0.1:6379"],
        maps: "/usr/lib/libc.so.6",
        thp_enabled: 0,
        package: "redis-server",
        version: "5:7.0.15-1",
    },
];

fn written(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

/// A host whose vendors want three different global modes, under THP `always`.
pub(crate) fn quarrel() -> Scratch {
    let scratch = Scratch::new();
    let root: &Path = &scratch;
    let thp = "sys/kernel/mm/transparent_hugepage";
    for (file, text) in [
        ("enabled", "[always] madvise never\n"),
        ("defrag", "always defer defer+madvise [madvise] never\n"),
        ("hpage_pmd_size", "2097152\n"),
        ("khugepaged/max_ptes_none", "511\n"),
    ] {
        written(root, &format!("{thp}/{file}"), text);
    }
    for (file, text) in [
        ("proc/meminfo", "MemTotal: 16000000 kB\n"),
        ("proc/cmdline", "quiet transparent_hugepages=never\n"),
        ("proc/sys/kernel/osrelease", "6.12.5-amd64\n"),
        ("proc/sys/kernel/arch", "x86_64\n"),
        ("proc/sys/vm/overcommit_memory", "1\n"),
        ("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
        ("usr/lib/systemd/libsystemd-shared-260.so", ""),
        ("etc/tmpfiles.d/thp.conf", &format!("w /{thp}/enabled - - - - always\n")),
    ] {
        written(root, file, text);
    }
    let mut status = String::new();
    for one in QUARREL {
        let folder = format!("proc/{}", one.pid);
        written(root, &format!("{folder}/statm"), "20000 10000 1000 1 0 9000 0\n");
        let text = format!("Name:\t{}\nTHP_enabled:\t{}\n", one.pid, one.thp_enabled);
        written(root, &format!("{folder}/status"), &text);
        written(root, &format!("{folder}/cmdline"), &(one.arguments.join("\0") + "\0"));
        written(root, &format!("{folder}/environ"), "PATH=/bin\0");
        let map = format!("7f0000000000-7f0000001000 r-xp 00000000 08:01 77 {}\n", one.maps);
        written(root, &format!("{folder}/maps"), &map);
        written(root, &format!("{folder}/cgroup"), "0::/system.slice/x.service\n");
        symlink(one.exe, root.join(&folder).join("exe")).expect("linked");
        let list = format!("var/lib/dpkg/info/{}.list", one.package);
        written(root, &list, &format!("{}\n", one.exe));
        status += &format!(
            "Package: {}\nStatus: install ok installed\nVersion: {}\n\n",
            one.package, one.version
        );
    }
    written(root, "var/lib/dpkg/status", &status);
    scratch
}

fn hugewise(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    let Output { status, stdout, stderr } =
        command.args(["--color", "never"]).args(arguments).output().expect("the program runs");
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.code(), text)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn vendors_who_contradict_each_other_get_a_way_of_least_reach_each() {
    let scratch = quarrel();
    let root = scratch.to_str().expect("a path");
    let (code, text) = hugewise(&["--root", root, "advise"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let line = one_line(&text);
    for part in [
        "This host is NOT as its products want it",
        "Transparent huge pages are 'always' globally.",
        "MongoDB 8.0.4",
        "No global mode is right for all of these products.",
        "Set the global mode to 'madvise'; it touches",
        "MongoDB 8.0.4 (pid 11), always: 'hugewise manage' makes its memory huge",
        "Eclipse OpenJ9 17.0.9",
        "OceanBase 4.3.5.1 (pid 12) demands 'never' for transparent huge pages: ",
        "OceanBase 4.3.5.1 (pid 12), never: a drop-in of x.service: MemoryTHP=disable; then \
         restart it. Its vendor's check reads the global file, and may still fail.",
        "'always' by tmpfiles.d (/etc/tmpfiles.d/thp.conf, line 1)",
        "it has no 's'",
    ] {
        assert!(line.contains(part), "{part}: {text}");
    }
    assert!(!line.contains("Redis 7.0.15 (pid 14), "), "it refuses them for itself: {text}");
    let (_, text) = hugewise(&["--json", "--root", root, "advise"]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&json["wanted_global"], &json["is_conflict"]), (&"madvise".into(), &true.into()));
    let (code, text) = hugewise(&["--root", root, "advise", "apply", "--dry-run"]);
    assert_eq!(code, Some(5), "a manager is to be started by hand: {text}");
    let line = one_line(&text);
    assert!(line.contains("transparent huge pages: always -> madvise"), "{text}");
    assert!(line.contains("x.service.d/50-hugewise-advice.conf: written"), "{text}");
    let (code, _) = hugewise(&["--root", root, "advise", "apply"]);
    assert_eq!(code, Some(2), "nothing is changed in another tree");
}

#[test]
fn rules_that_are_wrong_are_refused_with_their_place() {
    let scratch = Scratch::new();
    let rules = scratch.join("rules");
    let file = |text: &str| {
        written(&scratch, "rules/shop.toml", text);
        hugewise(&["advise", "list", "--rules", rules.to_str().expect("a path")])
    };
    let rule = |setting: &str, accept: &str| {
        format!(
            "id = \"shop\"\nname = \"Shop\"\nprograms = [\"shopd\"]\n[[example]]\nexe = \
             \"/usr/bin/shopd\"\n[[rule]]\nid = \"shop-1\"\nrevision = 1\ndate = \"2026-11-30\"\n\
             setting = \"{setting}\"\naccept = [\"{accept}\"]\nlevel = \"required\"\nwhy = \"w\"\n\
             source = \"s\"\nread_on = \"2026-11-30\"\n"
        )
    };
    let (code, text) = file(&rule("thp", "never"));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("shop-1"), "{text}");
    for (wrong, part) in [
        (rule("kernel.core_pattern", "x"), "line 10"),
        (rule("thp", "often"), "'often' is no value of thp"),
        (rule("thp", "never").replace("shopd\"]", "*\"]"), "fits nearly everything"),
        ("id = \"shop\"\nrulez = 1\n".to_owned(), "line 2"),
        ("id = \"\u{1b}]0;x\u{7}\"\n".to_owned(), "control character"),
        (rule("thp", "never").replace("2026-11-30", "2026-02-31"), "expected a day"),
    ] {
        let (code, text) = file(&wrong);
        assert_eq!(code, Some(1), "{wrong}: {text}");
        assert!(text.contains(part), "{part}: {text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
    // Root believes nothing that others can change.
    fs::set_permissions(&rules, fs::Permissions::from_mode(0o777)).expect("a mode");
    let (code, text) = file(&rule("thp", "never"));
    let is_root = rustix::process::geteuid().is_root();
    let (wanted, part) = if is_root { (6, "can be changed by others") } else { (0, "shop-1") };
    assert!(code == Some(wanted) && text.contains(part), "{text}");
    fs::set_permissions(&rules, fs::Permissions::from_mode(0o755)).expect("a mode");
    file(&rule("thp", "never").replace("2026-11-30", "2026-02-31"));
    let (code, text) = hugewise(&["advise", "lint", rules.to_str().expect("a path")]);
    assert!(code == Some(1) && text.contains("2 faults"), "{text}");
}

#[test]
fn rules_of_the_program_can_be_listed_and_shown() {
    let (code, text) = hugewise(&["advise", "lint"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = hugewise(&["advise", "list"]);
    assert!(code == Some(0) && text.contains("mongodb-8-thp"), "{text}");
    let (code, text) = hugewise(&["advise", "show", "redis-thp"]);
    assert!(code == Some(0) && text.contains("source: https://"), "{text}");
    let (code, text) = hugewise(&["advise", "show", "nothing"]);
    assert!(code == Some(2) && text.contains("'hugewise advise list'"), "{text}");
}
