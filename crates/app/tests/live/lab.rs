//! The fragmenters of experiments, on a machine that is nobody's.

use crate::init;
use crate::kit::{Scratch, skip, trial};
use crate::machine::{MIN_FREE, Turn, set_in_guest};
use anyhow::{Context, bail, ensure};
use hugewise_core::parse::{buddyinfo, meminfo};
use libtest_mimic::Trial;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A machine with more is somebody's: taking all of its memory would hurt.
const LARGEST_MIB: u64 = 4096;
/// What must stay available in a guest of 1 GiB.
const LEAVE_MIB: u64 = 24;
const PROACTIVENESS: &str = "/proc/sys/vm/compaction_proactiveness";
/// What experiments call a fragmented machine.
const WANTED: f64 = 0.85;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("lab_fragment_holes", lab_fragment_holes),
        trial("lab_fragment_page_cache", lab_fragment_page_cache),
    ]
}

fn lab_fragment_holes(_: &Turn) -> anyhow::Result<()> {
    small_guest()?;
    let _lenient = Lenient::set()?;
    fragments("fragment-holes", Path::new("/tmp"))
}

fn lab_fragment_page_cache(_: &Turn) -> anyhow::Result<()> {
    small_guest()?;
    let _lenient = Lenient::set()?;
    let scratch = Scratch::new()?;
    // The guest has no disk: files of a tmpfs are in the page cache, too, and nowhere else.
    let folder = scratch.join("files");
    fs::create_dir(&folder)?;
    mount("tmpfs", &folder, "tmpfs", MountFlags::empty(), Some(c"size=100%"))
        .context("cannot mount a tmpfs")?;
    let outcome = fragments("fragment-page-cache", &folder);
    unmount(&folder, UnmountFlags::DETACH).context("cannot unmount the tmpfs")?;
    outcome
}

fn small_guest() -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("it takes all memory of the machine: only in a virtual machine"));
    }
    let text = fs::read_to_string("/proc/meminfo")?;
    let bytes = meminfo::parse(&text).value.mem_total_bytes.context("no MemTotal")?;
    if bytes > LARGEST_MIB << 20 {
        return Err(skip(format!("the machine has more than {LARGEST_MIB} MiB of memory")));
    }
    Ok(())
}

/// A kernel that lets itself be fragmented, until dropped. Its own reserve is a tenth of such a
/// small guest, nobody may take it, and so it stays in large blocks; and it compacts in the
/// background where more than nine tenths of free memory are in pieces (Linux 5.9).
#[derive(Debug)]
struct Lenient(Vec<(&'static str, String)>);

impl Lenient {
    fn set() -> anyhow::Result<Self> {
        let mut before = Self(Vec::new());
        for (path, value) in [(MIN_FREE, "8192"), (PROACTIVENESS, "0")] {
            if let Ok(text) = fs::read_to_string(path) {
                set_in_guest(path, value)?;
                before.0.push((path, text));
            }
        }
        Ok(before)
    }
}

impl Drop for Lenient {
    fn drop(&mut self) {
        for (path, text) in &self.0 {
            // Where this does not work the next trial may fail, and says why it does.
            let _ = set_in_guest(path, text.trim());
        }
    }
}

/// Share of free memory in pieces too small for a huge page, looked at from outside.
fn fmfi() -> anyhow::Result<f64> {
    let zones = buddyinfo::parse(&fs::read_to_string("/proc/buddyinfo")?).value;
    buddyinfo::fmfi_total(&zones, 9).context("no free memory")
}

/// Fragments the machine, looks whether it is, and whether it recovers.
fn fragments(kind: &str, folder: &Path) -> anyhow::Result<()> {
    let before = fmfi()?;
    let mut fragmenter = Fragmenter::start(kind, folder)?;
    let ready = fragmenter.event("ready")?;
    let (said, seen) = (number(&ready, "fmfi")?, fmfi()?);
    let took = number(&ready, "fill_s")?;
    let held = number(&ready, "held_mib")?;
    init::say(&format!("{kind}: {before:.3} -> {seen:.3}, {held:.0} MiB held, {took:.1} s"));
    ensure!(said >= WANTED && seen >= WANTED, "from {before:.2} to {seen:.2} only: {ready}");
    let text = fs::read_to_string("/proc/meminfo")?;
    let left = meminfo::parse(&text).value.mem_available_bytes.context("no MemAvailable")?;
    ensure!(left > LEAVE_MIB << 20, "only {} MiB are left", left >> 20);
    fragmenter.tell("measure 1")?;
    let later = number(&fragmenter.event("measured")?, "fmfi")?;
    ensure!(later >= WANTED, "it did not last: {later:.2}");
    fragmenter.tell("verify")?;
    let verified = fragmenter.event("verified")?;
    ensure!(verified["checked"].as_u64() > Some(1000), "{verified}");
    fragmenter.tell("release")?;
    let released = number(&fragmenter.event("released")?, "fmfi")?;
    init::say(&format!("{kind}: {later:.3} a second later, {released:.3} when released"));
    ensure!(released < 0.5, "released, and the index is {released:.2}");
    Ok(())
}

fn number(event: &Value, name: &str) -> anyhow::Result<f64> {
    event["values"][name].as_f64().with_context(|| format!("no {name}: {event}"))
}

/// A fragmenter that runs; ended with the trial.
#[derive(Debug)]
struct Fragmenter {
    process: Child,
    requests: ChildStdin,
    events: BufReader<ChildStdout>,
}

impl Fragmenter {
    fn start(kind: &str, folder: &Path) -> anyhow::Result<Self> {
        let params = format!(r#"{{"leave_mib":{LEAVE_MIB}}}"#);
        let mut command = Command::new(init::hugewise());
        command.args(["workload", "lab", kind, "--params", &params, "--scratch"]).arg(folder);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = process.context("cannot start the fragmenter")?;
        let requests = process.stdin.take().context("no standard input")?;
        let events = BufReader::new(process.stdout.take().context("no standard output")?);
        Ok(Self { process, requests, events })
    }

    fn tell(&mut self, request: &str) -> anyhow::Result<()> {
        writeln!(self.requests, "{request}").context("the fragmenter has ended")
    }

    /// The next event, which must be this one.
    fn event(&mut self, wanted: &str) -> anyhow::Result<Value> {
        loop {
            let mut line = String::new();
            self.events.read_line(&mut line)?;
            let event: Value = serde_json::from_str(&line).with_context(|| format!("'{line}'"))?;
            match event["event"].as_str() {
                Some("progress") => {}
                Some(name) if name == wanted => return Ok(event),
                _ => bail!("'{wanted}' was expected: {event}"),
            }
        }
    }
}

impl Drop for Fragmenter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
