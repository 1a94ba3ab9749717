//! What is promoted, and what is left small and why.

use crate::hold::Hold;
use crate::init;
use crate::kit::{
    Said, Scratch, actions, hugewise, number, promotes, skip, trial, trial_of_any_kernel,
    trial_of_oldest_kernel,
};
use crate::machine::{Settings, Turn, geometry, here, vmstat};
use crate::manager::{Manage, journal};
use anyhow::{Context, ensure};
use hugewise_linux::root::Root;
use hugewise_workloads::protocol::{Event, Request, Span};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;

/// Limits out of the way, for trials that are not about pace.
pub(crate) const FAST: &str = "--set controller.lock_share_percent=100 \
    --set controller.cpu_percent=100 --set quota.bytes_per_s=4294967296 \
    --set scan.cpu_percent=50 --set scan.interval_ms=100 --set scan.list_interval_ms=200";

/// Size of most workloads, MiB as of x86-64: 16 regions, and just enough to be managed without
/// being named.
pub(crate) const MIB: u64 = 32;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("dense_memory_becomes_huge", dense_memory_becomes_huge),
        trial("all_memory_of_a_machine_with_one_zone_becomes_huge", one_zone_becomes_huge),
        trial("sparse_memory_stays_small", sparse_memory_stays_small),
        trial("the_bloat_budget_bounds_growth", the_bloat_budget_bounds_growth),
        trial_of_oldest_kernel(
            "a_program_that_disabled_thp_is_left_alone",
            thp_disabled_by_program,
        ),
        trial_of_oldest_kernel("nohugepage_memory_is_left_alone", nohugepage_memory_is_left_alone),
        trial_of_oldest_kernel(
            "memory_shared_by_fork_is_left_alone",
            memory_shared_by_fork_is_left_alone,
        ),
        trial_of_any_kernel("a_dry_run_changes_nothing", a_dry_run_changes_nothing),
        trial_of_any_kernel("observe_changes_nothing", observe_changes_nothing),
        trial_of_any_kernel("a_recording_replays_exactly", a_recording_replays_exactly),
    ]
}

/// `manage --once` on one process, settings left alone.
pub(crate) fn once(scratch: &Scratch, pid: u32, more: &str) -> anyhow::Result<Said> {
    let args = format!("--pid {pid} --once --keep-settings {FAST} {more}");
    Manage::new(scratch, &args).run()?.expect(0)
}

/// The only target of a status, which is `pid`.
pub(crate) fn target(status: &Value, pid: u32) -> anyhow::Result<&Value> {
    let targets = status["targets"].as_array().context("no targets")?;
    ensure!(targets.len() == 1, "one target expected: {status}");
    ensure!(targets[0]["pid"] == pid, "{pid} expected: {status}");
    Ok(&targets[0])
}

/// The control of a refusal: without it the same memory is promoted by the same command, where the
/// kernel can do that at all. A manager that never acts must not pass.
pub(crate) fn is_promoted_now(hold: &mut Hold) -> anyhow::Result<()> {
    if promotes().is_err() {
        return Ok(());
    }
    let status = once(&Scratch::new()?, hold.pid(), "")?.json()?;
    is_covered(hold, &status).context("without the refusal")
}

/// At least 95 % of what is eligible is huge, by the kernel's own account, and the data stands.
pub(crate) fn is_covered(hold: &mut Hold, status: &Value) -> anyhow::Result<()> {
    let target = target(status, hold.pid())?;
    let eligible = number(target, "/eligible")?;
    ensure!(eligible >= here::mib(MIB) << 20, "everything is eligible: {target}");
    let huge = hold.memory()?.huge << 10;
    ensure!(huge * 100 >= eligible * 95, "{huge} of {eligible} bytes are huge: {status}");
    let pages = hold.verify()?;
    ensure!(pages == MIB / 2 * here::pages(512), "only {pages} pages verified");
    Ok(())
}

fn dense_memory_becomes_huge(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    ensure!(hold.memory()?.huge == 0, "it starts with base pages");
    // Where no manager runs, that is why it stays small, and nothing of the moment.
    let seen = hugewise(["status", "--json", "--pid", &hold.pid().to_string()])?.json()?;
    let unmanaged = number(&seen, "/processes/0/skips/unmanaged")?;
    ensure!(unmanaged == MIB / 2, "{unmanaged} regions wait for a manager: {seen}");
    let faults = vmstat("thp_fault_alloc")?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let faults = vmstat("thp_fault_alloc")? - faults;
    is_covered(&mut hold, &status)?;
    let (promoted, warm_ups) = (number(&status, "/promoted")?, number(&status, "/warm_ups")?);
    ensure!(promoted == hold.memory()?.huge / here::huge_kib(), "{promoted} promoted: {status}");
    ensure!(warm_ups > 0, "no destination was warmed: {status}");
    // One block may be being warmed ahead when the command ends, and is counted by nobody then;
    // that all of them are counted in the end is a trial of `warm`.
    let uncounted = faults.checked_sub(warm_ups);
    let is_one = uncounted.is_some_and(|uncounted| uncounted <= 1);
    // On a host other programs may fault huge pages meanwhile.
    ensure!(is_one || !init::is_guest(), "{faults} faults, {warm_ups} warm-ups");
    let journal = journal(&scratch)?;
    ensure!(actions(&journal, "promoted") == promoted, "the journal tells another story");
    // It was there before the manager, and is watched for a moment first.
    let waited = |r: &&Value| {
        let skips = &r["skips"];
        let count = |reason: &str| skips[reason].as_u64().unwrap_or(0);
        r["record"] == "skips" && count("scheduled") + count("shrinking") > 0
    };
    ensure!(journal.iter().any(|r| waited(&r)), "the journal names no reason: {journal:?}");
    Ok(())
}

/// A program that takes half of a small machine, whose memory lies in one zone, whatever that is
/// called: on arm64 all below 4 GiB is zone DMA. All of it becomes huge, not only nearly all.
fn one_zone_becomes_huge(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    if !init::is_guest() {
        return Err(skip("it takes half of all memory: only in a virtual machine"));
    }
    let buddyinfo = fs::read_to_string("/proc/buddyinfo")?;
    let [zone] = buddyinfo.lines().collect::<Vec<_>>()[..] else {
        return Err(skip("this machine has several zones"));
    };
    let is_dma = zone.split_whitespace().any(|word| word == "DMA");
    ensure!(is_dma || !cfg!(target_arch = "aarch64"), "another zone than expected: {zone}");
    let memory = hugewise_linux::machine::sample(&Root::live(), geometry()).mem_free;
    let half = memory.context("free memory is unknown")?.0 / 2 / geometry().huge.0;
    let scratch = Scratch::new()?;
    // Two MiB of x86-64 are a huge page here.
    let mut hold = Hold::start(&format!("--mib {}", half * 2))?;
    // No tracker: to one all of it is idle, and not worth the time.
    let status = once(&scratch, hold.pid(), "--set track.by=[]")?.json()?;
    let huge = hold.memory()?.huge / here::huge_kib();
    ensure!(half > 8 && huge == half, "{huge} of {half} regions are huge: {status}");
    ensure!(hold.verify()? == half * here::pages(512), "not all was verified");
    init::say(&format!("{huge} regions of {} are huge: {zone}", geometry().huge));
    Ok(())
}

fn sparse_memory_stays_small(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB} --fill sparse:100"))?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let target = target(&status, hold.pid())?;
    ensure!(number(target, "/skips/below_threshold")? == MIB / 2, "{status}");
    ensure!(number(&status, "/promoted")? == 0 && hold.memory()?.huge == 0, "{status}");
    hold.verify()?;
    // Once it is well used, it is promoted.
    let all = Span { offset_mib: 0, len_kib: usize::try_from(MIB << 10)? };
    hold.ask(Request::Touch(all))?;
    is_promoted_now(&mut hold)
}

fn the_bloat_budget_bounds_growth(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    // 80 % full: worth it only while the bloat budget (6 % of the memory) lasts.
    let mut hold = Hold::start("--mib 64 --fill sparse:410")?;
    let before = hold.memory()?;
    // The budget shrinks with fragmentation: a machine may have none left for a reason. And it is
    // not spent on what a tracker shows to be idle, as all of this is.
    let whole = "--set watermark.fmfi_high=1 --set promote.bloat_budget_percent=6 \
                 --set track.by=[]";
    let status = once(&scratch, hold.pid(), whole)?.json()?;
    let after = hold.memory()?;
    ensure!(number(&status, "/promoted")? > 0 && after.huge > 0, "some fit: {status}");
    let target = target(&status, hold.pid())?;
    ensure!(number(target, "/skips/over_bloat_budget")? > 0, "some do not fit: {status}");
    let (was, is) = (before.rss, after.rss);
    ensure!(is * 1000 <= was * 1061, "grew by more than 6 %: {was} -> {is} KiB");
    hold.verify()?;
    Ok(())
}

fn thp_disabled_by_program(_: &Turn) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let hold = Hold::start(&format!("--mib {MIB} --thp-disable"))?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let alone = &status["left_alone"][0];
    ensure!(alone["pid"] == hold.pid(), "{status}");
    ensure!(alone["reason"] == "thp_disabled_by_program", "{status}");
    ensure!(number(&status, "/promoted")? == 0 && hold.memory()?.huge == 0, "{status}");
    is_promoted_now(&mut Hold::start(&format!("--mib {MIB}"))?)
}

/// Regions that are left alone for a reason, with those whose wait for it ended a moment ago and
/// that will be asked again: on a slow machine the first of them do before the last begin.
pub(crate) fn left_alone(target: &Value, reason: &str) -> anyhow::Result<u64> {
    let again = target["skips"]["scheduled"].as_u64().unwrap_or(0);
    Ok(number(target, &format!("/skips/{reason}"))? + again)
}

fn nohugepage_memory_is_left_alone(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB} --advise nohuge"))?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let target = target(&status, hold.pid())?;
    ensure!(number(target, "/skips/advised_against")? == MIB / 2, "{status}");
    ensure!(number(&status, "/promoted")? == 0 && hold.memory()?.huge == 0, "{status}");
    hold.verify()?;
    is_promoted_now(&mut Hold::start(&format!("--mib {MIB}"))?)
}

fn memory_shared_by_fork_is_left_alone(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let child = hold.ask(Request::Fork)?;
    ensure!(matches!(child, Event::Forked { .. }), "{child:?}");
    let before = hold.memory()?;
    ensure!(before.anon - before.pss >= here::mib(MIB) << 9, "not all is shared: {before:?}");
    let status = once(&scratch, hold.pid(), "")?.json()?;
    let after = hold.memory()?;
    let shared = left_alone(target(&status, hold.pid())?, "shared_pages")?;
    ensure!(shared == MIB / 2 && number(&status, "/promoted")? == 0, "{status}");
    let same = |a: u64, b: u64| a.abs_diff(b) <= 256;
    let unchanged = same(before.anon, after.anon) && same(before.pss, after.pss);
    ensure!(unchanged && after.huge == 0, "{before:?} -> {after:?}");
    let ended = hold.ask(Request::EndChild)?;
    ensure!(ended == Event::ChildEnded { existed: true }, "the child was there: {ended:?}");
    // Its pages stay write-protected until they are written, and 6.12 still refuses to collapse a
    // region in which none is writable.
    let all = Span { offset_mib: 0, len_kib: usize::try_from(MIB << 10)? };
    hold.ask(Request::Touch(all))?;
    let status = once(&scratch, hold.pid(), "")?.json()?;
    is_covered(&mut hold, &status)
}

fn a_dry_run_changes_nothing(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    decides_and_does_nothing("--dry-run")
}

fn observe_changes_nothing(_: &Turn) -> anyhow::Result<()> {
    decides_and_does_nothing("--mode observe")
}

fn decides_and_does_nothing(how: &str) -> anyhow::Result<()> {
    let scratch = Scratch::new()?;
    let mut hold = Hold::start(&format!("--mib {MIB}"))?;
    let before = Settings::read()?;
    let faults = vmstat("thp_fault_alloc")?;
    let args = format!("--pid {} --for 1h {FAST} {how}", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    manager.wait("withheld decisions", |s| s["withheld"].as_u64() >= Some(MIB / 2))?;
    ensure!(before.differences().is_empty(), "changed: {:?}", before.differences());
    let status = manager.stop()?.expect(0)?.json()?;
    ensure!(before.differences().is_empty(), "changed: {:?}", before.differences());
    ensure!(number(&status, "/promoted")? == 0 && hold.memory()?.huge == 0, "{status}");
    ensure!(number(&status, "/warm_ups")? == 0, "{status}");
    if init::is_guest() {
        ensure!(vmstat("thp_fault_alloc")? == faults, "huge pages were faulted in");
    }
    ensure!(actions(&journal(&scratch)?, "withheld") >= MIB / 2, "the journal tells another story");
    hold.verify()?;
    is_promoted_now(&mut hold)
}

fn a_recording_replays_exactly(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let scratch = Scratch::new()?;
    let hold = Hold::start(&format!("--mib {MIB}"))?;
    let file = scratch.join("recording");
    let record = format!("--record {}", file.display());
    let status = once(&scratch, hold.pid(), &record)?.json()?;
    let journal = journal(&scratch)?;
    let decisions = journal.iter().filter(|r| r["record"] == "action").count() as u64;
    ensure!(decisions >= MIB / 2, "all regions were decided on: {status}");
    let mut args = vec!["manage", "replay", file.to_str().context("a plain path")?, "--json"];
    args.extend(FAST.split_whitespace());
    let replay = hugewise(args)?.expect(0)?.json()?;
    let same = number(&replay, "/decisions/same")?;
    let (new, missing) =
        (number(&replay, "/decisions/new")?, number(&replay, "/decisions/missing")?);
    ensure!((same, new, missing) == (decisions, 0, 0), "{decisions} recorded: {replay}");
    Ok(())
}
