//! Drives Redis: what huge pages hold of memory that it has freed, what a saving child copies,
//! and what its requests feel.

mod loaded;
mod server;
mod timeline;

use super::common;
use crate::manager::ManagerProcess;
use crate::run::Run;
use anyhow::{Context, bail};
use hugewise_experiment::kinds::{Redis, Scenario};
use hugewise_experiment::spec::START;
use server::{SERVER, Server};
use std::time::{Duration, Instant};

/// Runs a scenario.
pub(super) fn drive(params: &Redis, run: &mut Run<'_>) -> anyhow::Result<()> {
    match params.scenario {
        Scenario::Bloat => bloat(params, run),
        Scenario::Serve => serve(params, run),
        Scenario::BgSave => bgsave(params, run),
        Scenario::Timeline => timeline::run(params, run),
        Scenario::Load => loaded::run(params, run),
    }
}

/// Starts a server, fills it and looks at all of it; then the manager, where there is one, and the
/// time that it has.
fn begin(params: &Redis, run: &mut Run<'_>) -> anyhow::Result<(Server, Option<ManagerProcess>)> {
    run.step("starting and filling Redis")?;
    let mut server = Server::start(params, run)?;
    let began = Instant::now();
    server.fill(run, params.keys)?;
    run.value("fill_s", began.elapsed().as_secs_f64());
    server.check_all(run)?;
    common::check_huge(run, SERVER, &run.holds(server.pid()))?;
    let mut manager = run.manage(&[server.pid()])?;
    if run.experiment().at_work {
        server.load(run, common::settling(run), params.set_percent)?.note(run, START);
        common::check(&mut manager)?;
    } else {
        common::settle(run, &mut manager)?;
    }
    Ok((server, manager))
}

/// The manager must still run and every value be as written; then both end.
fn finish(
    run: &mut Run<'_>,
    mut server: Server,
    mut manager: Option<ManagerProcess>,
) -> anyhow::Result<()> {
    common::check(&mut manager)?;
    run.step("comparing every value")?;
    server.check_all(run)?;
    run.stop(manager)?;
    server.end(run)
}

/// Most keys are deleted: who gives back what huge pages still hold?
fn bloat(params: &Redis, run: &mut Run<'_>) -> anyhow::Result<()> {
    let (mut server, manager) = begin(params, run)?;
    let pid = server.pid();
    run.memory("full", pid);
    run.step("measuring")?;
    server.load(run, run.measure(), 0)?.note(run, "full");
    run.step("deleting")?;
    server.delete(run, params.delete_percent)?;
    run.step("watching its memory")?;
    run.watch("deleted", pid, Duration::from_secs(params.watch_s))?;
    run.memory("deleted", pid);
    run.step("measuring what is left")?;
    server.load(run, run.measure(), 0)?.note(run, "deleted");
    common::note_closed_loop(run);
    finish(run, server, manager)
}

/// A mix of requests.
fn serve(params: &Redis, run: &mut Run<'_>) -> anyhow::Result<()> {
    let (mut server, manager) = begin(params, run)?;
    let pid = server.pid();
    run.step("measuring")?;
    let share = params.set_percent;
    server.load(run, run.measure(), share)?.note(run, "");
    common::note_closed_loop(run);
    run.memory("", pid);
    finish(run, server, manager)
}

/// A child saves while keys are overwritten: every page written meanwhile is copied first, and a
/// huge page as a whole or split.
fn bgsave(params: &Redis, run: &mut Run<'_>) -> anyhow::Result<()> {
    let (mut server, manager) = begin(params, run)?;
    let pid = server.pid();
    let share = params.set_percent;
    run.step("measuring before the save")?;
    server.load(run, run.measure(), share)?.note(run, "before");
    common::note_closed_loop(run);
    run.step("measuring during the save")?;
    let requests = params.save_requests;
    let saved = server.load_while_saving(run, share, requests)?;
    saved.meter.note(run, "during");
    run.value("save_s", saved.time.as_secs_f64());
    let persistence = server.info("persistence")?;
    if server::field(&persistence, "rdb_last_bgsave_status") != Some("ok") {
        bail!("Redis could not save; its log is {}", server.log_end());
    }
    let copied = server::field(&persistence, "rdb_last_cow_size");
    let copied: f64 = copied.and_then(|text| text.parse().ok()).context("no rdb_last_cow_size")?;
    if saved.in_time {
        run.value("copied_mib", copied / crate::program::MIB);
    } else {
        run.note(
            "the save was over before all of save_requests: what was copied cannot be compared"
                .into(),
        );
    }
    let stats = server.info("stats")?;
    let fork = server::field(&stats, "latest_fork_usec");
    let fork: f64 = fork.and_then(|text| text.parse().ok()).context("no latest_fork_usec")?;
    run.value("fork_ms", fork / 1e3);
    run.memory("", pid);
    finish(run, server, manager)
}
