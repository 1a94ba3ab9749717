//! Suites: killed between two runs, gone on with, and judged; with a manager that was there first.

use crate::init;
use crate::kit::{Said, Scratch, hugewise, promotes, skip, trial, unless_busy, wait_for};
use crate::lab_run::unchanged;
use crate::machine::{Settings, Turn};
use anyhow::{Context, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Two small workloads under two variants. A manager sees programs from 32 MiB on.
const SUITE: &str = r#"
name = "tiny"
question = "Is anything regretted?"
rounds = 1
bars = { speed = 0.95, memory = 1.05, tail = 1.2 }

[common]
measure_s = 1
manage_s = 2
settle = { still_s = 0 }

[[variant]]
name = "never"
huge_pages = "never"

[[variant]]
name = "ingens"
manage = { mode = "ingens", keep_settings = true, standing = true }

[[row]]
name = "table"
start = ["fill_s", "start.ops_per_s"]
steady = ["ops_per_s", "cgroup_mib"]
workload = { kind = "gups", mib = 48 }

[[row]]
name = "search"
start = ["start.edges_per_s"]
steady = ["edges_per_s"]
workload = { kind = "graph", scale = 16 }
"#;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("lab_a_killed_suite_goes_on_run_by_run", killed_and_resumed)]
}

fn arguments(scratch: &Scratch) -> anyhow::Result<Vec<String>> {
    let file = scratch.join("tiny.toml");
    fs::write(&file, SUITE)?;
    let place = |name: &str| scratch.join(name).display().to_string();
    let all = ["lab", "run", &place("tiny.toml"), "--noisy", "--seed", "1", "--output"];
    let mut all: Vec<String> = all.into_iter().map(str::to_owned).collect();
    all.extend([place("results"), "--state-dir".into(), place("state")]);
    Ok(all)
}

/// The runs on disk, each with what tells one writing from another.
fn runs(scratch: &Scratch) -> Vec<(PathBuf, u64)> {
    let mut all = Vec::new();
    for workload in ["table", "search"] {
        let place = scratch.join(format!("results/{workload}/runs"));
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let is_whole = entry.path().extension().is_some_and(|end| end == "json");
            all.extend(entry.metadata().ok().filter(|_| is_whole).map(|m| (entry.path(), m.ino())));
        }
    }
    all
}

/// Starts it, and kills it once a run is on disk.
fn kill_after_a_run(scratch: &Scratch) -> anyhow::Result<()> {
    let mut lab = Command::new(init::hugewise());
    lab.args(arguments(scratch)?).stdin(Stdio::null()).stdout(Stdio::null());
    let mut lab = lab.stderr(fs::File::create(scratch.join("err"))?).spawn()?;
    wait_for("the first run", || {
        if let Some(status) = lab.try_wait()? {
            let err = fs::read_to_string(scratch.join("err"))?;
            unless_busy(Said { code: status.code(), out: String::new(), err: err.clone() })?;
            bail!("it ended: {status} {err}");
        }
        Ok(!runs(scratch).is_empty())
    })?;
    lab.kill()?;
    lab.wait()?;
    Ok(())
}

fn killed_and_resumed(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("runs of an experiment take too long on an emulated processor"));
    }
    let (scratch, settings) = (Scratch::new()?, Settings::read()?);
    kill_after_a_run(&scratch)?;
    let first = runs(&scratch);
    let said = unless_busy(hugewise(arguments(&scratch)?)?)?.expect(0)?;
    ensure!(said.err.contains("continuing the suite"), "{said:#?}");
    unchanged(&settings)?;
    let all = runs(&scratch);
    ensure!(all.len() == 4 && first.iter().all(|run| all.contains(run)), "{first:?} {all:?}");
    let read = |name: &str| -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&fs::read(scratch.join("results").join(name))?)?)
    };
    let report = read("regret.json")?;
    ensure!(report["runs"] == serde_json::json!([4, 4]), "{report}");
    let rows = report["modes"][0]["rows"].as_array().context("rows")?;
    // Six that were asked for, and two peaks; one round is compared with nothing.
    ensure!(rows.len() == 8 && rows.iter().all(|row| row["ours"].is_number()), "{report:#}");
    ensure!(rows.iter().all(|row| row["verdict"] != "beyond"), "{report:#}");
    let run = read("table/runs/0001-ingens.json")?;
    let promoted = run["measured"]["values"]["promoted"].as_f64();
    ensure!(promoted > Some(0.0), "its manager did not see it: {run:#}");
    ensure!(scratch.join("results/table/report.html").is_file(), "no report of a workload");
    Ok(())
}
