//! Programs that bloat at once under huge pages: made-up ones, and ones of Debian.

use super::super::run::Run;
use super::common;
use super::lines::Lines;
use anyhow::{Context, bail};
use hugewise_core::lab::kind::Kind;
use hugewise_core::lab::spec::HugePages;
use std::process::Command;
use std::time::Duration;

/// glibc then says `MADV_HUGEPAGE` of what it allocates.
const GLIBC_HUGE: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
const NUMPY: &str = include_str!("bloat.py");
const NODE: &str = include_str!("bloat.js");
const PYTHON: &str = "/usr/bin/python3";

/// Runs it once: what it holds right after its start and in the end, and how fast it works then.
pub(super) fn drive(kind: &Kind, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("filling")?;
    let mut command = match kind.name {
        "numpy" => real(run, PYTHON, &["-c", NUMPY])?,
        "node" => real(run, "node", &["-e", NODE])?,
        _ => made_up(run)?,
    };
    let mut program = Lines::start(run, kind.name, &mut command)?;
    let memory = run.memory("at_once", program.pid());
    // What is purged in pieces has no whole huge page left when its fill is over.
    let is_torn = kind.name == "bloat" && run.params().text("shape") == "purge";
    if !(is_torn && run.huge_pages() == HugePages::Always) {
        common::check_huge(run, kind.name, &memory)?;
    }
    let mut manager = run.manage(&[program.pid()])?;
    // It works meanwhile: khugepaged passes over what nobody has touched.
    run.step("working")?;
    program.work(run, Duration::from_secs(run.experiment().manage_s))?;
    common::check(&mut manager)?;
    run.step("watching its memory")?;
    let limit = Duration::from_secs(run.params().count("watch_s"));
    run.watch("", program.pid(), limit)?;
    run.step("measuring")?;
    let rate = program.work(run, run.measure())?;
    run.value("ops_per_s", rate);
    run.memory("", program.pid());
    run.step("comparing every word")?;
    program.verify(run)?;
    run.stop(manager)?;
    program.finish()
}

fn made_up(run: &Run<'_>) -> anyhow::Result<Command> {
    let mut command = run.own_workload()?;
    command.args(["bloat", "--kind", run.params().text("shape")]);
    command.args(["--mib", &run.params().count("mib").to_string()]);
    command.args(["--seed", &run.seed().to_string()]);
    command.args(match run.huge_pages() {
        HugePages::Inherit => &[][..],
        HugePages::Never => &["--thp-disable"],
        HugePages::Always => &["--advise", "huge"],
        HugePages::Later => &["--later"],
    });
    Ok(command)
}

fn real(run: &Run<'_>, program: &str, script: &[&str]) -> anyhow::Result<Command> {
    let mut command = run.command(program)?;
    command.args(script);
    command.args([run.params().count("mib").to_string(), run.seed().to_string()]);
    match run.huge_pages() {
        HugePages::Always if !run.variant().env.contains_key(GLIBC_HUGE.0) => {
            command.env(GLIBC_HUGE.0, GLIBC_HUGE.1);
        }
        HugePages::Later => bail!(
            "nobody can give {program} huge pages later: nothing but its start switches them off. \
             Say never, always or inherit"
        ),
        _ => {}
    }
    Ok(command)
}

/// Why numpy cannot be used, where its Python is there.
pub(super) fn without_numpy() -> Option<String> {
    let tried = Command::new(PYTHON).args(["-c", "import numpy"]).output();
    let there = tried.context("no Python").is_ok_and(|output| output.status.success());
    (!there).then(|| "numpy is not installed (Debian: apt-get install python3-numpy)".into())
}
