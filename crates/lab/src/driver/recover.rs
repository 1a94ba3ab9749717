//! How fast memory comes back that a program dropped and huge pages hold.

use super::filled_program::FilledProgram;
use super::rest::need;
use crate::run::Run;
use anyhow::{Context, ensure};
use hugewise_experiment::kinds::Recover;
use hugewise_workloads::protocol::Span;
use std::time::{Duration, Instant};

/// Memory counts as back when so little of what was kept is left, percent.
const LEFT_PERCENT: f64 = 5.0;
/// Bytes of a region, in MiB.
const REGION_MIB: usize = 2;
/// How often the cgroup's usage is looked at: one small file.
const LOOK: Duration = Duration::from_millis(20);

/// Runs it once.
pub(super) fn drive(params: &Recover, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let mib = params.mib;
    let mut held = FilledProgram::hold(run, mib, &["--advise", "huge"])?;
    let huge = run.holds(held.pid()).huge;
    let huge = huge.context("how much of the program is huge is unknown")?;
    ensure!(
        huge >= mib as f64 * 0.9,
        "the machine gave {huge:.0} of {mib} MiB as huge pages: too few to hold anything"
    );
    run.step("dropping a part of each huge page")?;
    let drop_kib = params.drop_kib;
    let (len_kib, size_mib) = (usize::try_from(drop_kib)?, usize::try_from(mib)?);
    for offset in (0..size_mib).step_by(REGION_MIB) {
        held.drop_pages(run, Span { offset_mib: offset, len_kib })?;
    }
    let full = charged(run)?;
    // Pages of the program's own file are mostly charged to somebody else.
    let anon = run.holds(held.pid()).anon;
    let kept_mib = full - anon.context("the program's anonymous memory is unknown")?;
    run.value("kept_mib", kept_mib);
    let dropped = (mib * drop_kib / (1024 * REGION_MIB as u64)) as f64;
    ensure!(
        kept_mib >= dropped / 2.0,
        "{kept_mib:.0} of {dropped:.0} MiB are kept: the kernel gave the rest back by itself"
    );
    // What is charged, not what is charged and not mapped: khugepaged would fill the gaps.
    let wanted = full - kept_mib * (1.0 - LEFT_PERCENT / 100.0);
    let limit = Duration::from_secs(params.limit_s);
    let (began, mut points) = (Instant::now(), Vec::new());
    let mut manager = need(run.manage(&[held.pid()])?)?;
    let seconds = loop {
        let (now, seconds) = (charged(run)?, began.elapsed().as_secs_f64());
        // A line needs no more points than it has pixels.
        if points.last().is_none_or(|(at, _)| seconds - at > seconds / 200.0) {
            points.push((seconds, now));
        }
        if now <= wanted || began.elapsed() >= limit {
            let back = full - now;
            run.value("gib_per_s", back / 1024.0 / seconds);
            break (now <= wanted).then_some(seconds);
        }
        manager.check()?;
        run.step(&format!("giving back, {:.0} MiB are still kept", kept_mib - (full - now)))?;
        run.sleep(LOOK)?;
    };
    run.series("cgroup_mib", points);
    match seconds {
        Some(seconds) => run.value("back_s", seconds),
        None => run.note(format!("not all was back after {} s", limit.as_secs())),
    }
    run.step("comparing every word")?;
    held.verify(run)?;
    run.stop(Some(manager))?;
    held.finish()
}

fn charged(run: &Run<'_>) -> anyhow::Result<f64> {
    run.charged().context("this needs a memory cgroup: only that shows what is held")
}
