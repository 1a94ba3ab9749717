//! Attacks on whoever waits for another process's lock: address spaces that nobody can enter.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, promotes, skip, trial, wait_for};
use crate::machine::{Settings, Turn};
use crate::manager::{Manage, Manager};
use crate::programs::{FuseHolder, Lock};
use crate::promote::FAST;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::time::{Duration, Instant};

/// Users that nobody else uses.
const HOLDERS: [u32; 2] = [65_528, 65_527];
const VICTIM: u32 = 65_526;
/// The victim's memory.
const MIB: u64 = 64;
/// Promised for whatever strangers do: answers, and the end of a manager.
const ANSWER: Duration = Duration::from_secs(1);
const END: Duration = Duration::from_secs(2);

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("attack_a_held_lock_holds_up_nobody", a_held_lock_holds_up_nobody)]
}

fn start<'a>(scratch: &'a Scratch) -> anyhow::Result<Manager<'a>> {
    let rules = [VICTIM, HOLDERS[0], HOLDERS[1]]
        .map(|uid| format!("[[rule]]\nuser = \"#{uid}\"\naction = \"manage\"\n"))
        .concat();
    let select = "[select]\ndefault = \"exclude\"\nmin_anon_bytes = \"8 MiB\"\n\n";
    let path = scratch.join("hugewise.toml");
    std::fs::write(&path, format!("{select}{rules}"))?;
    Manage::new(scratch, &format!("--for 1h {FAST} --config {}", path.display())).start()
}

/// How long it takes until all of a new victim's memory is huge; no answer takes longer than
/// promised meanwhile.
fn serve(scratch: &Scratch, manager: &Manager<'_>) -> anyhow::Result<Duration> {
    let program = scratch.join("program");
    let victim = Hold::start_as(&program, Some(VICTIM), &format!("--mib {MIB}"))?;
    let began = Instant::now();
    wait_for("the victim's memory to be huge", || {
        let asked = Instant::now();
        manager.status()?;
        let took = asked.elapsed();
        ensure!(init::is_guest() || took <= ANSWER, "an answer took {took:?}");
        Ok(victim.memory()?.huge >= MIB << 10)
    })?;
    Ok(began.elapsed())
}

/// Why the manager leaves a process alone.
fn reason(manager: &Manager<'_>, pid: u32) -> anyhow::Result<bool> {
    let status = manager.status()?;
    let targets = status["targets"].as_array().context("targets")?;
    let target = targets.iter().find(|target| target["pid"] == pid);
    let text = target.map(ToString::to_string).unwrap_or_default();
    Ok(text.contains("maps_fuse") || text.contains("not_answering"))
}

fn a_held_lock_holds_up_nobody(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    scratch.program("program")?;
    let before = Settings::read()?;
    let manager = start(&scratch)?;
    // The first one also waits for the manager's first pass.
    serve(&scratch, &manager)?;
    let alone = serve(&scratch, &manager)?;
    let mut holders = Vec::new();
    for (uid, lock) in HOLDERS.into_iter().zip([Lock::ByReader, Lock::ByReaderAndWriter]) {
        let place = scratch.join(format!("{lock:?}"));
        let holder = FuseHolder::start(&place, uid, lock)?;
        holders.push(holder.ok_or_else(|| skip("this kernel has no FUSE"))?);
        let beside = serve(&scratch, &manager)?;
        println!("huge after {alone:.1?} alone, {beside:.1?} beside {lock:?}");
        // Each holder makes a worker miss one deadline.
        ensure!(beside <= 2 * alone + ANSWER, "huge after {beside:.1?}, alone {alone:.1?}");
    }
    for holder in &holders {
        wait_for("a named reason", || reason(&manager, holder.pid))?;
        let asked = Instant::now();
        hugewise(["status", "--map", &holder.pid.to_string()])?;
        // Complete but for the holders, which it names.
        hugewise(["status"])?.expect(5)?;
        let took = asked.elapsed();
        ensure!(init::is_guest() || took <= 2 * ANSWER, "two views took {took:?}");
    }
    let asked = Instant::now();
    manager.stop()?.expect(0)?;
    let took = asked.elapsed();
    ensure!(init::is_guest() || took <= END, "its end took {took:?}");
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    // Another one starts, is killed, and its settings come back, with the holders still there.
    start(&scratch)?.kill()?;
    let state = scratch.join("state");
    hugewise(["revert", "--state-dir", state.to_str().context("a path")?])?.expect(0)?;
    let left = before.differences();
    ensure!(left.is_empty(), "not put back after a kill: {left:?}");
    Ok(())
}
