//! What a manager costs at rest, when everything that it may do is done.

use super::filled_program::FilledProgram;
use crate::manager::ManagerProcess;
use crate::run::Run;
use anyhow::Context;
use hugewise_experiment::kinds::{Advise, Rest};
use std::time::{Duration, Instant};

/// Runs it once: `manage_s` until all is done, then `measure_s` of rest.
pub(super) fn drive(params: &Rest, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let advice: &[&str] = match params.advise {
        Advise::Huge => &["--advise", "huge"],
        Advise::None => &[],
    };
    let mib = params.mib;
    let mut held = FilledProgram::hold(run, mib, advice)?;
    let mut manager = need(run.manage(&[held.pid()])?)?;
    run.step("the manager works")?;
    run.sleep(Duration::from_secs(run.experiment().manage_s))?;
    run.step("the manager rests")?;
    let used =
        |manager: &ManagerProcess| manager.cpu_s().context("the manager's CPU time is unknown");
    let (began, before) = (Instant::now(), used(&manager)?);
    run.sleep(run.measure())?;
    manager.check()?;
    let percent = 100.0 * (used(&manager)? - before) / began.elapsed().as_secs_f64();
    run.value("rest.manager_cpu_percent", percent);
    run.known("rest.manager_rss_mib", manager.rss_mib());
    run.memory("", held.pid());
    run.stop(Some(manager))?;
    run.step("comparing every word")?;
    held.verify(run)?;
    held.finish()
}

/// The manager of a variant, without which there is nothing to measure.
pub(super) fn need(manager: Option<ManagerProcess>) -> anyhow::Result<ManagerProcess> {
    manager.context(
        "this workload shows what a manager does, and the variant has none: give it \
         'manage = { mode = ... }'",
    )
}
