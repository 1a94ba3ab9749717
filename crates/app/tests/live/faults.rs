//! What page faults hand out while a manager runs: chosen, measured, taken back.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, promotes, skip, trial, trial_of_any_kernel, wait_for};
use crate::machine::{Kernel, Settings, THP, Turn, collapses_to_sizes, here, set_in_guest, thp};
use crate::manager::{Manage, journal};
use crate::promote::FAST;
use crate::settings::{PutBack, revert};
use anyhow::{Context, ensure};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::time::Duration;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("faults_hand_out_what_is_measured_and_it_comes_back", what_nobody_writes_comes_back),
        trial_of_any_kernel("faults_of_sizes_that_somebody_chose_stay", chosen_sizes_stay),
        trial_of_any_kernel("faults_are_put_back_after_a_kill", sizes_come_back_after_a_kill),
        trial_of_any_kernel("faults_are_put_back_whenever_it_is_killed", killed_at_any_moment),
        trial("faults_hand_out_huge_pages_in_mode_auto", huge_pages_in_mode_auto),
        trial("sizes_that_khugepaged_makes_are_bounded_and_counted", sizes_of_khugepaged),
    ]
}

/// khugepaged of Linux 7.3 makes 64 KiB, too, and takes any bound but none for 0: with 51, as for
/// huge pages, it fills nothing of memory of which every other page is there. Metrics count it.
fn sizes_of_khugepaged(_: &Turn) -> anyhow::Result<()> {
    const MADE: &str = "hugepages-64kB/stats/collapse_alloc";
    const SCANS: &str = "khugepaged/full_scans";
    ensure!(collapses_to_sizes() == (Kernel::running()? >= Kernel(7, 3)), "another kernel does it");
    if !collapses_to_sizes() {
        return Err(skip("before Linux 7.3 khugepaged makes huge pages only"));
    }
    if !init::is_guest() {
        return Err(skip("khugepaged is woken in virtual machines only"));
    }
    let set = |file: &str, value: &str| set_in_guest(&format!("{THP}/{file}"), value);
    let count = |file: &str| anyhow::Ok(thp(file)?.parse::<u64>()?);
    let _put_back = PutBack::at_end()?;
    set(&format!("hugepages-{}kB/enabled", here::huge_kib()), "never")?;
    // From here on khugepaged takes programs in that ask for huge pages.
    set("hugepages-64kB/enabled", "always")?;
    set("khugepaged/max_ptes_none", &here::none(51))?;
    let mut hold = Hold::start("--mib 16 --fill every:2 --advise later")?;
    let (made, scans) = (count(MADE)?, count(SCANS)?);
    set("khugepaged/pages_to_scan", "100000")?;
    set("khugepaged/scan_sleep_millisecs", "100")?;
    wait_for("two looks of khugepaged", || Ok(count(SCANS)? > scans + 2))?;
    ensure!(count(MADE)? == made, "it fills what is half empty with max_ptes_none 51");
    set("khugepaged/max_ptes_none", &here::none(511))?;
    wait_for("folios of 64 KiB", || Ok(count(MADE)? > made))?;
    hold.verify()?;
    let metrics = hugewise(["serve", "--once"])?.expect(0)?.out;
    let series = "hugewise_thp_size_events_total{event=\"collapse_alloc\",size=\"64kB\"} ";
    let shown = metrics.lines().find_map(|line| line.strip_prefix(series)?.parse::<f64>().ok());
    ensure!(shown > Some(made as f64), "{shown:?} in metrics, {made} before: {metrics}");
    Ok(())
}

/// The sizes that a manager may hand out, with their settings; none before Linux 6.8.
fn sizes() -> anyhow::Result<Vec<(u64, String)>> {
    let mut sizes = Vec::new();
    for kib in [16, 32, 64, 128] {
        let file = format!("hugepages-{kib}kB/enabled");
        if fs::exists(format!("{THP}/{file}"))? {
            sizes.push((kib, thp(&file)?));
        }
    }
    Ok(sizes)
}

/// Sizes that nobody has chosen, or why the trial is left out.
fn free_sizes() -> anyhow::Result<()> {
    let sizes = sizes()?;
    if sizes.is_empty() {
        return Err(skip("before Linux 6.8 there is no multi-size THP"));
    }
    match sizes.iter().find(|(_, mode)| mode != "never") {
        Some((kib, mode)) => Err(skip(format!("the machine has {kib} KiB set to '{mode}'"))),
        None => Ok(()),
    }
}

/// The size that faults hand out, in KiB, and why.
fn given(status: &Value) -> (u64, String) {
    let size = status["faults"]["size"].as_u64().unwrap_or(4 << 10) >> 10;
    (size, status["faults"]["size_reason"].as_str().unwrap_or_default().to_owned())
}

fn what_nobody_writes_comes_back(_: &Turn) -> anyhow::Result<()> {
    const MIB: u64 = 64;
    promotes()?;
    free_sizes()?;
    if Kernel::running()? < Kernel(6, 12) {
        return Err(skip("before 6.12 splitting gives no zero pages back"));
    }
    let (scratch, before) = (Scratch::new()?, Settings::read()?);
    // A program that writes a page of each 64 KiB: a sixteenth of what faults hand out.
    let first = Hold::start("--mib 64")?;
    let manage = Manage::new(&scratch, &format!("--pid {} --for 1h {FAST}", first.pid()));
    let keeper = manage.start()?;
    keeper.wait("faults to hand out 64 KiB", |status| given(status).0 == 64)?;
    let mut sparse = Hold::start("--mib 64 --fill every:16 --advise none")?;
    let filled = sparse.memory()?.anon;
    ensure!(filled > MIB << 10, "faults handed out base pages: {filled} KiB");
    keeper.stop()?.expect(0)?;
    let manage = Manage::new(&scratch, &format!("--pid {} --for 1h {FAST}", sparse.pid()));
    let manager = manage.start()?;
    let written = MIB << 10 >> 4;
    let comes_back = wait_for("what nobody wrote to come back", || {
        Ok(sparse.memory()?.anon + (MIB << 10) < filled + written + written / 30)
    });
    let status = manager.status()?;
    let now = sparse.memory()?.anon;
    comes_back
        .with_context(|| format!("{filled} KiB, {written} of them written: {now}; {status}"))?;
    ensure!(status["promoted"] == 0, "{status}");
    sparse.verify()?;
    manager.stop()?.expect(0)?;
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    let splits = journal(&scratch)?;
    let unwritten = splits.iter().filter(|record| record["motive"] == "unwritten").count();
    ensure!(unwritten > 0, "no split names its motive");
    Ok(())
}

/// A size of the operator's is neither changed nor added to, and status says so.
fn chosen_sizes_stay(_: &Turn) -> anyhow::Result<()> {
    if !init::is_guest() {
        return Err(skip("changes settings: only in a virtual machine"));
    }
    let scratch = Scratch::new()?;
    let hold = Hold::start("--mib 8")?;
    let manage = Manage::new(&scratch, &format!("--pid {} --for 1h {FAST}", hold.pid()));
    if sizes()?.is_empty() {
        let manager = manage.start()?;
        ensure!(given(&manager.status()?) == (4, "no_sizes".to_owned()), "it is not named");
        return manager.stop()?.expect(0).map(drop);
    }
    let file = format!("{THP}/hugepages-32kB/enabled");
    fs::write(&file, "madvise")?;
    let before = sizes()?;
    let manager = manage.start()?;
    let status = manager.status()?;
    ensure!(given(&status) == (4, "operator".to_owned()), "{status}");
    ensure!(sizes()? == before, "a size was changed");
    manager.stop()?.expect(0)?;
    fs::write(&file, "never")?;
    Ok(())
}

fn sizes_come_back_after_a_kill(_: &Turn) -> anyhow::Result<()> {
    free_sizes()?;
    let (scratch, before) = (Scratch::new()?, Settings::read()?);
    let hold = Hold::start("--mib 8")?;
    let manage = Manage::new(&scratch, &format!("--pid {} --for 1h {FAST}", hold.pid()));
    let manager = manage.start()?;
    manager.wait("a size", |status| given(status).0 == 64)?;
    manager.kill()?;
    ensure!(thp("hugepages-64kB/enabled")? == "always", "after SIGKILL");
    // The next one takes the size for nobody's choice.
    let manager = manage.start()?;
    manager.wait("a size", |status| given(status).0 == 64)?;
    manager.stop()?.expect(0)?;
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    Ok(())
}

/// Killed before, between and after its changes: what it wrote goes back, to the byte.
fn killed_at_any_moment(_: &Turn) -> anyhow::Result<()> {
    free_sizes()?;
    let (scratch, before) = (Scratch::new()?, Settings::read()?);
    let hold = Hold::start("--mib 8")?;
    let arguments = format!("--mode auto --pid {} --for 1h {FAST}", hold.pid());
    let mut changed = 0;
    for moment in 0..12 {
        let manager = Manage::new(&scratch, &arguments).spawn()?;
        std::thread::sleep(Duration::from_millis(25 * moment));
        manager.kill()?;
        changed += usize::from(!before.differences().is_empty());
        revert(&scratch)?.expect(0)?;
        let left = before.differences();
        ensure!(left.is_empty(), "killed after {} ms: {left:?}", 25 * moment);
    }
    ensure!(changed > 0, "it was killed before it changed anything, each time");
    Ok(())
}

fn huge_pages_in_mode_auto(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let (scratch, before) = (Scratch::new()?, Settings::read()?);
    let hold = Hold::start("--mib 8")?;
    let arguments = format!("--mode auto --pid {} --for 1h {FAST}", hold.pid());
    let manager = Manage::new(&scratch, &arguments).start()?;
    let status = manager.wait("a choice", |status| status["faults"]["huge"].is_boolean())?;
    let huge = status["faults"]["huge"].as_bool().context("huge")?;
    wait_for("the switch", || Ok(thp("enabled")? == if huge { "always" } else { "madvise" }))?;
    manager.stop()?.expect(0)?;
    let left = before.differences();
    ensure!(left.is_empty(), "not put back: {left:?}");
    Ok(())
}
