//! Drives a JVM that allocates: a small program, compiled here once a run.

use super::super::protocol::Request;
use super::super::run::Run;
use super::super::talk::Talk;
use super::{builtin, common};
use crate::lab::program::{Program, cpu_s};
use anyhow::{Context, bail};
use hugewise_core::lab::kind::Kind;
use hugewise_core::lab::spec::HugePages;
use hugewise_core::stats::Histogram;
use serde::Deserialize;
use std::fs::File;
use std::process::{Command, Stdio};

/// The program. It is compiled by itself, so that the compiler is no part of what is measured.
const SOURCE: &str = include_str!("java/Churn.java");
/// Its class.
const CLASS: &str = "Churn";
/// Variables by which a JVM would take further flags.
const FLAGS: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// Runs it: filled, managed where the variant says so, measured, every array compared.
pub(super) fn drive(kind: &Kind, run: &mut Run<'_>) -> anyhow::Result<()> {
    let params = run.params();
    run.step("compiling")?;
    compile(run)?;
    run.step("filling the heap")?;
    let mut talk = Talk::start(kind.name, &mut command(run)?)?;
    builtin::wait(run, &mut talk, "ready")?;
    let pid = talk.program.pid();
    let memory = run.holds(pid);
    common::check_huge(run, "java", &memory)?;
    // Where the pool has no room for the heap, the JVM goes on without a word.
    if params.flag("large_pages") && memory.hugetlb < params.count("live_mib") as f64 {
        bail!(
            "java was told to use HugeTLB pages and holds {:.0} MiB in them, less than its live \
             data: is the pool too small? Beside its heap it keeps 240 MiB for code there",
            memory.hugetlb
        );
    }
    let mut manager = run.manage(&[pid])?;
    common::settle(run, &mut manager)?;
    run.step("measuring")?;
    let before = cpu_s(pid);
    talk.measure(run.measure())?;
    let measured = builtin::wait(run, &mut talk, "measured")?;
    builtin::note(run, &measured)?;
    run.latencies("", Histogram::deserialize(&measured["latency"])?);
    run.cpu_since("", pid, before);
    let memory = run.memory("", pid);
    run.value("hugetlb_mib", memory.hugetlb);
    common::check(&mut manager)?;
    run.step("comparing every array")?;
    talk.send(&Request::Verify.line())?;
    builtin::wait(run, &mut talk, "verified")?;
    run.stop(manager)?;
    talk.finish()
}

fn compile(run: &Run<'_>) -> anyhow::Result<()> {
    let source = run.directory().join(format!("{CLASS}.java"));
    std::fs::write(&source, SOURCE)?;
    let log = run.directory().join("javac.log");
    let mut command = run.tool("javac")?;
    command.arg("-d").arg(run.directory()).arg(&source);
    FLAGS.into_iter().fold(&mut command, Command::env_remove);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    let status = common::finish(run, &mut Program::start(&mut command)?)?;
    if status.success() {
        return Ok(());
    }
    let said = std::fs::read_to_string(&log).context("javac failed without a word")?;
    bail!("javac ended with {status}: {}", said.trim())
}

fn command(run: &Run<'_>) -> anyhow::Result<Command> {
    let params = run.params();
    let mut command = run.command("java")?;
    let gc = match params.text("gc") {
        "serial" => "Serial",
        "parallel" => "Parallel",
        _ => "G1",
    };
    let heap = params.count("heap_mib");
    command.args([format!("-Xms{heap}m"), format!("-Xmx{heap}m"), format!("-XX:+Use{gc}GC")]);
    // It would leave a file in /tmp.
    command.arg("-XX:-UsePerfData");
    if run.huge_pages() == HugePages::Always {
        command.arg("-XX:+UseTransparentHugePages");
    }
    if params.flag("large_pages") {
        command.arg("-XX:+UseLargePages");
    }
    command.arg("-cp").arg(run.directory()).arg(CLASS);
    command.args(
        ["live_mib", "survive_percent", "object_bytes"].map(|name| params.count(name).to_string()),
    );
    command.arg(run.seed().to_string()).stderr(File::create(run.directory().join("java.err"))?);
    for name in FLAGS {
        if !run.variant().env.contains_key(name) {
            command.env_remove(name);
        }
    }
    Ok(command)
}
