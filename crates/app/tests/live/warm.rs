//! Destinations are warmed ahead by a thread that takes only what nobody else wants.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, number, promotes, skip, trial, trial_of_any_kernel};
use crate::machine::{Turn, vmstat};
use crate::manager::{Manage, Manager};
use anyhow::{Context, ensure};
use hugewise_linux::process;
use hugewise_linux::root::Root;
use libtest_mimic::Trial;
use std::fs;
use std::process::{Child, Command};
use std::time::Instant;

/// `SCHED_IDLE` of include/uapi/linux/sched.h.
const IDLE: u32 = 5;
/// Slow enough that there is time between calls.
const ARGS: &str = "--for 1h --keep-settings --set promote.warm=always \
    --set scan.interval_ms=100 --set scan.list_interval_ms=200";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("warming_ahead_is_idle_work", is_idle_work),
        trial("warming_ahead_takes_nothing_on_a_busy_machine", takes_nothing),
        trial_of_any_kernel("every_block_that_was_warmed_is_counted", is_counted),
    ]
}

/// Where a processor has idle time.
fn idles() -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("an emulated processor has no time that nobody wants"));
    }
    Ok(())
}

fn manage<'a>(scratch: &'a Scratch, hold: &Hold) -> anyhow::Result<Manager<'a>> {
    Manage::new(scratch, &format!("{ARGS} --pid {}", hold.pid())).start()
}

fn is_idle_work(_: &Turn) -> anyhow::Result<()> {
    idles()?;
    let (scratch, mut hold) = (Scratch::new()?, Hold::start("--mib 64")?);
    let manager = manage(&scratch, &hold)?;
    let warmed = |status: &serde_json::Value| {
        let ahead = status["warm_cpu_ns"].as_u64().is_some_and(|time| time > 0);
        ahead && status["promoted"].as_u64() >= Some(32)
    };
    manager.wait("32 regions, some of them warmed ahead", warmed)?;
    let threads = fs::read_dir(format!("/proc/{}/task", manager.worker()?))?;
    let tids = threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    let thread = |tid: u32| process::stat(&Root::live(), tid);
    let mut named = tids.filter_map(thread).filter(|stat| stat.comm == "warm");
    let warm = named.next().context("no thread 'warm'")?;
    ensure!(warm.policy == IDLE, "it is not of the idle class: {}", warm.policy);
    ensure!(named.next().is_none(), "more than one");
    hold.verify()?;
    manager.stop()?.expect(0).map(drop)
}

/// The kernel's own count of huge pages that programs took: in a guest there is no other program.
fn is_counted(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if !init::is_guest() {
        return Err(skip("other programs of the host take huge pages meanwhile"));
    }
    let (scratch, mut hold) = (Scratch::new()?, Hold::start("--mib 64")?);
    let before = vmstat("thp_fault_alloc")?;
    let manager = manage(&scratch, &hold)?;
    let all = |status: &serde_json::Value| {
        let faults = vmstat("thp_fault_alloc").ok().map(|now| now - before);
        status["promoted"].as_u64() >= Some(32) && status["warm_ups"].as_u64() == faults
    };
    let status = manager.wait("as many warm-ups as faults", all)?;
    ensure!(number(&status, "/warm_ups")? > 0, "none was warmed: {status}");
    hold.verify()?;
    manager.stop()?.expect(0).map(drop)
}

/// Programs that keep every CPU busy, ended with the trial.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> anyhow::Result<Self> {
        let cpus = std::thread::available_parallelism()?.get();
        let mut busy = Self(Vec::new());
        for _ in 0..cpus {
            let mut shell = Command::new("sh");
            busy.0.push(shell.args(["-c", "while :; do :; done"]).spawn()?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn takes_nothing(_: &Turn) -> anyhow::Result<()> {
    idles()?;
    let (scratch, mut hold) = (Scratch::new()?, Hold::start("--mib 128")?);
    let _busy = Busy::start()?;
    let (began, manager) = (Instant::now(), manage(&scratch, &hold)?);
    let enough = |status: &serde_json::Value| status["promoted"].as_u64() >= Some(48);
    let status = manager.wait("48 regions on a busy machine", enough)?;
    let share = number(&status, "/warm_cpu_ns")? as f64 / 1e7 / began.elapsed().as_secs_f64();
    println!("warming on a busy machine: {share:.2} % of a core");
    ensure!(share <= 5.0, "warming took {share:.1} % of a core that others wanted");
    hold.verify()?;
    manager.stop()?.expect(0).map(drop)
}
