//! `hugewise lab signatures` on the real machine: made once, and found again.

use crate::kit::{Said, Scratch, hugewise, skip, trial_of_any_kernel, unless_busy};
use crate::machine::Turn;
use crate::schemas;
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

/// Other programs may use the machine meanwhile, a host of virtual machines above all: what was
/// run is told by its names. `lab signatures --check` on a quiet machine is the strict test.
const FAR: f64 = 0.6;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial_of_any_kernel("signatures_are_found_again_and_others_are_none_of_them", again)]
}

fn signatures(scratch: &Scratch, more: &[&str]) -> anyhow::Result<Said> {
    let file = scratch.join("signatures.json").display().to_string();
    let state = scratch.join("state").display().to_string();
    let all = ["--json", "lab", "signatures", "--noisy", "--only", "cpu,fork", "--seconds", "1"];
    let places = ["-o", &file, "--state-dir", &state];
    unless_busy(hugewise([&all[..], &places, more].concat())?)
}

fn again(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let made = signatures(&scratch, &[])?.expect(0)?.json()?;
    let kept: Value = serde_json::from_str(&fs::read_to_string(scratch.join("signatures.json"))?)?;
    ensure!(made == kept, "what is printed is what is kept");
    let checked = signatures(&scratch, &["--check"])?;
    ensure!(matches!(checked.code, Some(0 | 3)), "{checked:#?}");
    let checked = checked.json()?;
    schemas::fits("lab-signatures", &checked).map_err(anyhow::Error::msg)?;
    let rows = checked["rows"].as_array().context("rows")?;
    ensure!(rows.len() == 5, "two alone, both together, two of others: {checked:#}");
    let steal = rows.iter().filter(|row| row["resemblance"]["verdict"] == "at_rest").count();
    if steal > 0 {
        return Err(skip("the hypervisor leaves this machine no CPU time"));
    }
    for row in rows {
        right(row).with_context(|| format!("{row:#}"))?;
    }
    left_nothing()
}

fn right(row: &Value) -> anyhow::Result<()> {
    let told = &row["resemblance"];
    if row["foreign"] == true {
        ensure!(told["verdict"] != "resembles", "it is none of the stressors");
        return Ok(());
    }
    let parts = told["parts"].as_array().context("parts")?;
    for name in row["ran"].as_array().context("names")? {
        ensure!(parts.iter().any(|part| part["name"] == *name), "{name} is not named");
    }
    ensure!(told["distance"].as_f64().is_some_and(|far| far <= FAR), "it is far away");
    Ok(())
}

/// No stressor runs any more.
fn left_nothing() -> anyhow::Result<()> {
    for entry in fs::read_dir("/proc")?.flatten() {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        ensure!(!arguments.contains("workload lab stress-"), "still there: {arguments}");
    }
    Ok(())
}
