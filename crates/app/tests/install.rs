//! `make install`, `make uninstall` and what is handed out, into directories.

use hugewise_scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every file below a directory, by its path there.
fn files(below: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![below.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("readable").flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(below).expect("below").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The program that writes the pages, where it is built: cargo would build it anew, because for it
/// alone other features of the same libraries are wanted.
fn pages() -> Option<(&'static str, String)> {
    let program = Path::new(env!("CARGO_BIN_EXE_hugewise")).with_file_name("xtask");
    program.exists().then(|| ("PAGES", format!("{} pages", program.display())))
}

fn make(target: &str, into: &Path) {
    let done = Command::new("make")
        .envs(pages())
        .arg("-C")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["--no-print-directory", target, "PREFIX=/opt/hw"])
        .arg(format!("DESTDIR={}", into.display()))
        .arg(format!("PROGRAM={}", env!("CARGO_BIN_EXE_hugewise")))
        .output()
        .expect("make runs");
    assert!(done.status.success(), "{target}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn all_is_installed_and_nothing_left() {
    let root = Scratch::new();
    make("install", root.path());
    let installed = files(root.path());
    let has = |file: &str| installed.iter().any(|path| path == Path::new(file));
    for file in [
        "opt/hw/bin/hugewise",
        "opt/hw/share/man/man1/hugewise.1",
        "opt/hw/share/man/man1/hugewise-manage.1",
        "opt/hw/share/bash-completion/completions/hugewise",
        "opt/hw/share/zsh/site-functions/_hugewise",
        "opt/hw/share/fish/vendor_completions.d/hugewise.fish",
        "opt/hw/lib/systemd/system/hugewise.service",
        "opt/hw/lib/systemd/system/hugewise-metrics.service",
        "opt/hw/lib/systemd/system/hugewise-metrics.timer",
        "opt/hw/lib/systemd/system/hugewise-record.service",
        "opt/hw/lib/systemd/system/hugewise-serve.service",
        "opt/hw/lib/systemd/system/hugewise-serve.socket",
        "opt/hw/share/hugewise/prometheus/hugewise.rules.yml",
        "opt/hw/share/hugewise/grafana/hugewise.json",
        "opt/hw/share/hugewise/kubernetes/observe/daemonset.yaml",
    ] {
        assert!(has(file), "{file} is missing: {installed:?}");
    }
    let unit = root.path().join("opt/hw/lib/systemd/system/hugewise.service");
    let unit = fs::read_to_string(unit).expect("readable");
    assert!(unit.contains("ExecStart=/opt/hw/bin/hugewise manage"), "{unit}");
    assert!(!unit.contains("/usr/bin/hugewise"), "{unit}");
    let said = Command::new(root.path().join("opt/hw/bin/hugewise")).arg("--version").output();
    assert!(said.expect("runs").status.success());
    make("uninstall", root.path());
    assert_eq!(files(root.path()), Vec::<PathBuf>::new());
}

/// Runs the script that packs; the program is any one.
fn pack(into: &Path) -> Vec<PathBuf> {
    let done = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/dist.sh"))
        .envs(pages())
        .env("OUTPUT", into)
        .env("PROGRAM", "/bin/true")
        .env("SOURCE_DATE_EPOCH", "1000000000")
        .output()
        .expect("the script runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    files(into)
}

/// What a tool says.
fn said(tool: &str, args: &[&str], file: &Path) -> String {
    let done = Command::new(tool).args(args).arg(file).output().expect("it runs");
    assert!(done.status.success(), "{tool}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// An image's parts name each other by digests that hold, and its layer has the program.
fn image(path: &Path) {
    let unpacked = Scratch::new();
    said("tar", &["-C", &unpacked.path().display().to_string(), "-xf"], path);
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().and_then(|text| text.strip_prefix("sha256:"));
        let path = unpacked.path().join("blobs/sha256").join(digest.expect("a digest"));
        let sum = said("sha256sum", &[], &path);
        assert_eq!(sum.split_whitespace().next(), digest);
        let length = fs::metadata(&path).expect("there").len();
        assert_eq!(descriptor["size"], length);
        path
    };
    let json = |path: PathBuf| -> Value {
        serde_json::from_slice(&fs::read(path).expect("readable")).expect("JSON")
    };
    let index = json(unpacked.path().join("index.json"));
    let manifest = json(blob(&index["manifests"][0]));
    let config = json(blob(&manifest["config"]));
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/hugewise");
    let list = said("tar", &["-tzvf"], &blob(&manifest["layers"][0]));
    assert!(list.contains("usr/bin/hugewise"), "{list}");
}

#[test]
fn the_same_commit_gives_the_same_packages() {
    let (one, two) = (Scratch::new(), Scratch::new());
    let packages = pack(one.path());
    assert_eq!(packages, pack(two.path()));
    for package in &packages {
        let bytes = |scratch: &Scratch| fs::read(scratch.path().join(package)).expect("readable");
        assert!(bytes(&one) == bytes(&two), "{package:?} differs");
        let (path, name) = (one.path().join(package), package.display().to_string());
        if name.ends_with(".oci.tar") {
            image(&path);
            continue;
        }
        let (list, page) = match path.extension().and_then(|kind| kind.to_str()) {
            Some("deb") => (said("dpkg-deb", &["-c"], &path), "man1/hugewise-manage.1.gz\n"),
            Some("rpm") => (said("rpm", &["-qplv"], &path), "man1/hugewise-manage.1.gz\n"),
            _ => (said("tar", &["-tzvf"], &path), "man1/hugewise-manage.1\n"),
        };
        for file in ["bin/hugewise\n", page, "system/hugewise.service\n"] {
            assert!(list.contains(file), "{name} has no {file}: {list}");
        }
        let root = ["root/root", " 0/0 ", " root     root "];
        let theirs = |line: &str| root.iter().any(|owner| line.contains(owner));
        assert!(list.lines().all(theirs), "{list}");
    }
    let made = |kind| packages.iter().any(|package| package.to_string_lossy().ends_with(kind));
    assert!(made(".tar.gz"));
    for (tool, kind) in [("dpkg-deb", ".deb"), ("rpmbuild", ".rpm")] {
        let is_there = Command::new(tool).arg("--version").output().is_ok();
        assert_eq!(made(kind), is_there, "{kind} where {tool} is there: {is_there}");
    }
}

/// A removal and a purge reach every unit: the packages' scripts know no other list.
#[test]
fn scripts_of_packages_name_every_unit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_unit =
        |name: &str| [".service", ".socket", ".timer"].iter().any(|kind| name.ends_with(kind));
    let shipped = files(&root.join("dist"));
    let units: Vec<String> = shipped.iter().map(|path| path.display().to_string()).collect();
    let units: Vec<_> = units.into_iter().filter(|name| is_unit(name)).collect();
    assert!(units.len() >= 6, "{units:?}");
    let into = Scratch::new();
    for package in pack(into.path()) {
        let path = into.path().join(&package);
        let scripts = match path.extension().and_then(|kind| kind.to_str()) {
            Some("deb") => ["prerm", "postinst", "postrm"].map(|script| {
                let done = Command::new("dpkg-deb").arg("-I").arg(&path).arg(script).output();
                String::from_utf8_lossy(&done.expect("it runs").stdout).into_owned()
            }),
            Some("rpm") => {
                let tags = ["%{PREUN}", "%{POSTTRANS}", "%{POSTUN}"];
                tags.map(|tag| said("rpm", &["-qp", "--qf", tag], &path))
            }
            _ => continue,
        };
        for script in scripts {
            let list = script.lines().find_map(|line| line.strip_prefix("UNITS="));
            let mut list: Vec<_> =
                list.expect("a list").trim_matches('"').split_whitespace().collect();
            list.sort_unstable();
            assert_eq!(list, units, "{package:?}");
        }
    }
}
