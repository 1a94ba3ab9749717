//! How fast well-used base pages become huge.

use super::filled_program::FilledProgram;
use crate::run::Run;
use anyhow::Context;
use hugewise_experiment::kinds::{Later, Meanwhile, Promote};
use std::time::{Duration, Instant};

/// All is huge above this, percent: the ends of mappings are nobody's region.
const ALL_PERCENT: f64 = 99.0;
/// A reading takes the program's lock and time that grows with its size, so there are fewer the
/// longer it takes: one after each fiftieth of the time so far, within these.
const LOOKS: u32 = 50;
const LOOK_MIN: Duration = Duration::from_millis(50);
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Runs it once.
pub(super) fn drive(params: &Promote, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let mut arguments = Vec::new();
    if params.advise == Later::Later {
        arguments.extend(["--advise", "later"]);
    }
    if params.meanwhile == Meanwhile::Awake {
        arguments.push("--awake");
    }
    let mib = params.mib;
    let mut held = FilledProgram::hold(run, mib, &arguments)?;
    let began = Instant::now();
    let mut manager = run.manage(&[held.pid()])?;
    let limit = Duration::from_secs(params.limit_s);
    let mut points = Vec::new();
    let (seconds, huge) = loop {
        let huge = run.holds(held.pid()).huge;
        let huge = huge.context("how much of the program is huge is unknown")?;
        let elapsed = began.elapsed();
        points.push((elapsed.as_secs_f64(), huge));
        if is_all(huge, mib) || elapsed >= limit {
            break (elapsed.as_secs_f64(), huge);
        }
        if let Some(manager) = &mut manager {
            manager.check()?;
        }
        run.step(&format!("promoting, {huge:.0} of {mib} MiB are huge"))?;
        run.sleep((elapsed / LOOKS).clamp(LOOK_MIN, LOOK_MAX))?;
    };
    run.series("huge_mib", points);
    run.value("huge_mib_per_s", huge / seconds);
    if is_all(huge, mib) {
        run.value("all_huge_s", seconds);
    } else {
        run.note(format!(
            "{huge:.0} of {mib} MiB were huge after {seconds:.0} s; at this rate all of it takes \
             {:.0} s",
            mib as f64 / (huge / seconds)
        ));
    }
    run.memory("", held.pid());
    run.stop(manager)?;
    run.step("comparing every word")?;
    held.verify(run)?;
    held.finish()
}

fn is_all(huge: f64, mib: u64) -> bool {
    huge * 100.0 >= ALL_PERCENT * mib as f64
}
