//! Identical programs side by side: who gets huge pages, and who is done when.

use super::builtin::{progress, start_one};
use super::common;
use crate::run::Run;
use crate::talk::Talk;
use anyhow::Context;
use hugewise_base::stats::together::{done_at, jain_while_shared_out};
use hugewise_experiment::kinds::Siblings;
use hugewise_workloads::protocol::{Event, Request};
use std::time::{Duration, Instant};

/// The workload that each of them is.
const WORKLOAD: &str = "gups";
/// Time between two looks at who has how many huge pages: each walks the page tables of all.
const LOOK: Duration = Duration::from_millis(250);

/// Points (seconds, value).
type Line = Vec<(f64, f64)>;

/// Runs them once. The time to the solution counts from the start of the first.
pub(super) fn drive(params: &Siblings, run: &mut Run<'_>) -> anyhow::Result<()> {
    let began = Instant::now();
    run.step("filling")?;
    let mut talks =
        (0..params.programs).map(|_| started(params, run)).collect::<anyhow::Result<Vec<_>>>()?;
    run.value("fill_s", began.elapsed().as_secs_f64());
    let pids: Vec<u32> = talks.iter().map(|talk| talk.program.pid()).collect();
    let mut manager = run.manage(&pids)?;
    run.step("measuring")?;
    let before_s = began.elapsed().as_secs_f64();
    talks.iter_mut().try_for_each(|talk| talk.measure(run.measure()))?;
    let (rates, huge) = watch(run, &mut talks, &pids)?;
    common::check(&mut manager)?;
    note(params, run, before_s, &rates, &huge);
    run.known("cgroup_mib", run.charged());
    run.known("huge_mib", run.huge());
    run.step("comparing every word")?;
    talks.iter_mut().try_for_each(|talk| talk.request(Request::Verify))?;
    for talk in &mut talks {
        match talk.event(&mut |said| progress(run, said))? {
            Event::Verified { .. } => {}
            other => return Err(talk.unexpected(&other)),
        }
    }
    run.stop(manager)?;
    talks.into_iter().try_for_each(Talk::finish)
}

/// One of them, filled.
fn started(params: &Siblings, run: &mut Run<'_>) -> anyhow::Result<Talk> {
    let asked = serde_json::json!({ "mib": params.mib, "updates": "pages" });
    let mut talk = start_one(run, WORKLOAD, &asked.to_string())?;
    talk.ready(&mut |said| progress(run, said))?;
    Ok(talk)
}

/// What each did over time, and how much of it was huge.
fn watch(
    run: &mut Run<'_>,
    talks: &mut [Talk],
    pids: &[u32],
) -> anyhow::Result<(Vec<Line>, Vec<Line>)> {
    let (began, mut next) = (Instant::now(), Duration::ZERO);
    let (mut rates, mut huge) = (Vec::new(), vec![Line::new(); pids.len()]);
    for talk in talks {
        let report = talk.measured(&mut |said| {
            if began.elapsed() >= next {
                next = began.elapsed() + LOOK;
                for (line, pid) in huge.iter_mut().zip(pids) {
                    let mib = run.holds_alone(*pid).huge.unwrap_or(0.0);
                    line.push((began.elapsed().as_secs_f64(), mib));
                }
            }
            progress(run, said)
        })?;
        let line = report.series.into_iter().next().context("a workload without a pace")?;
        rates.push(line.1);
    }
    Ok((rates, huge))
}

/// What that says.
fn note(params: &Siblings, run: &mut Run<'_>, before_s: f64, rates: &[Line], huge: &[Line]) {
    let looks = huge.first().map_or(0, Vec::len);
    let at = |look: usize| huge.iter().map(|line| line[look].1).collect();
    let shares: Vec<Vec<f64>> = (0..looks).map(at).collect();
    run.known("jain", jain_while_shared_out(&shares, (params.programs * params.mib) as f64));
    let work = params.work_mops as f64 * 1e6;
    let ends: Vec<f64> = rates.iter().filter_map(|line| done_at(line, work)).collect();
    if ends.len() == rates.len() {
        let last = ends.iter().copied().fold(0.0, f64::max);
        run.value("solve_s", before_s + last);
        run.value("finish_s", last);
        run.value("first.finish_s", ends.into_iter().fold(last, f64::min));
    } else {
        let (done, all) = (ends.len(), rates.len());
        run.note(format!("{done} of {all} programs had done their work by the end"));
    }
    for (number, line) in huge.iter().enumerate() {
        run.series(&format!("program{}.huge_mib", number + 1), line.clone());
    }
}
