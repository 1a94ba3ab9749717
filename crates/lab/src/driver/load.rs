//! The load of an experiment: sent to the server that a driver has started, and noted.

use crate::load::{self, Access, Progress};
use crate::machine::Watch;
use crate::run::Run;
use anyhow::{Context, bail};
use hugewise_base::count::counted;
use hugewise_base::units::Ns;
use hugewise_experiment::load::knee::{Knee, Limits, by_curvature, by_limits};
use hugewise_experiment::load::outcome::Second;
use hugewise_experiment::load::profile::Step;
use hugewise_experiment::load::{LoadResult, LoadSpec, Profile, Tool};
use std::fmt::Write as _;

/// Values over time, by the keys of their metrics: seconds since the begin, and the value.
type Series = [(&'static str, Vec<(f64, f64)>); 4];

/// The load of the experiment for this server; its seed is the run's.
pub(super) fn spec(run: &Run<'_>, target: &str) -> anyhow::Result<LoadSpec> {
    let load = run.experiment().load.clone().context("the experiment has no load")?;
    let time = run.measure().as_secs().to_string();
    let command = load.command.iter().map(|word| word.replace("{measure_s}", &time)).collect();
    // The keys are set by `fill`, so that their memory has time to settle.
    Ok(LoadSpec { target: target.into(), seed: run.seed(), preload: false, command, ..load })
}

/// Sets every key of Redis.
pub(super) fn fill(run: &mut Run<'_>, spec: &LoadSpec, access: &Access) -> anyhow::Result<()> {
    run.step("setting every key")?;
    let steps = vec!["nothing for 1 ms".to_owned()];
    let LoadSpec { target, keys, value_bytes, seed, timeout_ms, .. } = spec.clone();
    let fill = LoadSpec { target, keys, value_bytes, seed, timeout_ms, ..LoadSpec::new("", &[]) };
    let fill = LoadSpec { steps, connections: 1, preload: true, ..fill };
    load::run(&fill, access, &mut |_| run.beat()).map(drop)
}

/// Sends the load, and notes what it found and what the machine did meanwhile.
pub(super) fn measure(
    run: &mut Run<'_>,
    spec: &LoadSpec,
    access: &Access,
) -> anyhow::Result<LoadResult> {
    let result = measure_within(run, spec, access, &mut |_| Ok(()))?;
    if result.completed == 0 {
        bail!("no request was answered well: {}", failures(&result));
    }
    Ok(result)
}

/// The same, while a guard looks at how it goes: its error ends the load. Perhaps nothing is
/// answered.
pub(super) fn measure_within(
    run: &mut Run<'_>,
    spec: &LoadSpec,
    access: &Access,
    guard: &mut dyn FnMut(&Progress) -> anyhow::Result<()>,
) -> anyhow::Result<LoadResult> {
    let (_, profile) = spec.check()?;
    run.step("under load")?;
    run.measuring(true);
    // In the time of Gatling two JVMs start and a compiler runs, and a command may do anything:
    // that is not the load.
    let mut watch = (spec.sender() == Tool::Own).then(Watch::start);
    let result = load::run(spec, access, &mut |progress| {
        watch.iter_mut().for_each(Watch::beat);
        guard(&progress)?;
        run.step(&text(&progress))
    })?;
    run.measuring(false);
    watch.into_iter().for_each(|watch| watch.note(run, ""));
    note(run, &profile, &result)?;
    Ok(result)
}

fn text(progress: &Progress) -> String {
    let Progress { at, time, intended, completed, failed, .. } = *progress;
    let mut text = format!("under load: {:.0} of {:.0} s", at.as_s(), time.as_s());
    // Tools of others say nothing before its end.
    if intended > 0 {
        let _ = write!(text, ", {completed} of {intended} answered");
    }
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    text
}

fn note(run: &mut Run<'_>, profile: &Profile, result: &LoadResult) -> anyhow::Result<()> {
    // Its quantiles are those of answered requests, which are not all: see `values`.
    result.latency.iter().for_each(|all| run.histogram("latency", all.clone()));
    result.service.iter().for_each(|all| run.latencies("service", all.clone()));
    for (key, value) in values(result) {
        value.into_iter().for_each(|value| run.value(key, value));
    }
    if let Some(per_s) = knee(profile, result).and_then(|knee| knee.served_per_s()) {
        run.value("knee_per_s", per_s);
    }
    if let Some(per_s) = climbs(profile).then(|| by_curvature(&result.stairs())).flatten() {
        run.value("bend_per_s", per_s);
    }
    for (key, points) in series(result).into_iter().filter(|(_, points)| !points.is_empty()) {
        run.series(key, points);
    }
    notes(profile, result).into_iter().for_each(|note| run.note(note));
    Ok(())
}

/// Why requests failed, in words.
fn failures(result: &LoadResult) -> String {
    let kinds = result.failed.iter().map(|(kind, count)| format!("{count} x {kind}"));
    // What the system said of some of them.
    let said = result.errors.keys().cloned();
    kinds.chain(said).collect::<Vec<_>>().join("; ")
}

/// What a load found, by the keys of metrics; `None` is not known. A quantile counts failed
/// requests as never answered.
fn values(result: &LoadResult) -> Vec<(&'static str, Option<f64>)> {
    let us = |q| result.quantile(q).map(|latency| latency.0 as f64 / 1e3);
    let asked = result.intended.unwrap_or_else(|| result.completed + result.failures());
    let failed = (asked > 0 && !result.failures_untold)
        .then(|| 100.0 * result.failures() as f64 / asked as f64);
    vec![
        ("offered_per_s", result.offered_per_s),
        ("achieved_per_s", result.achieved_per_s),
        ("failed_share_percent", failed),
        ("p50_us", us(0.5)),
        ("p99_us", us(0.99)),
        ("p999_us", us(0.999)),
        ("worst_us", us(1.0)),
    ]
}

fn climbs(profile: &Profile) -> bool {
    profile.steps().iter().any(|step| matches!(step, Step::Stairs(..)))
}

/// Where the server saturates; `None` for a load without stairs.
fn knee(profile: &Profile, result: &LoadResult) -> Option<Knee> {
    climbs(profile).then(|| by_limits(&result.stairs(), Limits::default()))
}

/// A point for each second that is whole. Answers after the end belong to no second of the load.
fn series(result: &LoadResult) -> Series {
    let whole = result.seconds.iter().enumerate().filter(|(at, _)| {
        let end = u64::try_from(at + 1).map_or(Ns(u64::MAX), Ns::s);
        end <= result.time
    });
    let points = |of: &dyn Fn(&Second) -> Option<f64>| {
        let points = whole.clone().filter_map(|(at, second)| Some((at as f64, of(second)?)));
        points.collect::<Vec<_>>()
    };
    let us = |latency: Option<Ns>| latency.map(|latency| latency.0 as f64 / 1e3);
    [
        ("offered_per_s", points(&|second| Some(second.offered as f64))),
        ("achieved_per_s", points(&|second| Some(second.achieved as f64))),
        ("p99_us", points(&|second| us(second.p99))),
        ("worst_us", points(&|second| us(second.max))),
    ]
}

/// What a reader of the figures must know.
fn notes(profile: &Profile, result: &LoadResult) -> Vec<String> {
    let mut notes = result.notes.clone();
    if !result.from_intended_start {
        notes.push(format!(
            "latencies of {} count from the real sending: a stall hides the requests that it \
             delayed",
            match result.tool {
                Tool::Command => "the load's command",
                tool => tool.name(),
            }
        ));
    }
    if result.failures_untold {
        notes.push("the results do not tell which requests failed: they count as answered".into());
    }
    if result.latency.is_some() && result.quantile(0.99).is_none() {
        notes.push("p99 is not known: 1 % or more of the requests were not answered".into());
    }
    match knee(profile, result) {
        Some(Knee::NotReached { highest_per_s }) => {
            notes.push(format!("the knee was not reached: all {highest_per_s:.0}/s were served"));
        }
        Some(Knee::BelowFirst { lowest_per_s }) => {
            notes.push(format!("the knee lies below the first of the stairs, {lowest_per_s:.0}/s"));
        }
        Some(Knee::Unknown) => {
            notes.push("the knee is not known: no step of a constant rate was measured".into());
        }
        Some(Knee::Between { .. }) | None => {}
    }
    let mut errors: Vec<_> = result.errors.iter().collect();
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    if let Some((said, count)) = errors.first() {
        let requests = counted(**count, "request", "requests");
        notes.push(format!("{requests} failed with '{said}'"));
    }
    notes
}

#[cfg(test)]
mod tests;
