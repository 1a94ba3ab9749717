//! Waste comes back: partially mapped blocks, huge pages full of zeros, under pressure and above
//! the budget; and what does not come back is said.

use crate::baseline::CALM;
use crate::group::Group;
use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, actions, hugewise, number, promotes, skip, trial, trial_of_any_kernel};
use crate::machine::{Kernel, THP, Turn, here, set_in_guest, thp};
use crate::manager::{Manage, journal};
use crate::promote::{FAST, once, target};
use anyhow::{Context, ensure};
use hugewise_workloads::protocol::{Request, Span};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;
const REGIONS: u64 = 32;
const NO_BUDGET: &str = "--set promote.bloat_budget_percent=0";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("partially_mapped_blocks_come_back", partially_mapped_blocks_come_back),
        trial("they_come_back_without_page_frames", they_come_back_without_page_frames),
        trial("zero_pages_come_back_or_it_is_said", zero_pages_come_back_or_it_is_said),
        trial("unknown_use_is_left_alone", unknown_use_is_left_alone),
        trial("a_full_cgroup_gives_back", a_full_cgroup_gives_back),
        trial("guard_takes_back_what_khugepaged_fills", guard_takes_back_what_khugepaged_fills),
        trial_of_any_kernel("a_dry_run_splits_nothing", a_dry_run_splits_nothing),
        trial_of_any_kernel("the_next_manager_knows_the_waste", the_next_manager_knows_the_waste),
    ]
}

/// Size of the program that is given back, MiB as of x86-64: virtual machines are slow.
fn size() -> u64 {
    if init::is_guest() { 64 } else { 256 }
}

/// Bytes of a program that was started with so many MiB.
fn size_of(mib: u64) -> u64 {
    here::mib(mib) << 20
}

/// The manager has nobody's memory open to read it.
fn no_reader(manager_pid: u32) -> anyhow::Result<()> {
    for entry in fs::read_dir(format!("/proc/{manager_pid}/fd"))? {
        let path = entry?.path();
        let file = fs::read_link(&path).unwrap_or_default();
        let file = file.to_string_lossy();
        ensure!(!file.ends_with("/mem"), "the manager opened {file}");
    }
    Ok(())
}

/// At its default limits: >= 95 % of what is held in vain is free again, by the account of the
/// kernel's cgroup, in the time that the limits allow; nobody looked into the memory.
fn partially_mapped_blocks_come_back(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let (scratch, group, mib) = (Scratch::new()?, Group::new()?, size());
    let args = format!("--kind purge --mib {mib} --advise huge");
    let mut hold = group.inside(|| Hold::start_kind("bloat", &args))?;
    ensure!(hold.memory()?.huge == 0, "all of its huge pages are broken");
    let used = hold.verify()? * here::base();
    let before = group.usage()?;
    let held = size_of(mib).saturating_sub(used);
    ensure!(before > used + held * 9 / 10, "{before} bytes charged, {held} held in vain");
    let began = Instant::now();
    // Without hardware support every call is slow: there the limits would be all that is seen.
    let pace = if init::is_guest() { FAST } else { "" };
    let manager =
        Manage::new(&scratch, &format!("--pid {} --for 1h {pace}", hold.pid())).start()?;
    no_reader(manager.pid())?;
    // Promotions out of the bloat budget may keep 3 % of what is used.
    let left = |usage: u64| usage.saturating_sub(before - held);
    manager.wait("the held memory", |status| {
        let quiet = status["bloat"]["partially_mapped"].as_u64() < Some(held / 50);
        quiet && group.usage().is_ok_and(|usage| left(usage) * 100 <= held * 5)
    })?;
    let took = began.elapsed();
    no_reader(manager.pid())?;
    // Before the manager ends: khugepaged, no longer parked, starts with a scan.
    let after = group.usage()?;
    let status = manager.stop()?.expect(0)?.json()?;
    ensure!(left(after) * 100 <= held * 5, "{after} of {before} bytes, {held} were held");
    let pages = hold.verify()?;
    ensure!(pages * here::base() == used, "{pages} pages verified");
    let freed = number(&status, "/freed")?;
    ensure!(freed * 100 >= held * 90, "{freed} of {held} bytes by its own account");
    if !init::is_guest() {
        within_limits(&scratch, took)?;
    }
    println!("held {} MiB, back in {:.1} s", held / MIB, took.as_secs_f64());
    Ok(())
}

/// The share of time in calls on the target stays within its limit: 1.5 %, a burst of 2.8 ms, and
/// the call that overdrew it. A call that the program slept through counts for an eighth, so all
/// of them stay within eight times as much.
fn within_limits(scratch: &Scratch, took: Duration) -> anyhow::Result<()> {
    let journal = journal(scratch)?;
    let calls = journal.iter().filter(|r| r["record"] == "action");
    let call = |r: &Value| Some((r["call_ns"].as_u64()?, r["asleep"] == true));
    let calls: Vec<_> = calls.filter_map(call).collect();
    let cost = |&(ns, asleep): &(u64, bool)| if asleep { ns / 8 } else { ns };
    let (sum, largest) = (calls.iter().map(cost).sum::<u64>(), calls.iter().map(cost).max());
    let largest = largest.unwrap_or(0);
    let allowed = took.as_nanos() as f64 * 0.015 + 2.8e6 + largest as f64;
    ensure!((sum as f64) <= allowed, "{sum} ns of lock time, {allowed} allowed");
    ensure!(calls.len() >= 10, "only {} calls", calls.len());
    Ok(())
}

/// With the three capabilities that the service has and no more, page frames are hidden: what was
/// huge and misses pages is known all the same, and the split counter tells what came of it.
fn they_come_back_without_page_frames(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let (scratch, group) = (Scratch::new()?, Group::new()?);
    let drop_caps = "--bounding-set=-all,+sys_nice,+sys_ptrace,+dac_read_search";
    if !Command::new("setpriv").arg(drop_caps).arg("true").status().is_ok_and(|s| s.success()) {
        return Err(skip("needs setpriv of Debian's package util-linux"));
    }
    let mut hold = group.inside(|| Hold::start("--mib 64 --advise huge"))?;
    let manage = format!("--pid {} --for 1h {FAST}", hold.pid());
    let manager = Manage::new(&scratch, &manage).through(&["setpriv", drop_caps]).start()?;
    manager.wait("its huge pages", |s| s["targets"][0]["huge"].as_u64() == Some(size_of(64)))?;
    let before = group.usage()?;
    for offset_mib in (0..64).step_by(2) {
        hold.ask(Request::Drop(Span { offset_mib, len_kib: 1024 }))?;
    }
    let status = manager.wait("the other halves", |s| s["demoted"].as_u64() >= Some(REGIONS))?;
    ensure!(status["frames_hidden"] == true, "page frames are seen: {status}");
    let freed = before.saturating_sub(group.usage()?);
    ensure!(freed * 100 >= size_of(32) * 95, "{freed} bytes came back");
    ensure!(number(&status, "/freed")? == size_of(32), "{status}");
    hold.verify()?;
    manager.stop()?.expect(0)?;
    Ok(())
}

/// 200 of 512 pages are used in each huge page, as a sample shows. From 6.12 on the rest comes
/// back; before, nothing is split for nothing, and `status` and `doctor` say why.
fn zero_pages_come_back_or_it_is_said(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start("--mib 64 --fill sparse:200 --advise huge")?;
    let before = hold.memory()?;
    ensure!(before.huge == size_of(64) >> 10, "{before:?}");
    // It owns its settings: khugepaged, which might fill what is given back, is parked meanwhile.
    let args = format!("--pid {} --for 1h {FAST} --set demote.sample=true {NO_BUDGET}", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let frees = Kernel::running()? >= Kernel(6, 12);
    let status = manager.wait("what becomes of it", |s| match frees {
        true => s["demoted"].as_u64() >= Some(REGIONS),
        false => s["targets"][0]["kept"]["keeps_zero_pages"].as_u64() >= Some(REGIONS),
    })?;
    let after = hold.memory()?;
    manager.stop()?.expect(0)?;
    ensure!(hold.verify()? == REGIONS * here::pages(200), "verified");
    let doctor = hugewise(["doctor", "--json"])?.json()?;
    let proven = doctor["mechanisms"]
        .as_array()
        .context("mechanisms")?
        .iter()
        .find(|m| m["key"] == "split_frees_zero_pages");
    let proven = proven.context("doctor says nothing of it")?["state"].clone();
    if frees {
        // Of 64 MiB 39 are zeros.
        let back = before.anon - after.anon;
        ensure!(back >= size_of(38) >> 10, "{back} KiB came back: {status}");
        ensure!(number(&status, "/freed")? >= size_of(39), "{status}");
        ensure!(status["frees_zeros"] == true && proven.to_string().contains("present"));
        return Ok(());
    }
    ensure!(after.anon + 512 >= before.anon && after.huge == before.huge, "{after:?}");
    ensure!(status["frees_zeros"] == false && proven.to_string().contains("absent"), "{proven}");
    Ok(())
}

/// Without leave to read, nobody knows what is used of a huge page that its program made.
fn unknown_use_is_left_alone(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start("--mib 64 --fill sparse:200 --advise huge")?;
    let before = hold.memory()?;
    let blind = format!("{NO_BUDGET} --set demote.sample=false");
    let status = once(&scratch, hold.pid(), &blind)?.json()?;
    let process = target(&status, hold.pid())?;
    ensure!(number(process, "/kept/unknown_use")? == REGIONS, "{status}");
    ensure!(number(process, "/bloat/unknown")? == size_of(64), "{status}");
    ensure!(process["known_bloat"].is_null(), "unknown is not 0: {status}");
    ensure!(hold.memory()?.huge == before.huge, "something was split: {status}");
    hold.verify()?;
    if Kernel::running()? < Kernel(6, 12) {
        return Ok(());
    }
    // With leave to read, the same memory comes back.
    let status = once(&scratch, hold.pid(), NO_BUDGET)?.json()?;
    ensure!(number(&status, "/demoted")? >= REGIONS, "{status}");
    hold.verify()?;
    Ok(())
}

/// Waste within the budget stays, until the cgroup comes near its limit.
fn a_full_cgroup_gives_back(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if Kernel::running()? < Kernel(6, 12) {
        return Err(skip("before 6.12 splitting gives no zero pages back"));
    }
    let (scratch, group) = (Scratch::new()?, Group::new()?);
    let mut hold = group.inside(|| Hold::start("--mib 64 --fill sparse:200 --advise huge"))?;
    let more = "--set demote.sample=true --set promote.bloat_budget_percent=100";
    let args = format!("--pid {} --for 1h {FAST} {more}", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    let within = |s: &Value| s["targets"][0]["kept"]["within_bloat_budget"].as_u64();
    manager.wait("all samples", |s| within(s) == Some(REGIONS))?;
    ensure!(hold.memory()?.huge == size_of(64) >> 10, "it was within the budget");
    let usage = group.usage()?;
    group.limit(usage + usage / 50)?;
    let status = manager.wait("the splits", |s| s["demoted"].as_u64() == Some(REGIONS))?;
    ensure!(group.usage()? + size_of(38) <= usage, "{} of {usage}", group.usage()?);
    ensure!(status["cgroups"][0]["memory"]["limit"].is_u64(), "{status}");
    hold.verify()?;
    manager.stop()?.expect(0)?;
    let journal = journal(&scratch)?;
    let pressed = journal.iter().filter(|r| r["motive"] == "pressure").count() as u64;
    ensure!(pressed >= REGIONS, "{pressed} splits under pressure");
    Ok(())
}

/// THP `always` and a quick khugepaged: `guard` lets it fill nothing that is 30 % used, and what it
/// filled before comes back, for it was seen while it was small.
fn guard_takes_back_what_khugepaged_fills(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if !init::is_guest() {
        return Err(skip("THP is switched to 'always' in virtual machines only"));
    }
    let khugepaged =
        |file: &str, value: &str| set_in_guest(&format!("{THP}/khugepaged/{file}"), value);
    // When it meets new memory it looks at once: then it must not like what it sees.
    khugepaged("max_ptes_none", "0")?;
    set_in_guest(&format!("{THP}/enabled"), "always")?;
    let story = khugepaged_fills(&khugepaged);
    khugepaged("max_ptes_none", &here::none(511))?;
    for (file, value) in CALM {
        set_in_guest(&format!("{THP}/{file}"), value)?;
    }
    set_in_guest(&format!("{THP}/enabled"), "madvise")?;
    story
}

fn khugepaged_fills(khugepaged: &dyn Fn(&str, &str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let mut hold = Hold::start("--mib 64 --fill sparse:154 --advise later")?;
    std::thread::sleep(Duration::from_secs(2));
    let begin = hold.memory()?;
    ensure!(begin.huge == 0, "it starts with base pages");
    khugepaged("max_ptes_none", &here::none(511))?;
    // Untracked: khugepaged leaves memory alone whose accessed bits a tracker cleared.
    let args =
        format!("--mode guard --pid {} --for 1h {FAST} {NO_BUDGET} --set track.by=[]", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    manager.wait("its first look", |s| s["targets"][0]["regions"].as_u64() >= Some(REGIONS))?;
    ensure!(
        thp("khugepaged/max_ptes_none")? == here::none(51) && thp("enabled")? == "always",
        "settings"
    );
    khugepaged("pages_to_scan", "100000")?;
    khugepaged("scan_sleep_millisecs", "100")?;
    std::thread::sleep(Duration::from_secs(2));
    ensure!(hold.memory()?.huge == 0, "khugepaged filled what guard guards");
    // Somebody lifts the bound for a moment.
    khugepaged("max_ptes_none", &here::none(511))?;
    let filled = manager.wait("khugepaged", |s| s["filled"].as_u64() >= Some(8));
    khugepaged("max_ptes_none", &here::none(51))?;
    filled?;
    // What it had, 3 % of its data, and what it has touched since.
    let most = begin.anon + here::mib(64) * 1024 * 154 / 512 * 3 / 100 + 1024;
    let frees = Kernel::running()? >= Kernel(6, 12);
    let status = manager.wait("the end of it", |s| match frees {
        true => hold.memory().is_ok_and(|memory| memory.anon <= most),
        false => s["targets"][0]["kept"]["keeps_zero_pages"].as_u64() >= Some(8),
    })?;
    ensure!(number(&status, "/demoted")? >= 8 || !frees, "{status}");
    // ... and it stays: khugepaged goes on looking all the time.
    std::thread::sleep(Duration::from_secs(3));
    let anon = hold.memory()?.anon;
    ensure!(anon <= most || !frees, "{anon} KiB resident, {most} allowed: {status}");
    ensure!(hold.verify()? == REGIONS * here::pages(154), "verified");
    manager.stop()?.expect(0)?;
    ensure!(thp("khugepaged/max_ptes_none")? == here::none(511), "max_ptes_none is not put back");
    Ok(())
}

fn a_dry_run_splits_nothing(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let hold = Hold::start_kind("bloat", "--kind purge --mib 64 --advise huge")?;
    let status = once(&scratch, hold.pid(), "--dry-run")?.json()?;
    // khugepaged, which a dry run does not park, may have filled some: that is known as well.
    let held = number(&status, "/known_bloat")?;
    ensure!(held > size_of(30), "{held} bytes are held still: {status}");
    let withheld = actions(&journal(&scratch)?, "withheld");
    ensure!(withheld >= REGIONS / 2, "{withheld} decisions were withheld");
    ensure!(number(&status, "/demoted")? == 0, "{status}");
    // What a dry run withholds is done without it.
    let status = once(&scratch, hold.pid(), "")?.json()?;
    ensure!(number(&status, "/demoted")? >= REGIONS / 2, "{status}");
    Ok(())
}

/// What the first manager promoted although it was not full is known waste for the second, which
/// gives it back as soon as its budget asks for that.
fn the_next_manager_knows_the_waste(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    // 60 % full. What may be wasted shrinks with the fragmentation of the machine's memory, which
    // is as the trials before this one left it.
    let _ = fs::write("/proc/sys/vm/compact_memory", "1");
    let mut hold = Hold::start("--mib 64 --fill sparse:307")?;
    // No tracker: to one all of it is idle, and not worth the waste.
    let generous = "--set promote.bloat_budget_percent=100 --set watermark.fmfi_high=1 \
                    --set track.by=[]";
    let first = once(&scratch, hold.pid(), generous)?.json()?;
    let (promoted, waste) = (number(&first, "/promoted")?, number(&first, "/known_bloat")?);
    ensure!(promoted >= 8 && waste > size_of(6), "too little is wasted: {first}");
    let second = once(&scratch, hold.pid(), "--set demote.enabled=false")?.json()?;
    ensure!(number(&second, "/known_bloat")? == waste, "it was {waste}: {second}");
    let third = once(&scratch, hold.pid(), "--set promote.bloat_budget_percent=1")?.json()?;
    if Kernel::running()? >= Kernel(6, 12) {
        ensure!(number(&third, "/demoted")? > 0, "nothing is given back: {third}");
    }
    hold.verify().map(drop)
}
