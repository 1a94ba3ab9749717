//! The built-in workloads of experiments as an experiment drives them: one process each.

use hugewise_experiment::kind::{Kind, More};
use hugewise_experiment::kinds::{self, AFTER, PARENT_METRICS};
use hugewise_scratch::Scratch;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// Small, so that all kinds together take a moment.
fn tiny(kind: &str) -> &'static str {
    match kind {
        "graph" => r#"{"scale":8}"#,
        "gups" => r#"{"mib":4,"hot_percent":50,"updates":"pages","beside":"base_pages"}"#,
        "allocator-churn" => r#"{"live_mib":2}"#,
        "shared-segment" => r#"{"mib":2,"processes":3}"#,
        "stress-cpu" | "stress-net" | "stress-switch" => "{}",
        "stress-io" | "stress-read" => r#"{"file_kib":4}"#,
        "stress-fork" => r#"{"pages":2}"#,
        "fragment-holes" | "fragment-page-cache" => {
            r#"{"max_mib":16,"fmfi_percent":0,"leave_mib":64}"#
        }
        _ => r#"{"mib":4}"#,
    }
}

/// A workload that runs.
struct Workload {
    process: Child,
    requests: Option<ChildStdin>,
    events: BufReader<ChildStdout>,
}

impl Workload {
    fn start(kind: &Kind, scratch: &Path, huge_pages: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_hugewise"))
            .args(["lab", "workload", "lab", kind.name, "--seed", "7", "--params", tiny(kind.name)])
            .args(["--huge-pages", huge_pages, "--scratch"])
            .arg(scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let requests = process.stdin.take();
        let events = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, requests, events }
    }

    /// The next event that is no progress.
    fn event(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.events.read_line(&mut line).expect("a line");
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if event["event"] != "progress" {
                return event;
            }
            assert!(event["percent"].is_number() && event["text"].is_string(), "{event}");
        }
    }

    fn ask(&mut self, request: &str) -> Value {
        let requests = self.requests.as_mut().expect("not closed");
        writeln!(requests, "{request}").expect("the workload listens");
        self.event()
    }

    fn tell(&mut self, request: &str) {
        let requests = self.requests.as_mut().expect("not closed");
        writeln!(requests, "{request}").expect("the workload listens");
    }

    /// Closes its input and waits for its end.
    fn end(mut self) -> ExitStatus {
        self.requests = None;
        self.process.wait().expect("it ends")
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn names(event: &Value) -> BTreeSet<String> {
    let values = event["values"].as_object().expect("values");
    assert!(values.values().all(Value::is_f64), "{event}");
    values.keys().cloned().collect()
}

#[test]
fn every_kind_says_ready_measured_with_all_its_metrics_and_verified() {
    let scratch = Scratch::new();
    for kind in kinds::builtin() {
        let mut workload = Workload::start(kind, &scratch, "inherit");
        let ready = workload.event();
        assert_eq!(ready["event"], "ready", "{}: {ready}", kind.name);
        let measured = workload.ask("measure 0.05");
        assert_eq!(measured["event"], "measured", "{}: {measured}", kind.name);
        let mut said = names(&ready);
        said.extend(names(&measured));
        let own = kind.metrics.iter().filter(|metric| !PARENT_METRICS.contains(metric));
        let (after, own): (BTreeSet<String>, BTreeSet<String>) =
            own.map(ToString::to_string).partition(|metric| metric.starts_with(AFTER));
        assert_eq!(said, own, "{}", kind.name);
        if kind.more == More::Change {
            assert_eq!(workload.ask("change")["event"], "changed", "{}", kind.name);
            let again = names(&workload.ask("measure 0.05")).into_iter();
            let again = again.map(|name| format!("{AFTER}.{name}")).collect();
            assert_eq!(after, again, "{}", kind.name);
        }
        let verified = workload.ask("verify");
        assert_eq!(verified["event"], "verified", "{}: {verified}", kind.name);
        assert!(verified["checked"].as_u64() > Some(0), "{}: {verified}", kind.name);
        if kind.more == More::Release {
            let released = workload.ask("release");
            assert_eq!(released["event"], "released", "{}: {released}", kind.name);
            assert!(names(&released).contains("fmfi"), "{}: {released}", kind.name);
        }
        assert!(workload.end().success(), "{}", kind.name);
    }
    let left: Vec<_> = fs::read_dir(&scratch).expect("readable").collect();
    assert!(left.is_empty(), "files are left: {left:?}");
}

#[test]
fn the_program_of_try_reads_faults_and_frees_on_request() {
    let scratch = Scratch::new();
    let demo = kinds::find("demo").expect("a kind");
    let mut workload = Workload::start(demo, &scratch, "later");
    let ready = workload.event();
    assert_eq!(ready["parts"].as_object().map(serde_json::Map::len), Some(3), "{ready}");
    assert!(ready["histograms"]["first_touch"].is_object(), "{ready}");
    let read = workload.ask("access 0.02");
    assert_eq!((&read["event"], names(&read).len()), (&"measured".into(), 1), "{read}");
    assert!(read["histograms"]["access"].is_object(), "{read}");
    let faulted = workload.ask("faults 0.02");
    assert!(faulted["histograms"]["map"].is_object(), "{faulted}");
    let all = workload.ask("verify")["checked"].as_u64();
    assert_eq!(workload.ask("free 50")["event"], "changed");
    assert!(workload.ask("verify")["checked"].as_u64() < all);
    workload.tell("corrupt");
    workload.tell("access 0.02");
    assert_eq!(workload.end().code(), Some(1), "what is freed cannot be read");
}

#[test]
fn damage_ends_every_kind_with_a_mismatch() {
    let scratch = Scratch::new();
    for kind in kinds::in_lab_workload() {
        let mut workload = Workload::start(kind, &scratch, "never");
        assert_eq!(workload.event()["event"], "ready", "{}", kind.name);
        workload.tell("corrupt");
        let mismatch = workload.ask("verify");
        assert_eq!(mismatch["event"], "mismatch", "{}: {mismatch}", kind.name);
        assert_eq!(mismatch["during"], "verify", "{}", kind.name);
        assert_eq!(workload.end().code(), Some(1), "{}", kind.name);
    }
}

#[test]
fn what_a_kind_does_about_huge_pages_is_what_was_asked_for() {
    let scratch = Scratch::new();
    let disabled = |huge_pages: &str, kind: &str| {
        let kind = kinds::find(kind).expect("a kind");
        let mut workload = Workload::start(kind, &scratch, huge_pages);
        assert_eq!(workload.event()["event"], "ready");
        let proc = format!("/proc/{}", workload.process.id());
        let status = fs::read_to_string(format!("{proc}/status")).expect("it runs");
        let smaps = fs::read_to_string(format!("{proc}/smaps")).expect("it runs");
        // 'hg' among the flags of a mapping: MADV_HUGEPAGE was asked for.
        let flags = smaps.lines().filter_map(|line| line.strip_prefix("VmFlags:"));
        let asked = flags.into_iter().any(|flags| flags.split_whitespace().any(|f| f == "hg"));
        let enabled = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
        (enabled.map(|text| text.trim() == "0"), asked)
    };
    // A kernel before 5.0 does not say whether a process may have huge pages.
    let says = disabled("inherit", "gups").0.is_some();
    assert_eq!(disabled("inherit", "gups"), (says.then_some(false), false));
    assert_eq!(disabled("never", "gups"), (says.then_some(true), false));
    assert_eq!(disabled("later", "gups"), (says.then_some(false), false));
    if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        // A kernel without huge pages: asking for them is an error.
        let gups = kinds::find("gups").expect("a kind");
        assert_eq!(Workload::start(gups, &scratch, "always").end().code(), Some(1));
        return;
    }
    assert_eq!(disabled("always", "gups"), (says.then_some(false), true));
    assert!(!disabled("inherit", "allocator-churn").1);
    assert!(disabled("always", "allocator-churn").1);
}

#[test]
fn what_a_kind_cannot_do_is_an_error() {
    let scratch = Scratch::new();
    let gups = kinds::find("gups").expect("a kind");
    for request in ["change", "release", "access 1", "free 70", "measure", "dance"] {
        let mut workload = Workload::start(gups, &scratch, "inherit");
        assert_eq!(workload.event()["event"], "ready");
        workload.tell(request);
        assert_eq!(workload.end().code(), Some(1), "{request}");
    }
}
