//! Attacks on whoever waits for another process's lock: address spaces that nobody can enter.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, promotes, skip, trial_of_oldest_kernel, wait_for};
use crate::machine::{Settings, Turn};
use crate::manager::{Manage, Manager};
use crate::programs::{FuseHolder, Lock, Silence};
use crate::promote::FAST;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::process::Command;
use std::time::{Duration, Instant};

/// Users that nobody else uses, how each holds the lock of an address space, and by which server.
const HOLDERS: [(u32, Lock, Silence); 5] = [
    (65_529, Lock::BehindPromotions, Silence::OnPurpose),
    (65_528, Lock::ByReader, Silence::OnPurpose),
    (65_527, Lock::ByReaderAndWriter, Silence::OnPurpose),
    (65_525, Lock::ByReaderAndWriter, Silence::Stopped),
    (65_524, Lock::ByReader, Silence::Frozen),
];
const VICTIM: u32 = 65_526;
/// How often a victim and one beside a holder are compared where the machine itself is as slow
/// again from one to the next: an emulated processor beside other work. Each time another user
/// holds.
const ATTEMPTS: u32 = 3;
/// From one of these users to the next.
const ANOTHER: u32 = 10;
/// Takes away what the service has not (`dist/hugewise.service`).
const SERVICE: [&str; 2] =
    ["setpriv", "--bounding-set=-all,+sys_nice,+sys_ptrace,+dac_read_search"];
/// The victim's memory.
const MIB: u64 = 64;
/// Promised for whatever strangers do: answers, and the end of a manager.
const ANSWER: Duration = Duration::from_secs(1);
const END: Duration = Duration::from_secs(2);

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial_of_oldest_kernel("attack_a_held_lock_holds_up_nobody", a_held_lock_holds_up_nobody)]
}

/// `through`: what starts it.
fn start<'a>(scratch: &'a Scratch, through: &[&str]) -> anyhow::Result<Manager<'a>> {
    let mut rules = String::new();
    let again = |uid: u32| (0..ATTEMPTS).map(move |attempt| uid - attempt * ANOTHER);
    for uid in HOLDERS.iter().flat_map(|(uid, ..)| again(*uid)).chain([VICTIM]) {
        rules += &format!("[[rule]]\nuser = \"#{uid}\"\naction = \"manage\"\n");
    }
    let select = "[select]\ndefault = \"exclude\"\nmin_anon_bytes = \"8 MiB\"\n\n";
    let path = scratch.join("hugewise.toml");
    std::fs::write(&path, format!("{select}{rules}"))?;
    let manage = Manage::new(scratch, &format!("--for 1h {FAST} --config {}", path.display()));
    if through.is_empty() { manage.start() } else { manage.through(through).start() }
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

/// Workers that were given up have no memory of their own any more: 64 of them fit the service.
fn memory_is_freed(manager: &Manager<'_>, most: usize) -> anyhow::Result<()> {
    let pid = manager.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let mut given_up = 0;
    for child in children.split_whitespace() {
        let read = |file| std::fs::read_to_string(format!("/proc/{child}/{file}"));
        let (Ok(stat), Ok(statm)) = (read("stat"), read("statm")) else { continue };
        if !stat.contains("(hugewise-worker) D") {
            continue;
        }
        given_up += 1;
        let pages = |at: usize| statm.split(' ').nth(at).and_then(|pages| pages.parse().ok());
        let (resident, shared): (Option<u64>, Option<u64>) = (pages(1), pages(2));
        let own = resident.zip(shared).map(|(resident, shared)| resident.saturating_sub(shared));
        let status = read("status").unwrap_or_default();
        let tables = status.lines().find(|line| line.starts_with("VmPTE")).unwrap_or_default();
        println!("worker {child} waits with {own:?} pages of its own, {tables}");
        ensure!(own.is_some_and(|own| own < 64), "{statm}");
    }
    // Only a promotion waits so that it cannot be killed.
    ensure!((1..=most).contains(&given_up), "{given_up} workers wait");
    Ok(())
}

/// Starts a holder, and a victim besides, which is huge within twice the time that one took without
/// holders.
fn holder_beside_victims(
    scratch: &Scratch,
    manager: &Manager<'_>,
    mut alone: Duration,
    (uid, lock, silence): (u32, Lock, Silence),
) -> anyhow::Result<Option<FuseHolder>> {
    let attempts = if init::is_guest() { ATTEMPTS } else { 1 };
    for attempt in 0..attempts {
        if init::is_guest() {
            alone = serve(scratch, manager)?;
        }
        let uid = uid - attempt * ANOTHER;
        let place = scratch.join(uid.to_string());
        let Some(holder) = FuseHolder::start(&place, uid, lock, silence)? else { return Ok(None) };
        let beside = serve(scratch, manager)?;
        println!("huge after {alone:.1?} alone, {beside:.1?} with {lock:?} {silence:?} besides");
        // Each holder makes a worker miss one deadline.
        if beside <= 2 * alone + ANSWER {
            return Ok(Some(holder));
        }
        ensure!(attempt + 1 < attempts, "huge after {beside:.1?}, alone {alone:.1?}");
    }
    Ok(None)
}

fn a_held_lock_holds_up_nobody(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    scratch.program("program")?;
    let before = Settings::read()?;
    let manager = start(&scratch, &[])?;
    // The first one also waits for the manager's first pass.
    serve(&scratch, &manager)?;
    let alone = serve(&scratch, &manager)?;
    let mut holders = Vec::new();
    for how in HOLDERS {
        let Some(holder) = holder_beside_victims(&scratch, &manager, alone, how)? else {
            // Only that one needs more than FUSE.
            ensure!(how.2 == Silence::Frozen, skip("this kernel has no FUSE"));
            println!("not {:?}: no cgroup of version 2", how.2);
            continue;
        };
        holders.push(holder);
    }
    for holder in &holders {
        let named = wait_for("a named reason", || reason(&manager, holder.pid));
        named.with_context(|| format!("of {holder:?}: {:?}", manager.status()))?;
    }
    memory_is_freed(&manager, holders.len())?;
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
    // Another one starts, with no more rights than the service has where they can be taken away, is
    // killed, and its settings come back, with the holders still there.
    let can = Command::new(SERVICE[0]).arg("--version").output().is_ok();
    let other = start(&scratch, if can { &SERVICE } else { &[] })?;
    serve(&scratch, &other)?;
    let beside = serve(&scratch, &other)?;
    println!("huge after {beside:.1?} by a manager with the rights of the service: {can}");
    ensure!(init::is_guest() || beside <= 2 * alone, "huge after {beside:.1?}");
    other.kill()?;
    let state = scratch.join("state");
    hugewise(["revert", "--state-dir", state.to_str().context("a path")?])?.expect(0)?;
    let left = before.differences();
    ensure!(left.is_empty(), "not put back after a kill: {left:?}");
    Ok(())
}
