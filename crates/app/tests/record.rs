//! `hugewise record -o` on the machine at hand, as the user who runs the test.

use hugewise_evidence::history::frame::{HEAD_BYTES, Head};
use hugewise_evidence::recording::readers::capture::Capture;
use hugewise_evidence::recording::{Builder, Field, Host, Recording, Subject};
use hugewise_scratch::Scratch;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
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

fn record(to: &Path, arguments: &[&str]) -> Output {
    let to = to.display().to_string();
    let all = [&["record", "-o", &to], arguments].concat();
    hugewise(&all).output().expect("the program runs")
}

/// The texts of all samples of a file, in order: each frame has the one before as its dictionary.
fn texts(file: &Path) -> Vec<Vec<u8>> {
    let all = fs::read(file).expect("it can be read");
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut rest = all.as_slice();
    while let Some((head, after)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let head = Head::parse(head).expect("a whole head");
        let (packed, after) = after.split_at(head.packed_bytes as usize);
        let alone = head.number == 0;
        let before = texts.last().filter(|_| !alone).map_or(&[][..], Vec::as_slice);
        let mut decoder =
            zstd::stream::read::Decoder::with_ref_prefix(packed, before).expect("a decoder");
        let mut text = Vec::new();
        decoder.read_to_end(&mut text).expect("a zstd frame");
        drop(decoder);
        assert!(head.is_of_text(&text));
        texts.push(text);
        rest = after;
    }
    assert!(rest.is_empty(), "nothing is torn");
    texts
}

fn recording(texts: &[Vec<u8>]) -> Recording {
    let (mut out, mut samples) = (Builder::new(), Capture::new("c"));
    for text in texts {
        samples.take(text, &mut out);
    }
    samples.end(&mut out);
    out.finish()
}

fn json(done: &Output) -> Value {
    let err = String::from_utf8_lossy(&done.stderr);
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {err}"))
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
    let file = scratch.join("plain");
    let done = record(&file, &["--for", "3s", "--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));

    let found = json(&done);
    assert_eq!((&found["schema"], &found["stopped"]), (&1.into(), &false.into()));
    assert_eq!(
        (&found["lost"], &found["redacted"][1]),
        (&0.into(), &"arguments of processes".into())
    );
    let meta = fs::metadata(&file).expect("it is there");
    assert_eq!(meta.permissions().mode() & 0o777, 0o600, "it names all programs");
    assert_eq!(found["bytes"], meta.len());
    let texts = texts(&file);
    assert_eq!(found["samples"], texts.len());
    assert_eq!(found["text_bytes"], texts.iter().map(Vec::len).sum::<usize>());
    // Four where the machine keeps up.
    assert!((3..=4).contains(&texts.len()), "{} samples", texts.len());
    assert!(texts.iter().all(|text| !holds(text, SECRET)), "an argument was recorded");

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
    let done = record(&with, &["--for", "1s", "--with-arguments"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(self::texts(&with).iter().any(|text| holds(text, SECRET)), "it was asked for");
    assert!(self::texts(&with).iter().all(|text| !holds(text, "HUGEWISE_TEST_SECRET")));
}

#[test]
fn a_file_that_is_there_is_refused() {
    let scratch = Scratch::new();
    let mine = scratch.join("mine");
    fs::write(&mine, "precious").expect("written");
    let done = record(&mine, &["--for", "1s"]);
    assert_eq!(done.status.code(), Some(6));
    assert!(String::from_utf8_lossy(&done.stderr).contains("is there already"));
    assert_eq!(fs::read(&mine).expect("read"), b"precious");
    let history = scratch.join("history").display().to_string();
    for wrong in [
        &["--every", "9s"][..],
        &["--every", "x"],
        &["--processes", "4097"],
        &["--history", &history],
        &["--days", "2"],
        &["--from", "1h ago"],
        &["--to", "1h ago"],
    ] {
        let all = [&["--for", "5s"], wrong].concat();
        let done = record(&scratch.join("new"), &all);
        assert_eq!(done.status.code(), Some(2), "{wrong:?}");
        assert!(!scratch.join("new").exists());
    }
}

#[test]
fn sigterm_leaves_a_whole_file() {
    let scratch = Scratch::new();
    let file = scratch.join("c");
    let to = file.display().to_string();
    let child = hugewise(&["record", "-o", &to, "--for", "10m", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let until = Instant::now() + Duration::from_secs(30);
    let mut sizes = std::collections::BTreeSet::new();
    while sizes.len() < 3 && Instant::now() < until {
        sizes.insert(fs::metadata(&file).map_or(0, |meta| meta.len()));
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it still runs");
    let done = child.wait_with_output().expect("it ends");
    assert!(done.status.success());
    let found = json(&done);
    assert_eq!(found["stopped"], true);
    let texts = texts(&file);
    assert_eq!(found["samples"], texts.len());
    assert!(texts.len() >= 2);
    assert_eq!(recording(&texts).problems, []);
}

#[test]
fn another_root_can_be_recorded() {
    let scratch = Scratch::new();
    let root = scratch.join("root");
    fs::create_dir_all(root.join("proc/sys/kernel")).expect("made");
    fs::write(root.join("proc/loadavg"), "1.50 0.75 0.40 2/157 41317\n").expect("written");
    fs::write(root.join("proc/sys/kernel/hostname"), "db1\n").expect("written");
    let root = root.display().to_string();
    let done = record(&scratch.join("c"), &["--for", "1s", "--json", "--root", &root]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found = json(&done);
    let unreadable = found["unreadable"].as_array().expect("a list");
    assert!(unreadable.iter().any(|file| file["path"] == "/proc/stat"));
    let recording = recording(&texts(&scratch.join("c")));
    assert_eq!(recording.hosts[0].name.as_deref(), Some("db1"));
    assert_eq!(values(&recording.hosts[0], Field::Load1, &Subject::Machine), 2);
}

#[test]
fn a_journal_of_a_later_version_is_shown_with_a_remark() {
    let scratch = Scratch::new();
    let path = scratch.join("journal.jsonl");
    let start = |schema: u32| format!(r#"{{"record":"start","schema":{schema},"mode":"ingens"}}"#);
    let later = r#"{"record":"of_later","what":"new"}"#;
    for (schema, is_later) in [(1, false), (2, true)] {
        std::fs::write(&path, format!("{}\n{later}\n{later}\n", start(schema))).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hugewise"));
        let said =
            command.args(["manage", "journal", "-n", "1"]).arg(&path).output().expect("runs");
        assert!(said.status.success(), "{said:?}");
        let (shown, remarks) = (said.stdout, String::from_utf8_lossy(&said.stderr));
        let shown = String::from_utf8_lossy(&shown);
        assert_eq!((shown.lines().count(), shown.contains("of_later")), (1, true), "{shown}");
        assert_eq!(remarks.contains("is of version 2 of the journal"), is_later, "{remarks}");
    }
}
