//! Drives a JVM that allocates: a small program, compiled here once a run.

use super::{builtin, common};
use crate::program::{Program, Used};
use crate::program_output;
use crate::run::Run;
use crate::talk::Talk;
use anyhow::{Context, bail};
use hugewise_experiment::kinds::{Collector, Java};
use hugewise_experiment::spec::{HugePages, START};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The program. It is compiled by itself, so that the compiler is no part of what is measured.
const SOURCE: &str = include_str!("java/Churn.java");
/// Its class.
const CLASS: &str = "Churn";
/// Variables by which a JVM would take further flags.
const FLAGS: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// Runs it: filled, managed where the variant says so, measured, every array compared.
pub(super) fn drive(params: &Java, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("compiling")?;
    compile(run)?;
    run.step("filling the heap")?;
    let mut talk = Talk::start(run.kind().name, &mut command(params, run)?)?;
    talk.ready(&mut |said| builtin::progress(run, said))?;
    let pid = talk.program.pid();
    let memory = run.holds(pid);
    common::check_huge(run, "java", &memory)?;
    // Where the pool has no room for the heap, the JVM continues without a word.
    let hugetlb = || memory.hugetlb.context("how much of java is in HugeTLB pages is unknown");
    if params.large_pages && hugetlb()? < params.live_mib as f64 {
        bail!(
            "java was configured to use HugeTLB pages and holds {:.0} MiB in them, less than its \
             live data: is the pool too small? Beside its heap it keeps 240 MiB for code there",
            hugetlb()?
        );
    }
    let mut manager = run.manage(&[pid])?;
    if run.experiment().at_work {
        measure(run, &mut talk, START, common::settling(run))?;
    } else {
        common::settle(run, &mut manager)?;
    }
    measure(run, &mut talk, "", run.measure())?;
    let memory = run.memory("", pid);
    run.known("hugetlb_mib", memory.hugetlb);
    common::check(&mut manager)?;
    run.step("comparing every array")?;
    talk.verify(&mut |said| builtin::progress(run, said))?;
    run.stop(manager)?;
    talk.finish()
}

/// Measures for a while; what it found.
fn measure(run: &mut Run<'_>, talk: &mut Talk, phase: &str, time: Duration) -> anyhow::Result<()> {
    run.step("measuring")?;
    let pid = talk.program.pid();
    let before = Used::of(pid);
    talk.measure(time)?;
    let mut measured = talk.measured(&mut |said| builtin::progress(run, said))?;
    let latency = measured.histograms.remove("latency").context("java measured no latency")?;
    builtin::note(run, phase, measured);
    run.latencies(phase, latency);
    run.used_since(phase, pid, &before);
    Ok(())
}

fn compile(run: &Run<'_>) -> anyhow::Result<()> {
    let source = run.give(&format!("{CLASS}.java"), SOURCE)?;
    let log = run.directory().join("javac.log");
    let mut command = run.tool("javac")?;
    command.arg("-d").arg(run.own()).arg(&source);
    FLAGS.into_iter().fold(&mut command, Command::env_remove);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    let status = common::finish(run, &mut Program::start(&mut command)?)?;
    if status.success() {
        return Ok(());
    }
    bail!(
        "javac ended with {status}: {}",
        program_output::last_lines(&program_output::end(&log), 5)
    )
}

fn command(params: &Java, run: &Run<'_>) -> anyhow::Result<Command> {
    let mut command = run.command("java")?;
    let gc = match params.gc {
        Collector::Serial => "Serial",
        Collector::Parallel => "Parallel",
        Collector::G1 => "G1",
    };
    let heap = params.heap_mib;
    command.args([format!("-Xms{heap}m"), format!("-Xmx{heap}m"), format!("-XX:+Use{gc}GC")]);
    // It would leave a file in /tmp.
    command.arg("-XX:-UsePerfData");
    if run.huge_pages() == HugePages::Always {
        command.arg("-XX:+UseTransparentHugePages");
    }
    if params.large_pages {
        command.arg("-XX:+UseLargePages");
    }
    command.arg("-cp").arg(run.own()).arg(CLASS);
    let Java { live_mib, survive_percent, object_bytes, .. } = params;
    command.args([live_mib, survive_percent, object_bytes].map(u64::to_string));
    command.arg(run.seed().to_string()).arg(params.lookups.to_string());
    command.stderr(File::create(run.directory().join("java.err"))?);
    for name in FLAGS {
        if !run.variant().env.contains_key(name) {
            command.env_remove(name);
        }
    }
    Ok(command)
}
