//! The program of `hugewise try`: random reads, first touches and mmap, alone, beside a manager, or
//! in the course of a trial.

mod filled;
mod trial;

use super::common;
use crate::run::Run;
use filled::{Filled, Timed};
use hugewise_experiment::kinds::{Demo, DemoScenario};
use std::time::{Duration, Instant};

/// Reads and small mappings take turns, in slices of some seconds.
const SLICE_S: f64 = 0.5;

/// Runs it once.
pub(super) fn drive(params: &Demo, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let program = Filled::start(run)?;
    match params.scenario {
        DemoScenario::Trial => trial::drive(params, run, program),
        DemoScenario::Tail => tail(run, program),
    }
}

/// Times it twice for as long, with a manager or without, so that what is compared had the same
/// time to grow old.
fn tail(run: &mut Run<'_>, mut demo: Filled) -> anyhow::Result<()> {
    time(run, "alone", &mut demo)?;
    let mut manager = run.manage(&[demo.pid()])?;
    time(run, "", &mut demo)?;
    common::check(&mut manager)?;
    run.memory("", demo.pid());
    demo.verify(run)?;
    run.stop(manager)?;
    demo.talk.finish()
}

/// Turns for the length of a measurement.
fn time(run: &mut Run<'_>, phase: &str, demo: &mut Filled) -> anyhow::Result<()> {
    run.step(if phase.is_empty() { "measuring" } else { "measuring it alone" })?;
    let mut timed = Timed::default();
    let (began, length) = (Instant::now(), run.measure());
    while began.elapsed() + Duration::from_secs_f64(SLICE_S) < length || timed.reads.is_empty() {
        demo.access(run, SLICE_S, &mut timed)?;
        demo.faults(run, SLICE_S, &mut timed)?;
    }
    timed.note(run, phase);
    Ok(())
}
