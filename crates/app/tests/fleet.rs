//! What is for many machines: `hugewise diagnose --fleet` on the command line, one table and SQL on
//! it; and the manifests for Kubernetes.

use hugewise_scratch::Scratch;
use libtest_mimic::{Completion, Trial};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn trials() -> Vec<Trial> {
    let done = |test: fn()| {
        move || {
            test();
            Ok(())
        }
    };
    vec![
        Trial::test("one_bad_recording_is_named_and_the_rest_is_used", done(one_bad_recording)),
        Trial::test(
            "a_recording_whose_reader_dies_is_named_and_the_rest_is_used",
            done(dead_reader),
        ),
        Trial::test("what_it_cannot_take_is_said", done(what_it_cannot_take)),
        Trial::test("a_report_has_each_host_that_suffers", done(report)),
        Trial::ignorable_test("duckdb_runs_the_queries_of_the_page", || {
            let tools = tools();
            if python(&tools, "import duckdb").is_none_or(|done| !done.status.success()) {
                return Ok(Completion::ignored_with("no duckdb: 'make deps' fetches it"));
            }
            queries(&tools);
            Ok(Completion::Completed)
        }),
        Trial::ignorable_test("kubernetes_takes_the_manifests", || {
            let tools = tools();
            let found = python(&tools, "import kubernetes_validate");
            if found.is_none_or(|done| !done.status.success()) {
                return Ok(Completion::ignored_with(
                    "no kubernetes-validate: 'make deps' fetches it",
                ));
            }
            manifests(&tools);
            Ok(Completion::Completed)
        }),
    ]
}

/// Where `scripts/deps.sh` puts modules of Python.
fn tools() -> PathBuf {
    let home = std::env::var_os("HOME").unwrap_or_else(|| "/root".into());
    Path::new(&home).join(".cache/hugewise-test-tools")
}

/// Each manifest is as the schemas of Kubernetes say, strictly: no member that they do not know.
fn manifests(tools: &Path) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/kubernetes");
    for file in ["observe", "manage"]
        .map(|name| folder.join(name))
        .iter()
        .flat_map(|folder| ["namespace.yaml", "daemonset.yaml"].map(|file| folder.join(file)))
    {
        let done = Command::new("/usr/bin/python3")
            .args(["-m", "kubernetes_validate", "--strict"])
            .arg(&file)
            .env("PYTHONPATH", tools)
            .output()
            .expect("python3 runs");
        let said = String::from_utf8_lossy(&done.stderr) + String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("passed"), "{}: {said}", file.display());
    }
}

fn python(tools: &Path, code: &str) -> Option<Output> {
    Command::new("/usr/bin/python3").args(["-c", code]).env("PYTHONPATH", tools).output().ok()
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence/tests/recordings/made")
}

fn fleet(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.args(["--color", "never", "diagnose", "--fleet"]).args(args);
    command.output().expect("the program runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn one_bad_recording() {
    let scratch = Scratch::new();
    for entry in fs::read_dir(recordings()).expect("recordings").flatten() {
        fs::copy(entry.path(), scratch.join(entry.file_name())).expect("copied");
    }
    fs::write(scratch.join("zz-broken.sar"), [0, 159, 146, 150, 0, 0]).expect("written");
    fs::write(scratch.join("zz-empty.sar"), "").expect("written");
    let pipe = Command::new("mkfifo").arg(scratch.join("zz-pipe")).status().expect("mkfifo runs");
    assert!(pipe.success());
    let done = fleet(&[text(scratch.path()), "--json"]);
    assert_eq!(done.status.code(), Some(4), "{done:?}");
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let left_out = json["left_out"].as_array().expect("a list");
    let names: Vec<_> = left_out.iter().filter_map(|one| one["recording"].as_str()).collect();
    assert!(names.len() == 3 && names[0].ends_with("zz-broken.sar"), "{names:?}");
    assert!(json["recordings"].as_u64() > Some(50), "{json}");
    let words = fleet(&[text(scratch.path())]);
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(words.contains("zz-broken.sar") && words.contains("3 recordings left out"), "{words}");
    assert!(words.lines().all(|line| line.chars().count() <= 80), "{words}");
}

/// The child of this program that has this file open.
fn reader_of(file: &Path, program: u32) -> u32 {
    let has_open = |pid: &u32| {
        let mut open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        open.any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file))
    };
    for _ in 0..3000 {
        let threads = fs::read_dir(format!("/proc/{program}/task")).expect("it runs").flatten();
        let children = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
        let children: Vec<String> = children.collect();
        let pids = children.iter().flat_map(|pids| pids.split_whitespace());
        if let Some(pid) = pids.filter_map(|pid| pid.parse().ok()).find(has_open) {
            return pid;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("nobody reads {}", file.display());
}

fn dead_reader() {
    let scratch = Scratch::new();
    for entry in fs::read_dir(recordings()).expect("recordings").flatten().take(3) {
        fs::copy(entry.path(), scratch.join(entry.file_name())).expect("copied");
    }
    // A minute's work for a reader that nobody kills.
    let long = scratch.join("long.txt");
    fs::write(&long, "1 : x / % $\n".repeat(8 << 20)).expect("written");
    for entry in fs::read_dir(scratch.path()).expect("recordings").flatten() {
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o600)).expect("a mode");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.args(["diagnose", "--fleet", text(scratch.path()), "--json"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let fleet = command.spawn().expect("the program runs");
    let reader = reader_of(&long, fleet.id());
    let read = || fs::read_to_string(format!("/proc/{reader}/status")).expect("a reader");
    let mut status = read();
    // It opens files as root, and nobody else may open these; then it has no right of root's.
    for _ in 0..3000 {
        if !status.contains("Uid:\t0\t") || !rustix::process::geteuid().is_root() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        status = read();
    }
    if rustix::process::geteuid().is_root() {
        assert!(!status.contains("Uid:\t0\t"), "{status}");
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert!(status.contains(&format!("{set}:\t0000000000000000")), "{status}");
        }
    }
    assert!(status.contains("Name:\thugewise-reader") && status.contains("NoNewPrivs:\t1"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(reader).expect("a pid"));
    rustix::process::kill_process(pid.expect("a pid"), rustix::process::Signal::KILL)
        .expect("a signal");
    let done = fleet.wait_with_output().expect("it ends");
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let left_out = json["left_out"].as_array().expect("a list");
    assert_eq!((left_out.len(), json["recordings"].as_u64()), (1, Some(3)), "{json}");
    assert_eq!(left_out[0]["why"], "its reader was ended by SIGKILL");
    assert!(done.status.code() >= Some(3), "{:?}", done.status);
}

fn what_it_cannot_take() {
    let scratch = Scratch::new();
    for (args, code, said) in [
        (vec![text(scratch.path())], 1, "holds no recordings"),
        (vec!["/nowhere"], 1, "cannot read '/nowhere'"),
        (vec![text(scratch.path()), "--table", "-", "--json"], 2, "both are standard output"),
        (vec![text(scratch.path()), "--at", "03:00"], 2, "one table"),
    ] {
        let done = fleet(&args);
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            done.status.code() == Some(code) && error.contains(said),
            "{code}, {said}: {error}"
        );
    }
}

fn report() {
    let scratch = Scratch::new();
    let file = scratch.join("fleet.html");
    let done = fleet(&[text(&recordings()), "--report", text(&file), "--json"]);
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let page = fs::read_to_string(&file).expect("a page");
    for finding in json["findings"].as_array().expect("a list") {
        let host = finding["host"].as_str().expect("a name");
        assert!(page.contains(&format!("<b>{host}</b>")), "{host} is not in the page");
    }
    assert!(page.ends_with("</html>\n") && !page.contains("http://"), "it needs a server");
}

fn queries(tools: &Path) {
    let scratch = Scratch::new();
    let table = scratch.join("findings.jsonl");
    let done = fleet(&[text(&recordings()), "--table", text(&table), "--json"]);
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let findings = json["findings"].as_array().expect("a list").len();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/fleet.md");
    let page = fs::read_to_string(page).expect("the page");
    let blocks = page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next());
    let queries: Vec<&str> = blocks.collect();
    assert_eq!(queries.len(), 3);
    let code = format!(
        "import duckdb, os\nos.chdir({:?})\nprint(duckdb.sql(\"SELECT count(*) FROM \
         'findings.jsonl'\").fetchall()[0][0])\nfor query in {queries:?}:\n    \
         print(len(duckdb.sql(query).fetchall()))\n",
        text(scratch.path())
    );
    let done = python(tools, &code).expect("Python runs");
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    let rows: Vec<usize> = out.lines().filter_map(|line| line.parse().ok()).collect();
    assert!(rows.len() == 4, "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(rows[0], findings, "DuckDB reads all rows");
    assert!(rows.iter().all(|count| *count > 0), "{rows:?}");
}
