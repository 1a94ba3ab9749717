//! cgroups that come and go while the manager works.

use crate::group::Group;
use crate::hold::Hold;
use crate::kit::{Scratch, hugewise, number, promotes, trial_of_any_kernel};
use crate::machine::Turn;
use crate::manager::Manage;
use crate::promote::{FAST, MIB};
use anyhow::{Context, bail, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_any_kernel("a_cgroup_may_go_while_it_is_managed", a_cgroup_may_go),
        trial_of_any_kernel("a_live_diagnosis_reads_the_kernels_log", the_log_is_read),
    ]
}

/// What `status` says of a program.
fn target(status: &Value, pid: u32) -> anyhow::Result<&Value> {
    let all = status["targets"].as_array().context("no targets")?;
    all.iter().find(|target| target["pid"] == pid).with_context(|| format!("no {pid}: {status}"))
}

/// The cgroup of a program.
fn cgroup(status: &Value, pid: u32) -> anyhow::Result<String> {
    let cgroup = target(status, pid)?["cgroup"].as_str().context("no cgroup")?;
    Ok(cgroup.to_owned())
}

/// One program of it moves elsewhere, another one ends, and the cgroup is removed: who moved and
/// who was never in it become huge, and nothing is left of it.
fn a_cgroup_may_go(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let (scratch, group) = (Scratch::new()?, Group::new()?);
    let size = format!("--mib {MIB}");
    let mut moves = group.inside(|| Hold::start(&size))?;
    let ends = group.inside(|| Hold::start(&size))?;
    let mut beside = Hold::start(&size)?;
    let pids = [&moves, &ends, &beside].map(|hold| format!("--pid {}", hold.pid())).join(" ");
    // So slowly that something is left to do for all of them.
    let slowly = "--set quota.bytes_per_s=8388608";
    let manager = Manage::new(&scratch, &format!("{pids} --for 1h {FAST} {slowly}")).start()?;
    let status = manager.wait("a promotion", |s| s["promoted"].as_u64() >= Some(1))?;
    let before = cgroup(&status, moves.pid())?;
    ensure!(before == cgroup(&status, ends.pid())?, "both are in it: {status}");
    ensure!(before != cgroup(&status, beside.pid())?, "the third is not: {status}");
    group.leave(moves.pid())?;
    drop(ends);
    group.remove()?;
    let pid = moves.pid();
    let moved = |s: &Value| cgroup(s, pid).is_ok_and(|now| now != before);
    manager.wait("the new cgroup", moved)?;
    let status = manager.wait("all to be huge", |s| {
        [&moves, &beside].iter().all(|hold| {
            let huge = target(s, hold.pid()).and_then(|target| number(target, "/huge"));
            huge.is_ok_and(|huge| huge == MIB << 20)
        })
    })?;
    let cgroups = status["cgroups"].as_array().context("no cgroups")?;
    ensure!(cgroups.iter().all(|cgroup| cgroup["cgroup"] != *before), "it is gone: {status}");
    moves.verify()?;
    beside.verify()?;
    manager.stop()?.expect(0)?;
    Ok(())
}

/// A program that needs more than its cgroup has is killed, which stands in the kernel's log alone.
fn the_log_is_read(_: &Turn) -> anyhow::Result<()> {
    const LIMIT: u64 = 16 << 20;
    let group = Group::new()?;
    group.limit(LIMIT)?;
    if group.inside(|| Ok(Hold::start("--mib 64").is_ok()))? {
        bail!("64 MiB fit into a cgroup of 16");
    }
    let found = hugewise(["diagnose", "--for", "2s", "--json"])?.json()?;
    let killed = found["findings"].as_array().context("findings")?;
    let killed = killed.iter().find(|one| one["cause"] == "oom_kills");
    let killed = killed.with_context(|| format!("no kill is found: {found:#}"))?.to_string();
    ensure!(killed.contains("hugewise-live-"), "its cgroup is not named: {killed}");
    ensure!(killed.contains("seconds ago"), "its age is not: {killed}");
    Ok(())
}
