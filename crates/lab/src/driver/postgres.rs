//! Drives PostgreSQL under pgbench.
//!
//! The server does not wait for the disk, so that memory is what is measured. With `rate` the
//! latency of a transaction counts from when it was scheduled; without, each connection sends the
//! next one when it has the answer, and waiting is nobody's latency.

mod server;

use super::common;
use crate::program::{Program, cpu_of_trees_s};
use crate::program_output::whole;
use crate::run::Run;
use crate::session::BEAT;
use crate::stranger;
use anyhow::{Context, bail};
use hugewise_experiment::kinds::{PoolPages, Postgres};
use hugewise_experiment::tools::pgbench::{Log, Report};
use server::{DATABASE, Server, USER, said};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Processes of the server that serve nobody any more are gone after so long.
const QUIET: Duration = Duration::from_secs(5);

/// Runs it: filled, warmed, measured.
pub(super) fn drive(params: &Postgres, run: &mut Run<'_>) -> anyhow::Result<()> {
    run.step("making a database")?;
    let mut server = Server::start(params, run)?;
    run.step("filling its tables")?;
    let mut fill = bench(run, &server)?;
    fill.args(["--initialize", "--quiet", "--scale", &params.scale.to_string()]);
    finish(run, fill.arg(DATABASE), "fill")?;
    let before = server.alone(run)?;
    let mut manager = run.manage(&run.pids(server.pid()))?;
    common::settle(run, &mut manager)?;
    let warm = params.warm_s;
    if warm > 0 {
        run.step("warming")?;
        finish(run, &mut load(params, run, &server, warm)?, "warm")?;
    }
    server.until_alone(run, before, QUIET)?;
    let used = cpu_of_trees_s(&run.pids(server.pid()));
    run.step("measuring")?;
    let printed = measure(params, run, &mut server)?;
    server.until_alone(run, before, QUIET)?;
    let now = cpu_of_trees_s(&run.pids(server.pid()));
    run.value("user_cpu_s", now.0 - used.0);
    run.value("kernel_cpu_s", now.1 - used.1);
    note(run, server.logs(), &printed)?;
    common::check(&mut manager)?;
    run.stop(manager)?;
    server.end()
}

/// pgbench, connected with the server.
fn bench(run: &Run<'_>, server: &Server) -> anyhow::Result<Command> {
    let mut command = run.tool_as(server.runner(), &server.program_path("pgbench"))?;
    command.arg("--host").arg(server.data()).args(["--username", USER]);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    Ok(command)
}

/// pgbench as a load of a number of seconds.
fn load(
    params: &Postgres,
    run: &Run<'_>,
    server: &Server,
    seconds: u64,
) -> anyhow::Result<Command> {
    let clients = params.clients;
    let mut command = bench(run, server)?;
    // More threads than connections are refused.
    let threads = params.threads.min(clients);
    command.args(["--no-vacuum", "--client", &clients.to_string(), "--jobs"]);
    command.args([&threads.to_string(), "--time", &seconds.to_string()]);
    command.arg("--random-seed").arg((run.seed() >> 1).to_string());
    if params.select_only {
        command.arg("--select-only");
    }
    if params.rate > 0 {
        command.args(["--rate", &params.rate.to_string()]);
    }
    command.arg(DATABASE);
    Ok(command)
}

/// Runs a command to its end, with progress; what it printed.
fn finish(run: &Run<'_>, command: &mut Command, name: &str) -> anyhow::Result<String> {
    wait(run, command, name, &mut |_| Ok(()))
}

fn wait(
    run: &Run<'_>,
    command: &mut Command,
    name: &str,
    beat: &mut dyn FnMut(&Run<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let file = |end: &str| run.directory().join(format!("pgbench-{name}.{end}"));
    command.stdout(File::create(file("out"))?).stderr(File::create(file("err"))?);
    let mut program = Program::start(command)?;
    let status = loop {
        if let Some(status) = program.0.try_wait()? {
            break status;
        }
        run.sleep(BEAT / 2)?;
        beat(run)?;
    };
    if !status.success() {
        bail!("pgbench ended with {status}: {}", said(&file("err")));
    }
    whole(&file("out"))
}

/// The measurement itself; memory is looked at when most of it is over, while all connections are
/// still there.
fn measure(params: &Postgres, run: &mut Run<'_>, server: &mut Server) -> anyhow::Result<String> {
    let mut command = load(params, run, server, run.measure().as_secs().max(1))?;
    command.arg("--log").arg("--log-prefix").arg(server.logs().join("transactions"));
    let (began, late) = (Instant::now(), run.measure().mul_f64(0.7));
    let (pid, mut seen) = (server.pid(), false);
    // Values are noted afterwards: the wait only borrows the run.
    let mut looked = None;
    let printed = wait(run, &mut command, "measure", &mut |run| {
        if !seen && began.elapsed() >= late {
            seen = true;
            looked = Some(run.holds(pid));
        }
        Ok(())
    })?;
    server.check()?;
    let memory = looked.context("pgbench ended before its time was over")?;
    if params.hugetlb == PoolPages::On && memory.hugetlb.is_none_or(|mib| mib <= 0.0) {
        bail!(
            "PostgreSQL was configured to use HugeTLB pages, and none of its memory is seen there"
        );
    }
    common::note_huge(run, "PostgreSQL", &memory);
    run.note_memory("", memory);
    run.known("hugetlb_mib", memory.hugetlb);
    Ok(printed)
}

/// What pgbench printed and logged.
fn note(run: &mut Run<'_>, logs: &Path, printed: &str) -> anyhow::Result<()> {
    let report = Report::parse(printed);
    let mut log = Log::default();
    for entry in std::fs::read_dir(logs)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("transactions.") {
            log.add(&String::from_utf8_lossy(&stranger::read(&path)?));
        }
    }
    let processed = report.transactions.context("pgbench does not say what it processed")?;
    let counted = log.latencies.count().saturating_add(log.failed).saturating_add(log.skipped);
    if log.unknown > 0 || counted < processed {
        bail!(
            "pgbench says {processed} transactions and has logged {counted}, and {} lines that \
             are not understood",
            log.unknown
        );
    }
    if log.failed > 0 {
        run.note(format!("{} transactions failed", log.failed));
    }
    run.value("ops_per_s", report.tps.context("pgbench does not say its rate")?);
    let mean = log.latencies.mean().context("pgbench has logged no transaction")?;
    run.value("mean_us", mean / 1e3);
    run.latencies("", log.latencies);
    Ok(())
}
