//! `hugewise diagnose --follow`: watches, keeps what drew attention, and ends cleanly.

use hugewise_scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A share of nothing is above nothing: it draws attention at once, and nothing else does.
const ALWAYS: [&str; 12] = [
    "--set",
    "steal_high_percent=0",
    "--set",
    "episode_full_s=1",
    "--set",
    "kernel_high_percent=101",
    "--set",
    "iowait_high_percent=101",
    "--set",
    "interrupt_high_percent=101",
    "--set",
    "watch_jump_points=101",
];
/// Nothing is ever above these.
const NEVER: [&str; 10] = [
    "--set",
    "steal_high_percent=101",
    "--set",
    "kernel_high_percent=101",
    "--set",
    "iowait_high_percent=101",
    "--set",
    "interrupt_high_percent=101",
    "--set",
    "watch_jump_points=101",
];

fn hugewise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn follow(keep: &Path, more: &[&str]) -> Command {
    let keep = keep.to_str().expect("a plain path");
    let mut command = hugewise(&["diagnose", "--follow", "--keep", keep]);
    command.args(more);
    command
}

fn said(done: &Output) -> String {
    let [out, err] = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}

#[test]
fn what_drew_attention_is_told_and_kept() {
    let scratch = Scratch::new();
    let keep = scratch.join("kept");
    let done = follow(&keep, &["--for", "3s", "--json"]).args(ALWAYS).output().expect("it runs");
    let event: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", said(&done));
    });
    assert_eq!(event["alarms"][0]["share"], "steal", "{event}");
    assert_eq!(event["diagnosis"]["command"], "diagnose");
    let kept = event["kept"].as_str().expect("it was kept");
    // Only its owner may look: it names all programs.
    for (place, expected) in [(keep.as_path(), 0o700), (Path::new(kept), 0o600)] {
        let mode = fs::metadata(place).expect("made").permissions().mode();
        assert_eq!(mode & 0o777, expected, "{}", place.display());
    }
    let again = hugewise(&["diagnose", "--json", kept]).output().expect("it runs");
    assert_ne!(again.status.code(), Some(1), "{}", said(&again));
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["sources"][0]["kind"], event["diagnosis"]["sources"][0]["kind"]);
    assert_eq!(done.status.code().map(i64::from), expected(&event["diagnosis"]));
}

/// How a diagnosis alone would end.
fn expected(diagnosis: &Value) -> Option<i64> {
    let has = |level: &str| {
        let findings = diagnosis["findings"].as_array().into_iter().flatten();
        findings.into_iter().any(|finding| finding["severity"] == level)
    };
    Some(match (has("critical"), has("warning"), diagnosis["partial"] == true) {
        (true, ..) => 4,
        (_, true, _) => 3,
        (_, _, true) => 5,
        _ => 0,
    })
}

#[test]
fn a_quiet_machine_is_told_nothing_of() {
    let scratch = Scratch::new();
    let keep = scratch.join("kept");
    let done = follow(&keep, &["--for", "3s"]).args(NEVER).output().expect("it runs");
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(done.stdout.is_empty(), "{}", said(&done));
    assert_eq!(fs::read_dir(&keep).expect("made").count(), 0);
}

#[test]
fn a_signal_ends_it_with_what_was_seen() {
    let scratch = Scratch::new();
    let keep = scratch.join("kept");
    let mut child = follow(&keep, &ALWAYS).spawn().expect("it runs");
    let pid = i32::try_from(child.id()).expect("a pid");
    // Until it has seen something; a slow machine takes its time to start it.
    std::thread::sleep(Duration::from_secs(8));
    let began = Instant::now();
    let pid = rustix::process::Pid::from_raw(pid).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it lives");
    assert!(child.wait().is_ok());
    assert!(began.elapsed() < Duration::from_secs(60), "it went on");
    let done = child.wait_with_output().expect("its words");
    let text = said(&done);
    assert!(text.contains("CPU taken by the hypervisor has been at"), "{text}");
    assert!(text.contains("Kept: "), "{text}");
    assert_eq!(fs::read_dir(&keep).expect("made").count(), 1);
}

#[test]
fn what_cannot_be_kept_is_said_at_once() {
    let done = follow(Path::new("/proc/nowhere"), &["--for", "3s"]).output().expect("it runs");
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("/proc/nowhere"), "{}", said(&done));
    for wrong in [
        &["--keep", "x"][..],
        &["--longer-than", "1s"],
        &["--follow", "--longer-than", "1s"],
        &["--follow", "sar.txt"],
        &["--follow", "--report", "-"],
        &["--freezes", "--follow"],
        &["--freezes", "sar.txt"],
        &["--freezes", "--at", "03:00"],
        &["--freezes", "--set", "kernel_high_percent=20"],
        &["--freezes", "--longer-than", "19ms"],
    ] {
        let done = hugewise(&[&["diagnose"], wrong].concat()).output().expect("it runs");
        assert_eq!(done.status.code(), Some(2), "{wrong:?}: {}", said(&done));
    }
}
