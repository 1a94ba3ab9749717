//! The time for which a program's lock is held, by the kernel's own account.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, promotes, skip, trial};
use crate::machine::Turn;
use crate::manager::{Manage, journal};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Size of the program, MiB: 64 calls.
const MIB: u64 = 128;
/// What is charged may differ from what the kernel shows by so much.
const WITHIN_PERCENT: f64 = 20.0;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("the_lock_share_is_what_the_kernel_shows", share_is_true),
        trial("who_works_now_and_then_waits_less_than_is_charged", waits_are_charged),
    ]
}

/// Tracepoints of the mm lock in a buffer of their own; gone when dropped.
struct Trace {
    root: PathBuf,
    buffer: PathBuf,
}

impl Trace {
    /// Of the events that this filter lets through.
    fn start(scratch: &Scratch, filter: &str) -> anyhow::Result<Self> {
        let root = scratch.join("tracing");
        fs::create_dir(&root)?;
        mount("tracefs", &root, "tracefs", MountFlags::empty(), None)
            .map_err(|error| skip(format!("tracefs cannot be mounted: {error}")))?;
        let trace = Self { buffer: root.join("instances/hugewise-test"), root };
        if !trace.root.join("events/mmap_lock").is_dir() {
            return Err(skip("this kernel has no tracepoints of the mm lock"));
        }
        fs::create_dir(&trace.buffer).map_err(|error| skip(format!("no trace buffer: {error}")))?;
        let set = |file: &str, value: &str| fs::write(trace.buffer.join(file), value);
        set("buffer_size_kb", "32768").context("buffer size")?;
        set("events/mmap_lock/filter", filter).context("filter")?;
        set("events/mmap_lock/enable", "1").map_err(|error| skip(format!("tracing: {error}")))?;
        Ok(trace)
    }

    /// Lines of what was traced.
    fn stop(self) -> anyhow::Result<Vec<String>> {
        fs::write(self.buffer.join("tracing_on"), "0")?;
        let text = fs::read_to_string(self.buffer.join("trace"))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::write(self.buffer.join("events/mmap_lock/enable"), "0");
        let _ = fs::remove_dir(&self.buffer);
        let _ = unmount(&self.root, UnmountFlags::DETACH);
    }
}

/// One line: `hugewise-812 [001] ..... 12.345678: mmap_lock_released: mm=0... write=true`.
fn event(line: &str, pid: u32) -> Option<(&str, &str, f64)> {
    let (head, rest) = line.split_once(": mmap_lock_")?;
    let (kind, fields) = rest.split_once(": ")?;
    let (task, at) = (head.split('[').next()?, head.rsplit(' ').next()?);
    let mm = fields.split(' ').find(|field| field.starts_with("mm="))?;
    (task.trim().rsplit('-').next()? == pid.to_string()).then_some((kind, mm, at.parse().ok()?))
}

/// Seconds for which thread `pid` waited for locks of address spaces, each time.
fn waited(lines: &[String], pid: u32) -> Vec<f64> {
    let (mut since, mut waits) = (None, Vec::new());
    for (kind, _, at) in lines.iter().filter_map(|line| event(line, pid)) {
        match kind {
            "start_locking" => since = Some(at),
            "acquire_returned" => waits.extend(since.take().map(|began| at - began)),
            _ => {}
        }
    }
    waits
}

/// Seconds for which thread `pid` held each address space's lock for writing, each time.
fn held(lines: &[String], pid: u32) -> BTreeMap<&str, Vec<f64>> {
    let mut since = BTreeMap::new();
    let mut held = BTreeMap::<_, Vec<f64>>::new();
    for (kind, mm, at) in lines.iter().filter_map(|line| event(line, pid)) {
        if kind == "acquire_returned" {
            since.insert(mm, at);
        } else if let Some(began) = since.remove(mm).filter(|_| kind == "released") {
            held.entry(mm).or_default().push(at - began);
        }
    }
    held
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn share_is_true(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("times of an emulated processor say nothing"));
    }
    // One of its threads reads memory all the time, and never sleeps.
    let (scratch, mut hold) = (Scratch::new()?, Hold::start(&format!("--mib {MIB} --hot 2"))?);
    let trace = Trace::start(&scratch, "write == 1")?;
    let args = format!("--for 1h --keep-settings --pid {}", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let enough = |status: &serde_json::Value| status["promoted"].as_u64() >= Some(MIB / 2);
    manager.wait("all of it", enough)?;
    let pid = manager.worker()?;
    manager.stop()?.expect(0)?;
    let lines = trace.stop()?;
    // Its own lock is held as well, for moments.
    let held = held(&lines, pid);
    let sum = |all: &Vec<f64>| all.iter().sum::<f64>();
    let held = held.into_values().max_by(|a, b| sum(a).total_cmp(&sum(b)));
    let held = held.context("no lock was held")?;
    let journal = journal(&scratch)?;
    let done = journal.iter().filter(|record| record["record"] == "action");
    let calls = done.filter_map(|record| record["call_ns"].as_f64());
    let charged: Vec<_> = calls.map(|ns| ns / 1e9).collect();
    let said = format!(
        "{} calls charged with {:.1} ms; {} times the lock was held, {:.1} ms",
        charged.len(),
        sum(&charged) * 1e3,
        held.len(),
        sum(&held) * 1e3
    );
    println!("{said}");
    ensure!(held.len() as u64 >= MIB / 2, "{said}: {lines:?}");
    let off = |charged: f64, held: f64| 100.0 * (charged / held - 1.0);
    ensure!(off(sum(&charged), sum(&held)) >= -WITHIN_PERCENT, "too little: {said}");
    // A call that lost its CPU outside the lock is charged with that: not many do.
    // Each call has one hold of its own, in their order; the shortest are those of moments.
    let mut shortest = held.clone();
    shortest.sort_by(f64::total_cmp);
    let moments = held.len().saturating_sub(charged.len());
    let of_calls = held.iter().filter(|held| !shortest[..moments].contains(held));
    let over: Vec<f64> = charged.iter().zip(of_calls).map(|(c, held)| off(*c, *held)).collect();
    let over = median(over);
    ensure!(over <= WITHIN_PERCENT, "too much, by {over:.0} %: {said}");
    let asleep = journal.iter().filter(|record| record["asleep"] == true).count();
    ensure!(asleep * 10 <= charged.len(), "{asleep} calls were taken for unnoticed");
    hold.verify().map(drop)
}

/// A lock that is had at once takes no longer, with the tracing.
const AT_ONCE_S: f64 = 20e-6;

/// Calls that fit into the 4 ms for which the program sleeps, wherever in it they begin, seconds:
/// where a host takes free memory back, others take longer.
const FITS_S: f64 = 1.5e-3;
/// Fewer say nothing.
const LEAST_CALLS: u64 = 10;

/// A program that works a fifth of the time is promoted while it sleeps, where calls are short
/// enough, and the time that it waits for its lock is no longer than what it is charged with.
fn waits_are_charged(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("times of an emulated processor say nothing"));
    }
    let (scratch, program) =
        (Scratch::new()?, Hold::start_program("duty", None, &MIB.to_string())?);
    let trace = Trace::start(&scratch, &format!("common_pid == {}", program.pid()))?;
    let args = format!("--for 1h --keep-settings --pid {}", program.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let enough = |status: &serde_json::Value| status["promoted"].as_u64() >= Some(MIB / 2);
    manager.wait("all of it", enough)?;
    manager.stop()?.expect(0)?;
    let lines = trace.stop()?;
    let waits = waited(&lines, program.pid());
    ensure!(waits.len() > 1_000, "{} times a lock was wanted: {lines:?}", waits.len());
    let waited: f64 = waits.iter().filter(|wait| **wait > AT_ONCE_S).sum();
    let (mut short, mut asleep, mut charged) = (0, 0, 0.0);
    for call in journal(&scratch)?.iter().filter(|record| record["record"] == "action") {
        let took = call["call_ns"].as_f64().unwrap_or(0.0) / 1e9;
        let slept = call["asleep"] == true;
        if took < FITS_S {
            (short, asleep) = (short + 1, asleep + u64::from(slept));
        }
        charged += if slept { took / 8.0 } else { took };
    }
    let said = format!(
        "{asleep} of {short} short calls during its sleep; waited {:.2} ms, charged {:.2} ms",
        waited * 1e3,
        charged * 1e3
    );
    println!("{said}");
    ensure!(waited <= charged, "{said}");
    if short < LEAST_CALLS {
        return Err(skip(format!("only {short} calls were short: memory is not backed")));
    }
    ensure!(2 * asleep >= short, "{said}");
    Ok(())
}
