//! Telling a manager what to do, and targets that change under its hands.

use crate::hold::Hold;
use crate::init;
use crate::kit::{
    Said, Scratch, hugewise, number, promotes, skip, trial, trial_of_any_kernel,
    trial_of_oldest_kernel, wait_for,
};
use crate::machine::Turn;
use crate::manager::{Manage, journal};
use crate::promote::{FAST, MIB};
use anyhow::{Context, ensure};
use hugewise_linux::{process, root::Root};
use hugewise_workloads::protocol::{Request, Span};
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;

/// Eight regions a second, whatever the machine can do: it is caught in the middle.
const SLOW: &str = "--set controller.lock_share_percent=100 --set controller.cpu_percent=100 \
    --set quota.bytes_per_s=16777216 --set scan.cpu_percent=50 --set scan.interval_ms=100 \
    --set scan.list_interval_ms=200";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_any_kernel("a_second_manager_is_refused", a_second_manager_is_refused),
        trial_of_any_kernel("pause_and_resume", pause_and_resume),
        trial_of_any_kernel("wrong_pids_are_refused", wrong_pids_are_refused),
        trial("kernel_threads_are_refused", kernel_threads_are_refused),
        trial_of_oldest_kernel("a_target_killed_in_the_middle", a_target_killed_in_the_middle),
        trial_of_oldest_kernel(
            "a_target_that_execs_in_the_middle",
            a_target_that_execs_in_the_middle,
        ),
    ]
}

fn a_second_manager_is_refused(_: &Turn) -> anyhow::Result<()> {
    let (first, second) = (Scratch::new()?, Scratch::new()?);
    let hold = Hold::start("--mib 8")?;
    let args = format!("--pid {} --for 1h --keep-settings", hold.pid());
    let manager = Manage::new(&first, &args).start()?;
    let said = Manage::new(&second, &args).run()?.expect(6)?;
    ensure!(said.err.contains("another hugewise manages this machine"), "{said:?}");
    ensure!(manager.status()?["schema"].is_u64(), "the first goes on");
    manager.stop()?.expect(0)?;
    // The lock went with its owner.
    let args = format!("--pid {} --once --keep-settings", hold.pid());
    Manage::new(&second, &args).run()?.expect(0)?;
    Ok(())
}

fn told(scratch: &Scratch, what: &str) -> anyhow::Result<Said> {
    let run = scratch.join("run");
    hugewise(["manage", what, "--json", "--run-dir", run.to_str().context("a plain path")?])
}

fn pause_and_resume(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let said = told(&scratch, "pause")?.expect(1)?;
    ensure!(said.err.contains("no manager is running"), "{said:?}");
    let mut hold = Hold::start(&format!("--mib {MIB} --fill sparse:1"))?;
    let args = format!("--pid {} --for 1h --keep-settings {FAST}", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    ensure!(told(&scratch, "pause")?.expect(0)?.json()?["done"] == "pause", "pause");
    manager.wait("the pause", |s| s["paused"] == true)?;
    let all = Span { offset_mib: 0, len_kib: usize::try_from(MIB << 10)? };
    hold.ask(Request::Touch(all))?;
    let waits = |s: &Value| s["targets"][0]["skips"]["paused"].as_u64() >= Some(MIB / 2);
    let status = manager.wait("regions that wait for the end of the pause", waits)?;
    ensure!(status["gate"] == "paused" && status["promoted"] == 0, "{status}");
    ensure!(hold.memory()?.huge == 0, "nothing is promoted in a pause");
    ensure!(told(&scratch, "resume")?.expect(0)?.json()?["done"] == "resume", "resume");
    manager.wait("promotions", |s| {
        s["paused"] == false && s["promoted"].as_u64() >= Some(MIB / 2 * 95 / 100)
    })?;
    manager.stop()?.expect(0)?;
    hold.verify()?;
    Ok(())
}

fn wrong_pids_are_refused(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let manage =
        |pid: u32| Manage::new(&scratch, &format!("--pid {pid} --once --keep-settings")).run();
    let mut hold = Hold::start("--mib 8")?;
    hold.kill()?;
    let said = manage(hold.pid())?.expect(1)?;
    ensure!(said.err.contains(&format!("no process {}", hold.pid())), "{said:?}");
    let said = manage(1)?.expect(6)?;
    ensure!(said.err.contains("process 1 is never managed"), "{said:?}");
    if Path::new("/bin/sh").exists() {
        let line = "exec \"$0\" manage --once --keep-settings --state-dir \"$1\" --pid $$";
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", line]).arg(init::hugewise()).arg(scratch.path());
        let said = Said::of(&shell.output()?).expect(6)?;
        ensure!(said.err.contains("is never managed"), "{said:?}");
    }
    ensure!(!scratch.join("state").exists(), "nothing was begun");
    Ok(())
}

fn kernel_threads_are_refused(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let root = Root::live();
    let is_thread = |pid: &u32| process::stat(&root, *pid).is_some_and(|s| s.is_kernel_thread());
    let Some(thread) = (2..1000).find(is_thread) else {
        return Err(skip("no kernel thread is visible here, as in a container"));
    };
    let args = format!("--pid {thread} --once --keep-settings");
    let said = Manage::new(&scratch, &args).run()?.expect(1)?;
    ensure!(said.err.contains("kernel thread"), "{said:?}");
    Ok(())
}

fn a_target_killed_in_the_middle(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start("--mib 64")?;
    let args = format!("--pid {} --for 1h --keep-settings {SLOW}", hold.pid());
    let mut manager = Manage::new(&scratch, &args).start()?;
    let status = manager.wait("a promotion", |s| s["promoted"].as_u64() > Some(0))?;
    ensure!(status["promoted"].as_u64() < Some(32), "in the middle: {status}");
    hold.kill()?;
    let said = manager.end()?.expect(0)?;
    ensure!(said.err.is_empty(), "{said:?}");
    let journal = journal(&scratch)?;
    let why = journal.last().map(|r| r["why"].clone());
    ensure!(why == Some("all named processes ended".into()), "{why:?}");
    Ok(())
}

fn a_target_that_execs_in_the_middle(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let args = format!("--pid {} --for 1h --keep-settings {SLOW}", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let status = manager.wait("a promotion", |s| s["promoted"].as_u64() > Some(0))?;
    ensure!(status["promoted"].as_u64() < Some(MIB / 2), "in the middle: {status}");
    hold.tell(Request::Exec)?;
    hold.ready()?;
    // The new program starts small, and grows huge like the old one.
    let grown = wait_for("huge pages in the new address space", || {
        manager.status().context("the manager goes on")?;
        Ok(hold.memory()?.huge >= (MIB << 10) * 95 / 100)
    });
    grown.with_context(|| format!("{:?}", manager.status()))?;
    ensure!(hold.verify()? == MIB * 256, "all pages of the new program");
    let status = manager.stop()?.expect(0)?.json()?;
    ensure!(number(&status, "/promoted")? > MIB / 2, "both programs count: {status}");
    Ok(())
}
