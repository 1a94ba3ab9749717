//! What a program feels: random reads, first touches and mmap, alone and then beside a manager.

use super::super::run::{Run, key};
use super::lines::Lines;
use crate::trial::protocol::Request;
use anyhow::{Context, bail};
use hugewise_core::lab::spec::HugePages;
use hugewise_core::stats::{Histogram, median};
use serde::Deserialize;
use std::time::{Duration, Instant};

/// Reads and small mappings take turns, in slices of so many seconds.
const SLICE_S: f64 = 0.5;

/// Runs it once. Every variant is timed twice for as long, so that what is compared had the same
/// time to grow old.
pub(super) fn drive(run: &mut Run<'_>) -> anyhow::Result<()> {
    let variant = match run.huge_pages() {
        HugePages::Never => "never",
        HugePages::Always => "always",
        HugePages::Later => "hugewise",
        HugePages::Inherit => bail!(
            "the workload 'demo' decides itself where huge pages come from: give each variant \
             'huge_pages' as never, always or later"
        ),
    };
    run.step("filling")?;
    let bytes = (run.params().count("mib") << 20).to_string();
    let mut command = run.own_workload()?;
    command.args(["try", "--variant", variant, "--bytes", &bytes]);
    let mut demo = Lines::start(run, "demo", &mut command)?;
    let filled = demo.ask(run, &Request::Fill.line())?;
    run.value("fill_s", filled["seconds"].as_f64().context("no time of the fill")?);
    run.latencies("first_touch", Histogram::deserialize(&filled["first_touch"])?);
    time(run, "alone", &mut demo)?;
    let mut manager = run.manage(&[demo.pid()])?;
    time(run, "", &mut demo)?;
    if let Some(manager) = &mut manager {
        manager.check()?;
    }
    run.memory("", demo.pid());
    run.step("comparing every word")?;
    demo.verify(run)?;
    run.stop(manager)?;
    demo.finish()
}

/// Turns for the length of a measurement.
fn time(run: &mut Run<'_>, phase: &str, demo: &mut Lines) -> anyhow::Result<()> {
    run.step(if phase.is_empty() { "measuring" } else { "measuring it alone" })?;
    let (mut reads, mut tails) = (Vec::new(), <[Histogram; 3]>::default());
    let (began, length) = (Instant::now(), run.measure());
    while began.elapsed() + Duration::from_secs_f64(SLICE_S) < length || reads.is_empty() {
        let accessed = demo.ask(run, &Request::Access(SLICE_S).line())?;
        reads.push(accessed["ns"].as_f64().context("no time of a read")?);
        let faulted = demo.ask(run, &Request::Faults(SLICE_S).line())?;
        let parts = [&accessed["batches"], &faulted["fault"], &faulted["map"]];
        for (all, part) in tails.iter_mut().zip(parts) {
            all.merge(&Histogram::deserialize(part)?);
        }
    }
    if let Some(ns) = median(&reads) {
        run.value(&key(phase, "access_ns"), ns);
    }
    for (name, all) in ["access", "fault", "map"].into_iter().zip(tails) {
        run.latencies(&key(phase, name), all);
    }
    Ok(())
}
