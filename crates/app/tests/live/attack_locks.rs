//! Attacks on what keeps two managers apart, and on the manager's life: strangers who hold locks,
//! other namespaces, signals, terminals that close.

use crate::hold::Hold;
use crate::init;
use crate::kit::{
    Said, Scratch, hugewise, promotes, skip, trial_of_any_kernel, trial_of_oldest_kernel, wait_for,
};
use crate::machine::{Settings, Turn};
use crate::manager::{Manage, Manager, journal};
use crate::programs::{self, IMPOSSIBLE, LockHolder, SELF};
use anyhow::{Context, ensure};
use hugewise_linux::signals::is_ignored;
use libtest_mimic::Trial;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// A user that nobody else uses.
const STRANGER: u32 = 65_534;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_oldest_kernel(
            "attack_a_strangers_locks_block_nothing",
            a_strangers_locks_block_nothing,
        ),
        trial_of_oldest_kernel(
            "attack_a_set_user_id_program_is_a_stranger",
            a_set_user_id_program_is_a_stranger,
        ),
        trial_of_any_kernel(
            "attack_managers_see_each_other_over_namespaces",
            managers_see_each_other,
        ),
        trial_of_any_kernel(
            "attack_one_state_directory_is_for_one_everywhere",
            one_state_directory_is_for_one,
        ),
        trial_of_any_kernel("attack_harmless_signals_end_nothing", harmless_signals_end_nothing),
        trial_of_any_kernel(
            "attack_signals_that_end_put_settings_back",
            signals_that_end_put_settings_back,
        ),
        trial_of_any_kernel("attack_a_hangup_reloads_a_daemon", a_hangup_reloads_a_daemon),
        trial_of_any_kernel(
            "attack_a_closed_terminal_ends_it_cleanly",
            a_closed_terminal_ends_it_cleanly,
        ),
        trial_of_any_kernel("one_line_says_what_root_adds", one_line_says_what_root_adds),
    ]
}

/// All settings are written, nothing is promoted.
pub(crate) fn manage<'a>(scratch: &'a Scratch, hold: &Hold) -> Manage<'a> {
    Manage::new(scratch, &format!("--pid {} --for 1h", hold.pid()))
}

/// `revert` through a program that starts it.
fn revert(scratch: &Scratch, through: &[&str]) -> anyhow::Result<Said> {
    let program = init::hugewise();
    let mut command = match through.split_first() {
        None => Command::new(program),
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    command.args(["revert", "--json", "--state-dir"]).arg(scratch.join("state"));
    Ok(Said::of(&command.output().context("cannot run hugewise revert")?))
}

/// What was said in other namespaces; a reason to skip where there are none.
fn elsewhere(said: Said) -> anyhow::Result<Said> {
    match said.code == Some(IMPOSSIBLE.into()) {
        true => Err(skip(said.err.trim())),
        false => Ok(said),
    }
}

fn needs_root() -> anyhow::Result<()> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(skip("starts programs of other users")),
    }
}

fn a_strangers_locks_block_nothing(_: &Turn) -> anyhow::Result<()> {
    needs_root()?;
    let scratch = Scratch::new()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    let stranger = LockHolder::start(STRANGER)?;
    let manager = manage(&scratch, &hold).start()?;
    ensure!(!before.differences().is_empty(), "settings were taken");
    // Beside the stranger, the real one is found.
    let real = format!("(pid {})", manager.pid());
    let state = scratch.join("state");
    let state = state.to_str().context("a plain path")?;
    let said = hugewise(["revert", "--dry-run", "--state-dir", state])?.expect(6)?;
    ensure!(said.err.contains(&real), "the holder is named: {said:?}");
    manager.kill()?;
    let said = revert(&scratch, &[])?.expect(0)?;
    let named = format!("pid {} of user {STRANGER}", stranger.pid());
    ensure!(said.err.contains(&named) && said.err.contains("ignored"), "it is named: {said:?}");
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    let mode = fs::metadata(scratch.join("state/manager.lock"))?.permissions().mode();
    ensure!(mode & 0o777 == 0o600, "others can open the lock: {mode:o}");
    Ok(())
}

/// A lock outlives execve: whoever takes one and then starts `sudo` is root by name only.
fn a_set_user_id_program_is_a_stranger(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    needs_root()?;
    let scratch = Scratch::new()?;
    let program = scratch.join("set-user-id");
    fs::copy(SELF, &program)?;
    fs::set_permissions(&program, Permissions::from_mode(0o755))?;
    let hold = Hold::start("--mib 8")?;
    let plain = LockHolder::start_copy(&program, 0)?;
    let said = manage(&scratch, &hold).run()?.expect(6)?;
    ensure!(said.err.contains(&format!("(pid {})", plain.pid())), "root's counts: {said:?}");
    drop(plain);
    fs::set_permissions(&program, Permissions::from_mode(0o4755))?;
    let _stranger = LockHolder::start_copy(&program, 0)?;
    manage(&scratch, &hold).start()?.stop()?.expect(0).map(drop)
}

fn managers_see_each_other(_: &Turn) -> anyhow::Result<()> {
    let (first, second) = (Scratch::new()?, Scratch::new()?);
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    // What faults hand out it would set anew whenever memory changes.
    let fixed = ["--set", "settings.fault_sizes=off"];
    let manager = fixed.into_iter().fold(manage(&first, &hold), Manage::arg).start()?;
    let own = before.differences();
    let real = format!("(pid {})", manager.pid());
    let said = elsewhere(manage(&second, &hold).through(&programs::words("namespaces")).run()?)?
        .expect(6)?;
    ensure!(said.err.contains(&real), "the holder is named: {said:?}");
    let said = revert(&second, &programs::words("namespaces"))?.expect(6)?;
    ensure!(said.err.contains(&real), "the holder is named: {said:?}");
    // Where the manager cannot be seen, no other one starts all the same.
    let said =
        Manage::new(&second, "--for 1h").through(&programs::words("container")).run()?.expect(6)?;
    ensure!(said.err.contains("outside of this container"), "{said:?}");
    ensure!(before.differences() == own, "nobody else changed a setting");
    manager.stop()?.expect(0)?;
    // And the other way round.
    let manager =
        Manage::new(&second, "--for 1h").through(&programs::words("container")).spawn()?;
    wait_for("its settings", || Ok(!before.differences().is_empty()))?;
    let said = manage(&first, &hold).run()?.expect(6)?;
    ensure!(said.err.contains("another hugewise manages this machine (pid "), "{said:?}");
    end_container(manager, &second)
}

/// Ends a manager whose parent waits for it.
fn end_container(mut manager: Manager<'_>, scratch: &Scratch) -> anyhow::Result<()> {
    let children = format!("/proc/{0}/task/{0}/children", manager.pid());
    let pid: i32 = fs::read_to_string(children)?.trim().parse().context("one child")?;
    kill_process(Pid::from_raw(pid).context("no pid")?, Signal::TERM)?;
    manager.end()?.expect(0)?;
    ensure!(!scratch.join("state/trail.jsonl").exists(), "its settings are back");
    Ok(())
}

fn one_state_directory_is_for_one(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hold = Hold::start("--mib 8")?;
    let manager = manage(&scratch, &hold).start()?;
    let said = elsewhere(revert(&scratch, &programs::words("container"))?)?;
    // It cannot be seen from there, and still nobody reads its trail beside it.
    let said = said.expect(6)?;
    ensure!(said.err.contains("a manager is running"), "{said:?}");
    manager.stop()?.expect(0).map(drop)
}

fn harmless_signals_end_nothing(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    let mut manager = manage(&scratch, &hold).start()?;
    let harmless = [
        Signal::USR1,
        Signal::USR2,
        Signal::ALARM,
        Signal::VTALARM,
        Signal::PROF,
        Signal::IO,
        Signal::POWER,
        Signal::STKFLT,
        Signal::XFSZ,
        Signal::PIPE,
    ];
    for signal in harmless {
        manager.signal(signal)?;
        let ticks = || -> anyhow::Result<_> { Ok(manager.status()?["schema"].clone()) };
        ensure!(ticks()?.is_u64(), "after {signal:?}");
    }
    ensure!(!manager.has_ended()?, "it goes on");
    manager.stop()?.expect(0)?;
    ensure!(before.differences().is_empty(), "{:?}", before.differences());
    Ok(())
}

fn signals_that_end_put_settings_back(_: &Turn) -> anyhow::Result<()> {
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    for signal in [Signal::QUIT, Signal::INT, Signal::ABORT, Signal::XCPU, Signal::TERM] {
        let scratch = Scratch::new()?;
        let mut manager = manage(&scratch, &hold).start()?;
        ensure!(!before.differences().is_empty(), "settings were taken");
        manager.signal(signal)?;
        // Whoever loses patience does not interrupt that.
        let began = Instant::now();
        while !manager.has_ended()? {
            ensure!(began.elapsed() < Duration::from_secs(60), "{signal:?}: signals keep it alive");
            manager.signal(Signal::TERM)?;
        }
        manager.end()?.expect(0).with_context(|| format!("{signal:?}"))?;
        let left = before.differences();
        ensure!(left.is_empty(), "{signal:?}: not put back: {left:?}");
    }
    Ok(())
}

fn reloads(scratch: &Scratch) -> anyhow::Result<usize> {
    Ok(journal(scratch)?.iter().filter(|record| record["record"] == "reload").count())
}

fn a_hangup_reloads_a_daemon(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hold = Hold::start("--mib 8")?;
    let mut manager = manage(&scratch, &hold).through(&programs::words("no-terminal")).start()?;
    manager.signal(Signal::HUP)?;
    wait_for("the reload", || Ok(reloads(&scratch)? == 1))?;
    ensure!(!manager.has_ended()?, "it goes on");
    manager.stop()?.expect(0).map(drop)
}

fn a_closed_terminal_ends_it_cleanly(_: &Turn) -> anyhow::Result<()> {
    if is_ignored(Signal::HUP.as_raw()) {
        return Err(skip("these tests were started to ignore a hangup, as by nohup"));
    }
    let scratch = Scratch::new()?;
    let hold = Hold::start("--mib 8")?;
    let before = Settings::read()?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let Ok(terminal) = openpt(flags) else { return Err(skip("no terminals here")) };
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    let name = ptsname(&terminal, Vec::new())?;
    let words = [&programs::words("terminal")[..], &[name.to_str()?]].concat();
    let mut manager = manage(&scratch, &hold).through(&words).start()?;
    ensure!(!before.differences().is_empty(), "settings were taken");
    drop(terminal);
    wait_for("its end", || manager.has_ended())?;
    manager.end()?.expect(0)?;
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    ensure!(reloads(&scratch)? == 0, "that is no reload");
    Ok(())
}

fn one_line_says_what_root_adds(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    needs_root()?;
    let scratch = Scratch::new()?;
    let program = scratch.program("hugewise")?;
    let hold = Hold::start_as(&program, Some(STRANGER), "--mib 8")?;
    let (before, pid) = (Settings::read()?, hold.pid().to_string());
    let run = |args: &[&str]| -> anyhow::Result<Said> {
        let mut command = Command::new(&program);
        let output = command.args(args).current_dir("/").uid(STRANGER).gid(STRANGER).output()?;
        let said = Said::of(&output);
        let lines: Vec<&str> = said.err.lines().filter(|l| l.contains("as root, ")).collect();
        ensure!(lines.len() == 1, "one line: {args:?} {said:?}");
        Ok(said)
    };
    // Part of it is missing, and that is said, too.
    run(&["status", "--pid", &pid])?;
    run(&["status", "--map", &pid])?;
    // Neither has a place for a journal or a socket.
    for how in ["--mode=observe", "--dry-run"] {
        let said = run(&["manage", how, "--pid", &pid, "--for", "2s"])?.expect(0)?;
        ensure!(said.err.lines().count() == 1, "no further complaint: {said:?}");
    }
    ensure!(before.differences().is_empty(), "{:?}", before.differences());
    Ok(())
}
