//! Attacks on whoever waits for another process's lock: address spaces that nobody can enter.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, promotes, skip, trial, wait_for};
use crate::machine::{Settings, Turn};
use crate::manager::{Manage, Manager};
use crate::programs::{FuseHolder, Lock, Silence};
use crate::promote::FAST;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::time::{Duration, Instant};

/// Users that nobody else uses, how each holds the lock of an address space, and by which server.
const HOLDERS: [(u32, Lock, Silence); 4] = [
    (65_528, Lock::ByReader, Silence::OnPurpose),
    (65_527, Lock::ByReaderAndWriter, Silence::OnPurpose),
    (65_525, Lock::ByReaderAndWriter, Silence::Stopped),
    (65_524, Lock::ByReader, Silence::Frozen),
];
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
    let mut rules = String::new();
    for uid in HOLDERS.iter().map(|(uid, ..)| *uid).chain([VICTIM]) {
        rules += &format!("[[rule]]\nuser = \"#{uid}\"\naction = \"manage\"\n");
    }
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
    for (uid, lock, silence) in HOLDERS {
        let place = scratch.join(uid.to_string());
        let Some(holder) = FuseHolder::start(&place, uid, lock, silence)? else {
            // Only that one needs more than FUSE.
            ensure!(silence == Silence::Frozen, skip("this kernel has no FUSE"));
            println!("not {silence:?}: no cgroup of version 2");
            continue;
        };
        holders.push(holder);
        let beside = serve(&scratch, &manager)?;
        println!("huge after {alone:.1?} alone, {beside:.1?} with {lock:?} {silence:?} besides");
        // Each holder makes a worker miss one deadline.
        ensure!(beside <= 2 * alone + ANSWER, "huge after {beside:.1?}, alone {alone:.1?}");
    }
    for holder in &holders {
        let named = wait_for("a named reason", || reason(&manager, holder.pid));
        named.with_context(|| format!("of {holder:?}: {:?}", manager.status()))?;
    }
    for holder in &holders {
        let pid = holder.pid.to_string();
        // Complete but for the holders, which it names.
        for (view, code) in [(&["status", "--map", &pid][..], None), (&["status"], Some(5))] {
            let asked = Instant::now();
            let said = hugewise(view)?;
            let took = asked.elapsed();
            ensure!(code.is_none_or(|code| said.code == Some(code)), "{view:?}: {said:?}");
            println!("{view:?} took {took:.2?}");
            ensure!(init::is_guest() || took <= ANSWER, "{view:?} took {took:?}");
        }
    }
    let asked = Instant::now();
    manager.stop()?.expect(0)?;
    let took = asked.elapsed();
    ensure!(init::is_guest() || took <= END, "its end took {took:?}");
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    // Another one starts, is killed, and its settings come back, with the holders still there.
    let other = start(&scratch)?;
    serve(&scratch, &other)?;
    other.kill()?;
    let state = scratch.join("state");
    hugewise(["revert", "--state-dir", state.to_str().context("a path")?])?.expect(0)?;
    let left = before.differences();
    ensure!(left.is_empty(), "not put back after a kill: {left:?}");
    Ok(())
}
