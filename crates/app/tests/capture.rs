//! `hugewise capture` on the machine at hand, as whoever runs the test.

use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_evidence::recording::{Builder, Field, Host, Recording, Subject};
use hugewise_scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Stands in the arguments of a process that a test starts, and nowhere else.
const SECRET: &str = "token-3fa94c0e71";

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn hugewise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn capture(to: &Path, arguments: &[&str]) -> Output {
    let to = to.display().to_string();
    let all = [&["capture", "-o", &to], arguments].concat();
    hugewise(&all).output().expect("the program runs")
}

/// The texts of all samples, in order.
fn texts(directory: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(directory).expect("it can be listed");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("listed").path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "zst"));
    files.sort();
    let packed = files.iter().map(|file| fs::read(file).expect("it can be read"));
    packed.map(|p| zstd::bulk::decompress(&p, 64 << 20).expect("a zstd frame")).collect()
}

fn recording(texts: &[Vec<u8>]) -> Recording {
    let (mut out, mut samples) = (Builder::new(), Capture::new("c"));
    for text in texts {
        samples.take(text, &mut out);
    }
    samples.end(&mut out);
    out.finish()
}

fn manifest(directory: &Path) -> Value {
    let text = fs::read(directory.join("manifest.json")).expect("there is a manifest");
    serde_json::from_slice(&text).expect("the manifest is JSON")
}

fn values(host: &Host, field: Field, subject: &Subject) -> usize {
    host.series(field, subject).map_or(0, |series| series.points.len())
}

fn holds(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|window| window == word.as_bytes())
}

#[test]
fn three_seconds_of_this_machine_read_back() {
    let scratch = Scratch::new();
    // A shell that stays, with the word among its arguments and in its environment.
    let shell = Command::new("sh")
        .args(["-c", "sleep 60; :", "sh", SECRET])
        .env("HUGEWISE_TEST_SECRET", SECRET)
        .stdout(Stdio::null())
        .spawn()
        .expect("sh runs");
    let shell = Running(shell);
    let pid = shell.0.id();
    let dir = scratch.join("plain");
    let done = capture(&dir, &["--for", "3s", "--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));

    let found = manifest(&dir);
    let printed: Value = serde_json::from_slice(&done.stdout).expect("JSON was asked for");
    assert_eq!(printed, found);
    assert_eq!((&found["schema"], &found["complete"]), (&1.into(), &true.into()));
    assert_eq!((&found["ended"], &found["interval_ms"]), (&"time".into(), &1000.into()));
    let texts = texts(&dir);
    assert_eq!(found["samples"], texts.len());
    // Four where the machine keeps up.
    assert!((3..=4).contains(&texts.len()), "{} samples", texts.len());
    assert!(texts.iter().all(|text| !holds(text, SECRET)), "an argument was captured");
    assert!(!holds(&fs::read(dir.join("manifest.json")).expect("read"), SECRET));

    let recording = recording(&texts);
    let host = &recording.hosts[0];
    let rates = texts.len() - 1;
    assert_eq!(values(host, Field::CpuIdle, &Subject::Machine), rates);
    assert_eq!(values(host, Field::MemFree, &Subject::Machine), texts.len());
    assert_eq!(values(host, Field::Faults, &Subject::Machine), rates);
    assert_eq!(values(host, Field::ProcCpu, &Subject::process(Some(pid), "sh")), rates);
    // A disk that was never used is none; a machine may have no other.
    let disks = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    if disks.lines().any(|line| line.contains(" vda ") || line.contains(" sda ")) {
        assert!(host.subjects(Field::DiskBusy).next().is_some());
    }

    let with = scratch.join("with");
    let done = capture(&with, &["--for", "1s", "--with-arguments"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(self::texts(&with).iter().any(|text| holds(text, SECRET)), "it was asked for");
    assert!(self::texts(&with).iter().all(|text| !holds(text, "HUGEWISE_TEST_SECRET")));
}

#[test]
fn a_directory_in_use_is_refused() {
    let scratch = Scratch::new();
    fs::write(scratch.join("mine"), "precious").expect("written");
    let done = capture(&scratch, &["--for", "1s"]);
    assert_eq!(done.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&done.stderr).contains("is not empty"));
    assert_eq!(fs::read_dir(&scratch).expect("listed").count(), 1);
    for wrong in [["--every", "9s"], ["--every", "x"], ["--processes", "4097"]] {
        let all = [&["--for", "5s"], &wrong[..]].concat();
        let done = capture(&scratch.join("new"), &all);
        assert_eq!(done.status.code(), Some(2), "{wrong:?}");
        assert!(!scratch.join("new").exists());
    }
}

#[test]
fn sigterm_leaves_a_complete_capture() {
    let scratch = Scratch::new();
    let dir = scratch.join("c");
    let to = dir.display().to_string();
    let mut child = hugewise(&["capture", "-o", &to, "--for", "10m"])
        .stdout(Stdio::null())
        .spawn()
        .expect("the program runs");
    let until = Instant::now() + Duration::from_secs(30);
    while !dir.join("000002.zst").exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(manifest(&dir)["complete"], false);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it still runs");
    assert!(child.wait().expect("it ends").success());
    let found = manifest(&dir);
    assert_eq!((&found["complete"], &found["ended"]), (&true.into(), &"signal".into()));
    let texts = texts(&dir);
    assert_eq!(found["samples"], texts.len());
    assert!(texts.len() >= 2);
    assert_eq!(recording(&texts).problems, []);
}

#[test]
fn another_root_can_be_captured() {
    let scratch = Scratch::new();
    let root = scratch.join("root");
    fs::create_dir_all(root.join("proc/sys/kernel")).expect("made");
    fs::write(root.join("proc/loadavg"), "1.50 0.75 0.40 2/157 41317\n").expect("written");
    fs::write(root.join("proc/sys/kernel/hostname"), "db1\n").expect("written");
    let root = root.display().to_string();
    let done = capture(&scratch.join("c"), &["--for", "1s", "--root", &root]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found = manifest(&scratch.join("c"));
    assert_eq!(found["host"], "db1");
    let unreadable = found["unreadable"].as_array().expect("a list");
    assert!(unreadable.iter().any(|file| file["path"] == "/proc/stat"));
    let recording = recording(&texts(&scratch.join("c")));
    assert_eq!(recording.hosts[0].name.as_deref(), Some("db1"));
    assert_eq!(values(&recording.hosts[0], Field::Load1, &Subject::Machine), 2);
}
