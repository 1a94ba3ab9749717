//! Drives the workloads that are part of hugewise.

use super::{common, reach};
use crate::machine::Watch;
use crate::program::Used;
use crate::run::{Run, key};
use crate::talk::Talk;
use hugewise_experiment::kind::More;
use hugewise_experiment::kinds::AFTER;
use hugewise_experiment::machine;
use hugewise_experiment::spec::START;
use hugewise_workloads::protocol::{Event, Report, Request};
use std::time::{Duration, Instant};

/// Runs one: filled, managed where the variant says so, measured, every word compared.
pub(super) fn drive(run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let mut talk = start(run)?;
    let ready = talk.ready(&mut |said| progress(run, said))?;
    note(run, "", ready);
    let pid = talk.program.pid();
    let mut manager = run.manage(&run.pids(pid))?;
    if run.experiment().at_work {
        measure(run, &mut talk, START, common::settling(run))?;
        common::check(&mut manager)?;
    } else {
        common::settle_alike(run, &mut manager)?;
    }
    measure(run, &mut talk, "", run.measure())?;
    common::check(&mut manager)?;
    if run.kind().more == More::Change {
        change(run, &mut talk)?;
        common::check(&mut manager)?;
    }
    run.step("comparing every word")?;
    talk.verify(&mut |said| progress(run, said))?;
    run.stop(manager)?;
    talk.finish()
}

/// Measures for a while; what it found and holds then.
fn measure(run: &mut Run<'_>, talk: &mut Talk, phase: &str, time: Duration) -> anyhow::Result<()> {
    run.step("measuring")?;
    let pid = talk.program.pid();
    let before = Used::of(pid);
    run.measuring(true);
    talk.measure(time)?;
    let (began, mut huge) = (Instant::now(), Vec::new());
    let mut watch = machine::is_noted(run.kind().metrics).then(Watch::start);
    let measured = talk.measured(&mut |said| {
        watch.iter_mut().for_each(Watch::beat);
        huge.extend(run.huge().map(|mib| (began.elapsed().as_secs_f64(), mib)));
        progress(run, said)
    })?;
    run.measuring(false);
    watch.into_iter().for_each(|watch| watch.note(run, phase));
    reach::note(run, phase, &measured, huge);
    note(run, phase, measured);
    run.used_since(phase, pid, &before);
    run.memory(phase, pid);
    Ok(())
}

/// The second phase: it gives a part of its memory back. The manager that gives the rest of its
/// huge pages back has the time that a manager has; then it is measured again.
fn change(run: &mut Run<'_>, talk: &mut Talk) -> anyhow::Result<()> {
    run.step("giving memory back")?;
    talk.request(Request::Change)?;
    // What it says is said again, later, by the measuring.
    match talk.event(&mut |said| progress(run, said))? {
        Event::Changed(_) => {}
        other => return Err(talk.unexpected(&other)),
    }
    run.step("watching its memory")?;
    run.watch(AFTER, talk.program.pid(), common::settling(run))?;
    measure(run, talk, AFTER, run.measure())
}

/// Starts the workload.
pub(super) fn start(run: &Run<'_>) -> anyhow::Result<Talk> {
    start_one(run, run.kind().name, &serde_json::to_string(run.params())?)
}

/// Starts one of this built-in kind.
pub(super) fn start_one(run: &Run<'_>, kind: &str, params: &str) -> anyhow::Result<Talk> {
    let mut command = run.own_workload()?;
    command.args(["lab", kind, "--params", params]);
    command.args(["--seed", &run.seed().to_string(), "--huge-pages", run.huge_pages().key()]);
    command.arg("--scratch").arg(run.directory());
    Talk::start(kind, &mut command)
}

/// Shows what a workload says of its progress; an error after Ctrl-C.
pub(super) fn progress(run: &mut Run<'_>, said: Option<&str>) -> anyhow::Result<()> {
    match said {
        Some(text) => run.step(text),
        None => run.beat(),
    }
}

/// Notes values and distributions of a phase.
pub(super) fn note(run: &mut Run<'_>, phase: &str, report: Report) {
    for (name, value) in report.values {
        run.value(&key(phase, &name), value);
    }
    for (name, all) in report.histograms {
        run.histogram(&key(phase, &name), all);
    }
    report.notes.into_iter().for_each(|note| run.note(note));
}
