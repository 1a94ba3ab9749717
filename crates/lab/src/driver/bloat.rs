//! Programs that bloat at once under huge pages: made-up ones, and ones of Debian.

use super::common;
use super::filled_program::FilledProgram;
use crate::run::{Run, key};
use anyhow::bail;
use hugewise_experiment::kinds::{Bloat, Shape, Zeros};
use hugewise_experiment::spec::{HugePages, START};
use std::process::Command;
use std::time::Duration;

/// glibc then says `MADV_HUGEPAGE` of what it allocates.
const GLIBC_HUGE: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
const NUMPY: &str = include_str!("bloat.py");
const NODE: &str = include_str!("bloat.js");
const PYTHON: &str = "/usr/bin/python3";

/// Runs a made-up program.
pub(super) fn made_up(params: &Bloat, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let mut command = run.own_workload()?;
    command.args(["bloat", "--kind", params.shape.key(), "--mib", &params.mib.to_string()]);
    command.args(["--seed", &run.seed().to_string()]);
    command.args(match run.huge_pages() {
        HugePages::Inherit => &[][..],
        HugePages::Never => &["--thp-disable"],
        HugePages::Always => &["--advise", "huge"],
        HugePages::Later => &["--later"],
        HugePages::Khugepaged => &["--later", "--advise", "huge"],
    });
    // What is purged in pieces has no whole huge page left when its fill is over.
    let is_torn = params.shape == Shape::Purge && run.huge_pages() == HugePages::Always;
    drive(run, &mut command, Duration::from_secs(params.watch_s), !is_torn)
}

/// Runs an array in Python.
pub(super) fn numpy(params: &Zeros, run: &mut Run<'_>) -> anyhow::Result<()> {
    real(params, run, PYTHON, &["-c", NUMPY])
}

/// Runs an array in JavaScript.
pub(super) fn node(params: &Zeros, run: &mut Run<'_>) -> anyhow::Result<()> {
    real(params, run, "node", &["-e", NODE])
}

/// Runs a program once: what it holds right after its start and in the end, and how fast it works
/// then.
fn drive(
    run: &mut Run<'_>,
    command: &mut Command,
    watch: Duration,
    check_huge: bool,
) -> anyhow::Result<()> {
    let name = run.kind().name;
    let mut program = FilledProgram::start(run, name, command)?;
    let memory = run.memory("at_once", program.pid());
    if check_huge {
        common::check_huge(run, name, &memory)?;
    }
    let mut manager = run.manage(&[program.pid()])?;
    // It works meanwhile: khugepaged passes over what nobody has touched.
    run.step("working")?;
    let rate = program.work(run, common::settling(run))?;
    run.value(&key(START, "ops_per_s"), rate);
    common::check(&mut manager)?;
    run.step("watching its memory")?;
    run.watch("", program.pid(), watch)?;
    run.step("measuring")?;
    let rate = program.work(run, run.measure())?;
    run.value("ops_per_s", rate);
    run.memory("", program.pid());
    run.step("comparing every word")?;
    program.verify(run)?;
    run.stop(manager)?;
    program.finish()
}

fn real(params: &Zeros, run: &mut Run<'_>, program: &str, script: &[&str]) -> anyhow::Result<()> {
    run.step("filling")?;
    let mut command = run.command(program)?;
    command.args(script);
    command.args([params.mib.to_string(), run.seed().to_string()]);
    match run.huge_pages() {
        HugePages::Always if !run.variant().env.contains_key(GLIBC_HUGE.0) => {
            command.env(GLIBC_HUGE.0, GLIBC_HUGE.1);
        }
        HugePages::Later | HugePages::Khugepaged => bail!(
            "nobody can give {program} huge pages later: nothing but its start switches them off. \
             Say never, always or inherit"
        ),
        _ => {}
    }
    drive(run, &mut command, Duration::from_secs(params.watch_s), true)
}
