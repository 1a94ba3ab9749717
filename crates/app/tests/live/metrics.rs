//! Metrics of a manager at work.

use crate::hold::Hold;
use crate::kit::{Scratch, hugewise, promotes, skip, trial, trial_of_any_kernel};
use crate::machine::Turn;
use crate::manager::Manage;
use crate::promote::{FAST, MIB};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prometheus' own check of the text form.
const PROMTOOL: &str = "promtool";
pub(crate) const RULES: &str = include_str!("../../../../dist/prometheus/hugewise.rules.yml");
const RULES_TEST: &str = include_str!("../../../../dist/prometheus/hugewise.rules.test.yml");

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_any_kernel("metrics_say_what_the_manager_did", what_the_manager_did),
        trial("metrics_are_what_prometheus_reads", what_prometheus_reads),
        trial("metrics_make_alerts_fire", alerts_fire),
    ]
}

/// A manager that has promoted all of a program; its metrics in a file.
fn written(scratch: &Scratch) -> anyhow::Result<PathBuf> {
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let args = format!("--pid {} --for 1h {FAST}", hold.pid());
    let manager = Manage::new(scratch, &args).start()?;
    manager.wait("all to be huge", |s| s["promoted"].as_u64() == Some(MIB / 2))?;
    let (file, run) = (scratch.join("hugewise.prom"), scratch.join("run"));
    let output = ["serve", "--once", "--output"].map(Path::new);
    let words = output.into_iter().chain([&*file, Path::new("--run-dir"), &*run]);
    let said = hugewise(words)?.expect(0)?;
    ensure!(said.out.is_empty(), "it went to the file: {said:?}");
    hold.verify()?;
    manager.stop()?.expect(0)?;
    Ok(file)
}

fn what_the_manager_did(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let file = written(&scratch)?;
    let text = fs::read_to_string(&file)?;
    let value = |series: &str| -> anyhow::Result<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        Ok(line.with_context(|| format!("no {series}: {text}"))?.trim().parse()?)
    };
    ensure!(value("hugewise_manager_up ")? == 1.0, "{text}");
    ensure!(value("hugewise_promotions_total ")? == (MIB / 2) as f64, "{text}");
    let huge = value("hugewise_program_huge_bytes{program=\"hugewise\"} ")?;
    ensure!(huge == (MIB << 20) as f64, "{text}");
    ensure!(value("hugewise_manager_cpu_seconds_total ")? > 0.0, "{text}");
    // node_exporter runs as somebody else.
    let mode = fs::metadata(&file)?.permissions().mode() & 0o777;
    ensure!(mode & 0o444 == 0o444, "mode {mode:o}");
    Ok(())
}

/// What promtool says; an error where it finds a fault, a reason to skip where it is missing.
fn promtool(words: &[&str], input: Stdio) -> anyhow::Result<String> {
    let done = match Command::new(PROMTOOL).args(words).stdin(input).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(skip("no promtool: install Debian's package prometheus"));
        }
        done => done?,
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&done.stdout) + &text(&done.stderr);
    ensure!(done.status.success(), "{said}");
    Ok(said)
}

fn what_prometheus_reads(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    promtool(&["--version"], Stdio::null())?;
    let scratch = Scratch::new()?;
    let file = written(&scratch)?;
    let said = promtool(&["check", "metrics"], File::open(&file)?.into())?;
    ensure!(said.trim().is_empty(), "{said}");
    Ok(())
}

/// The rules that are shipped, with made-up figures: each alert fires where it should, and not
/// where it should not.
fn alerts_fire(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let [rules, tests] = ["hugewise.rules.yml", "hugewise.rules.test.yml"];
    fs::write(scratch.join(rules), RULES)?;
    fs::write(scratch.join(tests), RULES_TEST)?;
    let [rules, tests] = [rules, tests].map(|name| scratch.join(name).display().to_string());
    promtool(&["check", "rules", &rules], Stdio::null())?;
    let said = promtool(&["test", "rules", &tests], Stdio::null())?;
    ensure!(said.contains("SUCCESS"), "{said}");
    Ok(())
}
