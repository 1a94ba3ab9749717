//! Compaction: bounded, ended at once, and worth it where memory is fragmented.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, number, promotes, skip, trial, trial_of_oldest_kernel, wait_for};
use crate::machine::{Turn, geometry, here};
use crate::manager::{Manage, journal};
use crate::promote::FAST;
use anyhow::{Context, ensure};
use hugewise_base::units::Ns;
use hugewise_linux::compact::{Compactor, file_of};
use hugewise_linux::machine;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::root::Root;
use hugewise_manager::compaction::{Compact, CompactAsk, CompactEnd, CompactReport};
use hugewise_manager::reason::SkipReason;
use libtest_mimic::Trial;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;
const X86_64_PAGE: usize = 4096;
/// Regions that become huge although no block was free.
const PROMOTED: u64 = 30;
/// How eagerly the kernel compacts on its own. Only a virtual machine's is changed.
const PROACTIVENESS: &str = "/proc/sys/vm/compaction_proactiveness";
/// Whether khugepaged may reclaim and compact. Only a virtual machine's is changed.
const KHUGEPAGED_DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag";
/// What the kernel takes to end a run, and a busy host to give the CPU back: measured are 15 ms.
const OVERSTAY: Duration = Duration::from_secs(2);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_compaction_run_is_bounded_and_ends_when_told", bounded),
        trial("compaction_makes_blocks_for_waiting_promotions", makes_blocks),
        trial_of_oldest_kernel("blocks_are_made_where_memory_is_available", asks_the_kernel),
        trial("compaction_keeps_a_reserve_of_blocks", keeps_a_reserve),
    ]
}

fn compacts() -> anyhow::Result<()> {
    let file = Root::live().path(file_of(&Root::live(), 0));
    match OpenOptions::new().write(true).open(&file) {
        Ok(_) => Ok(()),
        Err(error) => Err(skip(format!("{}: {error}", file.display()))),
    }
}

/// One run on the real kernel; what is told meanwhile is told at once.
fn run(time: Duration, stop: bool) -> anyhow::Result<(CompactReport, Duration)> {
    let root = Root::live();
    let mut compactor = Compactor::new(&root, machine::geometry(&root));
    let time = Ns(u64::try_from(time.as_nanos())?);
    let ask = CompactAsk { time, blocks: u64::MAX, node: 0, most_unmovable_percent: 100.0 };
    let began = Instant::now();
    compactor.order(&Compact::Start(ask));
    let told = began.elapsed();
    ensure!(told < Duration::from_millis(500), "it waited {told:?} for a run to begin");
    if stop {
        compactor.order(&Compact::Stop(SkipReason::LowMemory));
    }
    let mut report = None;
    wait_for("the report", || {
        report = compactor.report();
        Ok(report.is_some())
    })?;
    Ok((report.context("no report")?, began.elapsed()))
}

/// Where little is to be done a run ends by itself. Nowhere does one take longer than it may.
fn bounded(_: &Turn) -> anyhow::Result<()> {
    compacts()?;
    let time = Duration::from_millis(100);
    let (report, took) = run(time, false)?;
    let ended = matches!(report.end, CompactEnd::Complete | CompactEnd::TimeOver);
    ensure!(ended && report.reason.is_none(), "{report:?}");
    ensure!(report.cpu > Ns(0), "the kernel did nothing: {report:?}");
    ensure!(took < time + OVERSTAY, "{took:?}: {report:?}");
    ensure!(report.cpu <= report.took, "more CPU time than time: {report:?}");
    ensure!(report.free_before.is_some() && report.free_after.is_some(), "{report:?}");
    eprintln!("given 100 ms: {took:?} in all, {report:?}");
    let (report, took) = run(Duration::from_secs(3600), true)?;
    eprintln!("told to stop: {took:?} in all, {report:?}");
    let told = (CompactEnd::Stopped, Some(SkipReason::LowMemory));
    // On an idle machine it may have been through before it was told.
    ensure!(
        (report.end, report.reason) == told || report.end == CompactEnd::Complete,
        "{report:?}"
    );
    ensure!(took < OVERSTAY, "{took:?}: {report:?}");
    cut_off()
}

/// A manager that ends tells of the run that it cuts off, unless that was through already.
fn cut_off() -> anyhow::Result<()> {
    let root = Root::live();
    let mut compactor = Compactor::new(&root, machine::geometry(&root));
    let time = Ns::s(3600);
    let ask = CompactAsk { time, blocks: u64::MAX, node: 0, most_unmovable_percent: 100.0 };
    compactor.order(&Compact::Start(ask));
    let report = compactor.finish().context("nothing is known of the run")?;
    let cut_off = (CompactEnd::Stopped, None);
    ensure!(
        (report.end, report.reason) == cut_off || report.end == CompactEnd::Complete,
        "{report:?}"
    );
    ensure!(compactor.finish().is_none(), "it ended twice");
    Ok(())
}

/// Nearly all memory of a small machine, of which one page of so many is kept: the fewer, the more
/// pages have to be moved for a block. The kernel does not mend that meanwhile: where a first touch
/// is slow it would, and what it made whole would be taken, so that nothing is left to compact.
pub(crate) fn fragment(one_of: usize) -> anyhow::Result<Arena> {
    let page = page();
    fragment_by(|arena, size| {
        // The last piece may be shorter.
        for offset in (0..size).step_by(one_of * page) {
            let end = size.min(offset + one_of * page);
            arena.advise(offset + page..end, LocalAdvice::DontNeed)?;
        }
        Ok(())
    })
}

/// The same, of which `thin` gives back what it likes; it is told the size.
pub(crate) fn fragment_by(
    mut thin: impl FnMut(&mut Arena, usize) -> anyhow::Result<()>,
) -> anyhow::Result<Arena> {
    fs::write(PROACTIVENESS, "0").context("compaction_proactiveness")?;
    let (free, page) = (machine::sample(&Root::live(), geometry()).mem_free, page());
    let free = usize::try_from(free.context("free memory is unknown")?.0)?;
    // What is left the program, its manager and the kernel live on. Watermarks, and what is not
    // used of a page, grow with the page: of 2 GiB, 90 MiB are too little with pages of 16 KiB.
    let left = 90 * MIB * page / X86_64_PAGE;
    let size = free.saturating_sub(left) / MIB * MIB;
    ensure!(size >= 256 * MIB, "only {size} bytes to fragment");
    let mut arena = Arena::new(size, page)?;
    arena.advise(0..size, LocalAdvice::NoHugePage)?;
    for offset in (0..size).step_by(page) {
        arena.set(offset, 1);
    }
    thin(&mut arena, size)?;
    Ok(arena)
}

/// Bytes of a base page of this machine.
fn page() -> usize {
    usize::try_from(here::base()).unwrap_or(X86_64_PAGE)
}

/// Bytes of a huge page of this machine.
fn huge() -> usize {
    usize::try_from(geometry().huge.0).unwrap_or(2 * MIB)
}

/// Memory that asks for huge pages.
fn huge_arena(size: usize) -> anyhow::Result<Arena> {
    let mut arena = Arena::new(size, huge())?;
    arena.advise(0..size, LocalAdvice::HugePage)?;
    Ok(arena)
}

/// Huge pages of somebody else, who takes them while there are any.
pub(crate) fn take_all_blocks() -> anyhow::Result<Arena> {
    let size = (256 * MIB).max(16 * huge());
    let mut arena = huge_arena(size)?;
    for offset in (0..size).step_by(huge()) {
        if machine::free_huge(&Root::live(), geometry()) == Some(0) {
            return Ok(arena);
        }
        arena.set(offset, 1);
    }
    anyhow::bail!("blocks are free after {size} bytes: memory is not fragmented");
}

/// A program in base pages where no block is free, and most memory is.
struct Starved {
    /// One page of 16 of what was nearly all memory.
    kept: Arena,
    hold: Hold,
    _taken: Arena,
}

impl Starved {
    fn start() -> anyhow::Result<Self> {
        if !init::is_guest() {
            return Err(skip("it fragments nearly all memory: only in a virtual machine"));
        }
        let (kept, hold) = (fragment(16)?, Hold::start("--mib 192")?);
        Ok(Self { kept, hold, _taken: take_all_blocks()? })
    }
}

/// Blocks are made as promotions need them: regions become huge though none was free, the journal
/// has each run with its cost, and all data stands.
fn makes_blocks(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    compacts()?;
    let Starved { kept, mut hold, _taken } = Starved::start()?;
    let scratch = Scratch::new()?;
    let pid = hold.pid();
    let on = "--set compact.mode=on --set compact.cpu_percent=50 --set track.by=[] \
              --set promote.make_blocks=never";
    let manager = Manage::new(&scratch, &format!("--pid {pid} --for 1h {FAST} {on}")).start()?;
    let runs = |s: &Value| s["compaction"]["totals"]["runs"].as_u64() >= Some(1);
    manager.wait("a run", runs)?;
    let enough = |s: &Value| s["promoted"].as_u64() >= Some(PROMOTED);
    let status = manager.wait("promotions", enough).with_context(|| runs_of(&scratch))?;
    hold.verify()?;
    ensure!(kept.as_slice().iter().step_by(16 * page()).all(|byte| *byte == 1), "data was lost");
    manager.stop()?.expect(0)?;
    let all = journal(&scratch)?;
    let runs: Vec<_> = all.iter().filter(|record| record["record"] == "compaction").collect();
    ensure!(!runs.is_empty(), "the journal has no run: {status}");
    let mut won = 0;
    for run in &runs {
        ensure!(number(run, "/cpu_ns")? <= number(run, "/took_ns")?, "{run}");
        let after = number(run, "/free_after")? + number(run, "/taken")?;
        won += after.saturating_sub(number(run, "/free_before")?);
    }
    ensure!(won >= PROMOTED, "{won} blocks were made in {} runs", runs.len());
    init::say(&format!("{won} blocks made in {} runs: {}", runs.len(), runs[0]));
    Ok(())
}

/// Free blocks or not, while memory is available the kernel makes those that promotions need,
/// unless it is forbidden to khugepaged as well.
fn asks_the_kernel(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    let Starved { kept, mut hold, _taken } = Starved::start()?;
    let scratch = Scratch::new()?;
    let args = format!("--pid {} --for 1h {FAST} --set track.by=[]", hold.pid());
    let defrag = fs::read_to_string(KHUGEPAGED_DEFRAG).context("khugepaged/defrag")?;
    fs::write(KHUGEPAGED_DEFRAG, "0").context("khugepaged/defrag")?;
    let manager = Manage::new(&scratch, &args).start()?;
    let lacks =
        |s: &Value| s["targets"][0]["skips"]["no_free_huge_page"].as_u64() >= Some(PROMOTED);
    let status = manager.wait("regions without a block", lacks)?;
    let few = status["promoted"].as_u64() < Some(PROMOTED);
    ensure!(few, "it made blocks although khugepaged must not: {status}");
    fs::write(KHUGEPAGED_DEFRAG, defrag.trim()).context("khugepaged/defrag")?;
    let enough = |s: &Value| s["promoted"].as_u64() >= Some(PROMOTED);
    let status = manager.wait("promotions", enough)?;
    ensure!(status["compaction"]["totals"]["runs"] == 0, "memory was compacted: {status}");
    hold.verify()?;
    ensure!(kept.as_slice().iter().step_by(16 * page()).all(|byte| *byte == 1), "data was lost");
    manager.stop()?.expect(0).map(drop)
}

/// What the journal has of the runs, for a reader of a failure.
fn runs_of(scratch: &Scratch) -> String {
    let all = journal(scratch).unwrap_or_default();
    let runs = all.iter().filter(|record| record["record"] == "compaction");
    runs.map(|run| format!("{run}\n")).collect()
}

/// Blocks that a burst of faults took are made again before the next one, though nothing waits to
/// be promoted.
fn keeps_a_reserve(_: &Turn) -> anyhow::Result<()> {
    promotes()?;
    compacts()?;
    if !init::is_guest() {
        return Err(skip("it fragments nearly all memory: only in a virtual machine"));
    }
    let hold = Hold::start("--mib 16")?;
    let scratch = Scratch::new()?;
    let on = "--set compact.mode=on --set compact.cpu_percent=50 --set compact.reserve_percent=20";
    let args = format!("--pid {} --for 1h {on} --set track.by=[]", hold.pid());
    let manager = Manage::new(&scratch, &args).start()?;
    // Else its own regions would wait for blocks later.
    let held = |s: &Value| s["promoted"].as_u64() >= Some(8);
    manager.wait("the program's eight regions", held)?;
    let mut burst = huge_arena(32 * huge())?;
    (0..32 * huge()).step_by(huge()).for_each(|offset| burst.set(offset, 1));
    drop(burst);
    let known = |s: &Value| s["compaction"]["reserve_blocks"].as_u64() >= Some(32);
    manager.wait("what was wanted at once", known)?;
    // Until all are gone it must not make any, which would be taken with the others.
    manager.signal(Signal::STOP)?;
    let kept = fragment(16)?;
    let _taken = take_all_blocks()?;
    manager.signal(Signal::CONT)?;
    let free = || machine::free_huge(&Root::live(), geometry());
    let made = |s: &Value| s["compaction"]["totals"]["won"].as_u64() >= Some(16);
    let status = manager.wait("a reserve", made)?;
    ensure!(status["compaction"]["wanted_blocks"] == 0, "somebody waits: {status}");
    ensure!(free() >= Some(16), "{:?} blocks are free: {status}", free());
    ensure!(kept.as_slice().iter().step_by(16 * page()).all(|byte| *byte == 1), "data was lost");
    manager.stop()?.expect(0).map(drop)
}
