//! Memory becomes short while the manager works.

use crate::group::Group;
use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, number, promotes, skip, trial, wait_for};
use crate::machine::{Kernel, Turn, here, thp};
use crate::manager::{Manage, journal};
use anyhow::{Context, ensure};
use hugewise_base::parse::meminfo;
use libtest_mimic::Trial;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, copy, sink};

const MIB: u64 = 1 << 20;
/// Two promotions a second, so that some are left when memory becomes short.
const SLOWLY: &str = "--set quota.bytes_per_s=4194304 --set demote.sample=true \
    --set promote.bloat_budget_percent=100 --set scan.interval_ms=100 --set scan.cpu_percent=50";

/// So many splits bring usage below the mark for a cgroup whose programs wait: 82 % of the limit is
/// in use, and a split gives 1.2 MiB of 270 back.
const SPLITS: u64 = 16;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("who_waits_for_memory_gives_back", who_waits_for_memory_gives_back),
        trial("guard_parks_khugepaged_while_memory_is_short", guard_parks_khugepaged),
        trial("a_kernel_that_cannot_promote_keeps_its_khugepaged", keeps_its_khugepaged),
    ]
}

/// A cgroup has a fifth of its memory left, and that is full of a file that is read once: each page
/// has to wait for the one before it to go. While the journal says so nothing is promoted there,
/// and waste comes back, though usage stays below its watermark.
fn who_waits_for_memory_gives_back(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if init::is_guest() {
        return Err(skip("a virtual machine here has no disk, so no file to read from it"));
    }
    if Kernel::running()? < Kernel(6, 12) {
        return Err(skip("before 6.12 splitting gives no zero pages back"));
    }
    let (scratch, group) = (Scratch::new()?, Group::new()?);
    let mut wasteful = group.inside(|| Hold::start("--mib 64 --fill sparse:200 --advise huge"))?;
    let mut dense = group.inside(|| Hold::start("--mib 160"))?;
    group.limit(group.usage()? * 100 / 82)?;
    let (one, other) = (wasteful.pid(), dense.pid());
    let args = format!("--pid {one} --pid {other} --for 1h {SLOWLY}");
    let manager = Manage::new(&scratch, &args).start()?;
    manager.wait("some promotions", |s| s["promoted"].as_u64() >= Some(4))?;
    ensure!(wasteful.memory()?.huge == 64 << 10, "its waste is within the budget");
    // Holes take no disk, and pages of them are charged to whoever reads them.
    let (path, size) = (scratch.join("holes"), 4096 * MIB);
    File::create(&path)?.set_len(size)?;
    let read = group.inside(|| {
        copy(&mut File::open(&path)?.take(size), &mut sink()).context("cannot read the file")
    })?;
    ensure!(read == size, "{read} bytes read");
    let status = manager.wait("the splits", |s| s["demoted"].as_u64() >= Some(SPLITS))?;
    let promoted = number(&status, "/promoted")?;
    ensure!(promoted < 80, "nothing was left to promote: {status}");
    wasteful.verify()?;
    dense.verify()?;
    manager.stop()?.expect(0)?;
    stops_and_gives_back(&journal(&scratch)?)
}

/// From the moment at which the journal says that memory is short for the cgroup nothing is
/// promoted, and there are splits, until it says that memory suffices.
fn stops_and_gives_back(journal: &[Value]) -> anyhow::Result<()> {
    let is = |record: &Value, source: &str| {
        record["record"] == "pressure" && record["cgroup"].is_string() && record["source"] == source
    };
    let short = journal.iter().position(|record| is(record, "cgroup_stalls"));
    let after = &journal[short.context("the journal does not say that memory is short")?..];
    let end = after.iter().position(|r| r["record"] == "pressure" && r["source"].is_null());
    let meanwhile = &after[..end.unwrap_or(after.len())];
    let promoted = meanwhile.iter().filter(|r| r["action"] == "promote").count();
    ensure!(promoted == 0, "{promoted} promotions while memory is short");
    let pressed = meanwhile.iter().filter(|r| r["motive"] == "pressure").count();
    ensure!(pressed as u64 >= SPLITS, "{pressed} splits while memory is short");
    Ok(())
}

/// khugepaged's pause between two scans.
const SLEEP: &str = "khugepaged/scan_sleep_millisecs";
const PARKED: &str = "4294967295";

/// The marks are moved to where this machine is short of memory, and back.
fn guard_parks_khugepaged(_: &Turn) -> anyhow::Result<()> {
    let memory = meminfo::parse(&fs::read_to_string("/proc/meminfo")?).value;
    let (total, available) = (memory.mem_total_bytes, memory.mem_available_bytes);
    let free = available.context("no MemAvailable")? * 100 / total.context("no MemTotal")?;
    if free >= 88 {
        return Err(skip(format!("{free} % of the memory is available: no mark lies above that")));
    }
    let (scratch, mut hold, before) = (Scratch::new()?, Hold::start("--mib 32")?, thp(SLEEP)?);
    let config = scratch.join("hugewise.toml");
    let high = "mem_available_low_percent = 90\nmem_available_high_percent = 95\n";
    fs::write(&config, format!("[watermark]\n{high}"))?;
    let args = format!("--pid {} --for 1h --mode guard --config {}", hold.pid(), config.display());
    let manager = Manage::new(&scratch, &args).start()?;
    wait_for("khugepaged to be parked", || Ok(thp(SLEEP)? == PARKED))?;
    ensure!(thp("khugepaged/max_ptes_none")? == here::none(51), "max_ptes_none");
    fs::write(&config, "")?;
    manager.signal(Signal::HUP)?;
    wait_for("its pace to come back", || Ok(thp(SLEEP)? == before))?;
    ensure!(thp("khugepaged/max_ptes_none")? == here::none(51), "only the pace came back");
    manager.stop()?.expect(0)?;
    hold.verify()?;
    let records = journal(&scratch)?;
    let of = |record: &&Value| record["file"].as_str().is_some_and(|file| file.ends_with(SLEEP));
    let to: Vec<_> = records.iter().filter(of).filter_map(|record| record["to"].as_str()).collect();
    ensure!(to == [PARKED, before.as_str()], "once parked and once put back: {to:?}");
    Ok(())
}

/// Where hugewise cannot promote, it must not keep khugepaged from it.
fn keeps_its_khugepaged(_: &Turn) -> anyhow::Result<()> {
    if promotes().is_ok() {
        return Err(skip("needs a kernel before 6.1: 'make soak' boots one"));
    }
    let (scratch, hold, before) = (Scratch::new()?, Hold::start("--mib 32")?, thp(SLEEP)?);
    let args = format!("--pid {} --once", hold.pid());
    let said = Manage::new(&scratch, &args).run()?.expect(6)?;
    ensure!(said.err.contains("'--mode guard' leaves that to khugepaged"), "{}", said.err);
    ensure!(thp(SLEEP)? == before, "a setting was changed");
    Manage::new(&scratch, &format!("{args} --mode guard")).run()?.expect(0)?;
    Ok(())
}
