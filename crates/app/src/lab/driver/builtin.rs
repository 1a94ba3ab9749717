//! Drives the workloads that are part of hugewise.

use super::super::program::cpu_s;
use super::super::protocol::{Report, Request};
use super::super::run::{Run, key};
use super::super::talk::Talk;
use super::common;
use anyhow::Context;
use hugewise_core::lab::kind::Kind;
use hugewise_core::lab::kinds::{AFTER, WITH_CHANGE};
use serde::Deserialize;
use serde_json::Value;

/// Runs one: filled, managed where the variant says so, measured, every word compared.
pub(super) fn drive(kind: &Kind, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let mut talk = start(kind, run)?;
    let ready = wait(run, &mut talk, "ready")?;
    note(run, &ready)?;
    let pid = talk.program.pid();
    let mut manager = run.manage(&[pid])?;
    common::settle_alike(run, &mut manager)?;
    measure(run, &mut talk, "")?;
    common::check(&mut manager)?;
    if WITH_CHANGE.contains(&kind.name) {
        change(run, &mut talk)?;
        common::check(&mut manager)?;
    }
    run.step("comparing every word")?;
    talk.send(&Request::Verify.line())?;
    wait(run, &mut talk, "verified")?;
    run.stop(manager)?;
    talk.finish()
}

/// Measures for a while; what it found and holds then.
fn measure(run: &mut Run<'_>, talk: &mut Talk, phase: &str) -> anyhow::Result<()> {
    run.step("measuring")?;
    let pid = talk.program.pid();
    let before = cpu_s(pid);
    talk.measure(run.measure())?;
    let measured = wait(run, talk, "measured")?;
    note_phase(run, phase, &measured)?;
    run.cpu_since(phase, pid, before);
    run.memory(phase, pid);
    Ok(())
}

/// The second phase: it gives a part of its memory back. Whoever gives the rest of its huge pages
/// back has the time that a manager has; then it is measured again.
fn change(run: &mut Run<'_>, talk: &mut Talk) -> anyhow::Result<()> {
    run.step("giving memory back")?;
    talk.send(&Request::Change.line())?;
    // What it says is said again, later, by the measuring.
    wait(run, talk, "changed")?;
    run.step("watching its memory")?;
    run.watch(AFTER, talk.program.pid(), common::settling(run))?;
    measure(run, talk, AFTER)
}

/// Starts the child of a kind.
pub(super) fn start(kind: &Kind, run: &Run<'_>) -> anyhow::Result<Talk> {
    let mut command = run.own_workload()?;
    command.args(["lab", kind.name, "--params"]).arg(serde_json::to_string(run.params())?);
    command.args(["--seed", &run.seed().to_string(), "--huge-pages", run.huge_pages().key()]);
    command.arg("--scratch").arg(run.directory());
    Talk::start(kind.name, &mut command)
}

/// Waits for an event, with progress.
pub(super) fn wait(run: &mut Run<'_>, talk: &mut Talk, event: &str) -> anyhow::Result<Value> {
    talk.wait(event, &mut |said| match said {
        Some(text) => run.step(text),
        None => run.beat(),
    })
}

/// Notes values and distributions of an event.
pub(super) fn note(run: &mut Run<'_>, event: &Value) -> anyhow::Result<()> {
    note_phase(run, "", event)
}

/// The same, of a phase.
pub(super) fn note_phase(run: &mut Run<'_>, phase: &str, event: &Value) -> anyhow::Result<()> {
    let report = Report::deserialize(event).context("a workload's report")?;
    for (name, value) in report.values {
        run.value(&key(phase, &name), value);
    }
    for (name, all) in report.histograms {
        run.histogram(&key(phase, &name), all);
    }
    report.notes.into_iter().for_each(|note| run.note(note));
    Ok(())
}
