//! Trackers on a real kernel: hot memory is told from cold, and what is refused leaves no trace.

use crate::hold::Hold;
use crate::init;
use crate::kit::{Scratch, hugewise, skip, trial, wait_for};
use crate::machine::Turn;
use crate::manager::Manage;
use crate::promote::FAST;
use anyhow::{Context, ensure};
use hugewise_base::units::{Addr, Ns, ProcId};
use hugewise_linux::actuator::{ActuatorConfig, Reach};
use hugewise_linux::process;
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use hugewise_manager::access::{Access, AccessAsk, AccessReport, Step, Tracker};
use hugewise_manager::engine::World;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::Ask;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

/// Size of each of a program's two mappings, MiB.
const MIB: u64 = 64;
/// Time between the two halves of a look.
const WINDOW: Duration = Duration::from_secs(1);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("tracking_referenced_tells_a_hot_mapping_from_a_cold_one", referenced_base_pages),
        trial("tracking_referenced_tells_hot_huge_pages_from_cold_ones", referenced_huge_pages),
        trial("tracking_a_look_that_is_too_dear_is_refused", too_dear),
        trial("tracking_damon_of_others_is_not_touched", damon_of_others),
        trial("tracking_damon_finds_the_hot_half", damon_finds),
        trial("tracking_damon_frames_finds_hot_huge_pages", damon_frames_finds),
        trial("tracking_cold_delta_finds_hot_huge_pages", cold_delta_finds),
        trial("tracking_damon_is_given_back_after_a_crash", damon_after_a_crash),
        trial("tracking_who_does_not_act_does_not_track", withheld),
    ]
}

/// A world that acts and tracks, and the program that it looks at.
struct Looking {
    world: Live,
    target: ProcId,
    _state: Scratch,
}

impl Looking {
    fn at(pid: u32) -> anyhow::Result<Self> {
        Self::with(pid, Some(Reach::Act))
    }

    fn with(pid: u32, reach: Option<Reach>) -> anyhow::Result<Self> {
        let (root, state) = (Root::live(), Scratch::new()?);
        let config = ActuatorConfig::default();
        let actuator = reach.map(|reach| (reach, config));
        let start_ticks = process::stat(&root, pid).context("it runs")?.starttime;
        let world = Live::new(root, actuator, mpsc::channel().1).tracking(state.path());
        Ok(Self { world, target: ProcId { pid, start_ticks }, _state: state })
    }

    /// One half, with these bounds.
    fn half(&mut self, ask: AccessAsk) -> anyhow::Result<AccessReport> {
        let ask = Ask { targets: vec![self.target], accesses: vec![ask], ..Ask::default() };
        let mut reports = self.world.observe(&ask).accesses;
        reports.pop().context("no report")
    }

    fn ask(&self, by: Tracker, step: Step) -> AccessAsk {
        AccessAsk { target: self.target, by, step, budget: Ns::s(5), lock: Ns::s(1) }
    }

    /// A whole look.
    fn look(&mut self, by: Tracker) -> anyhow::Result<AccessReport> {
        let begun = self.half(self.ask(by, Step::Begin))?;
        ensure!(begun.refused.is_none(), "{begun:?}");
        // An emulated processor takes its time to go over the hot part once.
        std::thread::sleep(if init::is_guest() { 5 * WINDOW } else { WINDOW });
        let ended = self.half(self.ask(by, Step::End))?;
        ensure!(ended.refused.is_none(), "{ended:?}");
        eprintln!(
            "{by}: begin {:.2} ms of CPU, lock {:.2} ms, end {:.2} ms of CPU, {} ranges",
            begun.cost.as_ms(),
            begun.lock.as_ms(),
            ended.cost.as_ms(),
            ended.seen.len()
        );
        Ok(ended)
    }
}

fn part(hold: &Hold, name: &str) -> anyhow::Result<Range<u64>> {
    hold.filled.parts.get(name).cloned().with_context(|| format!("it has no part '{name}'"))
}

/// Accessed base pages of a part: at least, at most, and how many were looked at.
fn accessed(report: &AccessReport, part: &Range<u64>) -> (u64, u64, u64) {
    let inside = |access: &&Access| access.from.0 >= part.start && access.to.0 <= part.end;
    report.seen.iter().filter(inside).fold((0, 0, 0), |(least, most, all), access| {
        let pages = (access.to.0 - access.from.0) / 4096;
        (least + access.least_pages, most + access.most_pages, all + pages)
    })
}

fn is_ascending(report: &AccessReport) -> bool {
    let mut end = Addr(0);
    report.seen.iter().all(|access| {
        let follows = access.from >= end && access.to > access.from;
        end = access.to;
        follows && access.least_pages <= access.most_pages
    })
}

fn referenced_base_pages(_: &Turn) -> anyhow::Result<()> {
    let mut hold = Hold::start(&format!("--mib {MIB} --hot {MIB}"))?;
    let (cold, hot) = (part(&hold, "cold")?, part(&hold, "hot")?);
    ensure!(cold.end != hot.start && hot.end != cold.start, "one mapping: {cold:?} {hot:?}");
    let mut looking = Looking::at(hold.pid())?;
    let report = looking.look(Tracker::Referenced)?;
    ensure!(is_ascending(&report), "{report:?}");
    let pages = MIB * 256;
    let (least, _, all) = accessed(&report, &hot);
    ensure!(all == pages && least * 10 >= pages * 9, "hot: {least} of {all}");
    let (_, most, all) = accessed(&report, &cold);
    ensure!(all == pages && most * 10 <= pages, "cold: {most} of {all}");
    hold.verify()?;
    // Now the cold part was read as well.
    let again = looking.look(Tracker::Referenced)?;
    let (_, most, _) = accessed(&again, &cold);
    ensure!(most * 10 <= pages, "forgotten at the begin of each look: {most}");
    Ok(())
}

fn referenced_huge_pages(_: &Turn) -> anyhow::Result<()> {
    let hold = Hold::start(&format!("--mib {MIB} --hot {MIB} --advise huge"))?;
    if hold.memory()?.huge < (MIB << 10) * 19 / 10 {
        return Err(skip("the machine gave too few huge pages"));
    }
    let (cold, hot) = (part(&hold, "cold")?, part(&hold, "hot")?);
    ensure!(cold.end != hot.start && hot.end != cold.start, "one mapping: {cold:?} {hot:?}");
    let report = Looking::at(hold.pid())?.look(Tracker::Referenced)?;
    let (least, most, all) = accessed(&report, &hot);
    // One bit each: at least one base page of every huge page, and maybe all.
    ensure!((least, most, all) == (MIB / 2, MIB * 256, MIB * 256), "hot: {least} {most} {all}");
    let (_, most, _) = accessed(&report, &cold);
    ensure!(most == 0, "cold: {most}");
    Ok(())
}

/// Accessed bits of all memory, KiB.
fn referenced(pid: u32) -> anyhow::Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Referenced:"));
    Ok(line.context("no Referenced")?.trim().trim_end_matches(" kB").parse()?)
}

fn too_dear(_: &Turn) -> anyhow::Result<()> {
    let hold = Hold::start(&format!("--mib {MIB}"))?;
    let mut looking = Looking::at(hold.pid())?;
    let before = referenced(hold.pid())?;
    ensure!(before >= MIB << 10, "all was written: {before}");
    let ask = looking.ask(Tracker::Referenced, Step::Begin);
    for bounds in [(Ns::s(5), Ns::us(200)), (Ns::us(300), Ns::s(1)), (Ns(0), Ns(0))] {
        let report = looking.half(AccessAsk { budget: bounds.0, lock: bounds.1, ..ask })?;
        let refused = report.refused == Some(SkipReason::TrackingTooExpensive);
        ensure!(refused && report.lock == Ns(0), "{bounds:?}: {report:?}");
        let most = if init::is_guest() { Ns::s(1) } else { Ns::ms(20) };
        ensure!(report.cost < most, "to find that out was dear: {report:?}");
    }
    let after = referenced(hold.pid())?;
    ensure!(after >= before, "bits were cleared: {before} -> {after}");
    Ok(())
}

pub(crate) const KDAMONDS: &str = "/sys/kernel/mm/damon/admin/kdamonds";

/// What stands in DAMON's files; empty where there is none.
fn damon() -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![PathBuf::from(KDAMONDS)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                // What it counts goes on.
                Ok(_)
                    if ["/stats/", "effective_bytes"]
                        .iter()
                        .any(|counts| path.to_string_lossy().contains(counts)) => {}
                _ => {
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    all.insert(path, text);
                }
            }
        }
    }
    all
}

/// How many threads DAMON has, where it has such files.
fn kdamonds() -> anyhow::Result<u64> {
    match std::fs::read_to_string(format!("{KDAMONDS}/nr_kdamonds")) {
        Ok(text) => Ok(text.trim().parse()?),
        Err(_) => Err(skip("this kernel has no DAMON with files in /sys")),
    }
}

fn damon_of_others(_: &Turn) -> anyhow::Result<()> {
    let mine = kdamonds()? == 0;
    if mine && !init::is_guest() {
        return Err(skip("DAMON is free, and is set up for tests in virtual machines only"));
    }
    let count = format!("{KDAMONDS}/nr_kdamonds");
    if mine {
        // Somebody else's: not running, and yet somebody's.
        std::fs::write(&count, "1")?;
        std::fs::write(format!("{KDAMONDS}/0/contexts/nr_contexts"), "1")?;
    }
    let outcome = is_not_touched();
    if mine {
        std::fs::write(&count, "0")?;
    }
    outcome
}

fn is_not_touched() -> anyhow::Result<()> {
    let hold = Hold::start(&format!("--mib {MIB}"))?;
    let mut looking = Looking::at(hold.pid())?;
    let before = damon();
    for by in [Tracker::Damon, Tracker::DamonFrames] {
        let report = looking.half(looking.ask(by, Step::Begin))?;
        ensure!(report.refused == Some(SkipReason::TrackerBusy), "{report:?}");
    }
    drop(looking);
    ensure!(damon() == before, "changed: {before:?} -> {:?}", damon());
    Ok(())
}

fn damon_is_free() -> anyhow::Result<()> {
    if kdamonds()? != 0 {
        return Err(skip("somebody uses DAMON on this machine"));
    }
    match std::fs::read_to_string("/sys/module/damon_stat/parameters/enabled") {
        Ok(text) if text.trim() == "Y" => Err(skip("the kernel's damon_stat has DAMON")),
        _ => Ok(()),
    }
}

/// DAMON is free, and this kernel's watches addresses of a process: it can be built to watch page
/// frames alone.
pub(crate) fn damon_watches_addresses() -> anyhow::Result<()> {
    damon_is_free()?;
    let file = |name: &str| format!("{KDAMONDS}/{name}");
    std::fs::write(file("nr_kdamonds"), "1")?;
    let known = std::fs::write(file("0/contexts/nr_contexts"), "1")
        .and_then(|()| std::fs::read_to_string(file("0/contexts/0/avail_operations")));
    std::fs::write(file("nr_kdamonds"), "0")?;
    // Before Linux 5.19 it did not say.
    match known {
        Ok(known) if !known.lines().any(|line| line == "vaddr") => {
            Err(skip("this kernel's DAMON watches no addresses (CONFIG_DAMON_VADDR)"))
        }
        _ => Ok(()),
    }
}

/// A look of DAMON counts the last 100 ms: in those of one the CPU may have been somebody else's,
/// as an emulated one often is.
const LOOKS: u32 = 6;

fn damon_finds(_: &Turn) -> anyhow::Result<()> {
    damon_watches_addresses()?;
    for advice in ["", "--advise huge"] {
        let hold = Hold::start(&format!("--mib {MIB} --hot {MIB} {advice}"))?;
        let (cold, hot) = (part(&hold, "cold")?, part(&hold, "hot")?);
        let mut looking = Looking::at(hold.pid())?;
        let mut told = false;
        for _ in 0..LOOKS {
            told = told || tells_hot_from_cold(&mut looking, (&hot, &cold), advice)?;
        }
        ensure!(told, "{advice}: {LOOKS} looks told nothing");
        ensure!(kdamonds()? == 0, "it was not given back");
    }
    Ok(())
}

/// Whether a look of DAMON tells the hot part from the cold one. The wrong way round is an error.
fn tells_hot_from_cold(
    looking: &mut Looking,
    (hot, cold): (&Range<u64>, &Range<u64>),
    advice: &str,
) -> anyhow::Result<bool> {
    let report = looking.look(Tracker::Damon)?;
    ensure!(is_ascending(&report), "{report:?}");
    let (least_hot, most_hot, _) = accessed_in(&report, hot);
    let (least_cold, most_cold, _) = accessed_in(&report, cold);
    let text =
        format!("{advice}: hot {least_hot} to {most_hot}, cold {least_cold} to {most_cold} pages");
    init::say(&text);
    eprintln!("{text}");
    ensure!(least_cold <= most_hot, "the wrong way round: {text}: {report:?}");
    Ok(most_hot > 2 * most_cold && least_hot > 2 * least_cold)
}

/// Huge pages of a part that were accessed, and how many were looked at.
fn huge_pages(report: &AccessReport, part: &Range<u64>) -> (usize, usize) {
    let inside = |access: &&Access| access.from.0 >= part.start && access.to.0 <= part.end;
    let all: Vec<_> = report.seen.iter().filter(inside).collect();
    (all.iter().filter(|access| access.least_pages > 0).count(), all.len())
}

/// A program with huge pages, of which a half is hot.
fn huge_hold(mib: u64) -> anyhow::Result<Hold> {
    let hold = Hold::start(&format!("--mib {mib} --hot {mib} --advise huge"))?;
    match hold.memory()?.huge >= (mib << 10) * 19 / 10 {
        true => Ok(hold),
        false => Err(skip("the machine gave too few huge pages")),
    }
}

fn damon_frames_finds(_: &Turn) -> anyhow::Result<()> {
    damon_is_free()?;
    let hold = huge_hold(MIB)?;
    let mut looking = Looking::at(hold.pid())?;
    let mut found = false;
    for _ in 0..LOOKS {
        if found {
            break;
        }
        let report = looking.look(Tracker::DamonFrames)?;
        let (hot, all_hot) = huge_pages(&report, &part(&hold, "hot")?);
        let (cold, all_cold) = huge_pages(&report, &part(&hold, "cold")?);
        let text = format!("{hot} of {all_hot} hot and {cold} of {all_cold} cold huge pages");
        init::say(&text);
        ensure!(all_hot > 0 && all_cold > 0 && cold * 10 <= all_cold, "{text}");
        found = hot * 10 >= all_hot * 9;
    }
    ensure!(found, "{LOOKS} looks did not find the hot ones");
    ensure!(kdamonds()? == 0, "it was not given back");
    Ok(())
}

fn cold_delta_finds(_: &Turn) -> anyhow::Result<()> {
    const SMALL: u64 = 16;
    let mut hold = huge_hold(SMALL)?;
    let (cold, hot) = (part(&hold, "cold")?, part(&hold, "hot")?);
    let mut looking = Looking::at(hold.pid())?;
    let (mut seen_hot, mut seen_cold) = ((0, 0), (0, 0));
    // Eight huge pages each time: all are looked at twice.
    for _ in 0..4 {
        let report = looking.look(Tracker::ColdDelta)?;
        ensure!(is_ascending(&report), "{report:?}");
        for (sum, part) in [(&mut seen_hot, &hot), (&mut seen_cold, &cold)] {
            let (accessed, all) = huge_pages(&report, part);
            *sum = (sum.0 + accessed, sum.1 + all);
        }
    }
    let text = format!("hot {seen_hot:?}, cold {seen_cold:?}");
    init::say(&text);
    ensure!(seen_hot.1 >= 8 && seen_cold.1 >= 8, "not all were looked at: {text}");
    // Where reading takes 20 ms, as in a virtual machine that is emulated, nearly all are accessed
    // again before the count is read.
    let least = if init::is_guest() { 1 } else { seen_hot.1 / 2 };
    ensure!(seen_hot.0 >= least && seen_cold.0 == 0, "{text}");
    ensure!(hold.memory()?.huge >= (SMALL << 10) * 19 / 10, "huge pages were split");
    hold.verify()?;
    Ok(())
}

/// Accessed base pages in what lies inside of a part, also where a range reaches beyond it.
fn accessed_in(report: &AccessReport, part: &Range<u64>) -> (u64, u64, u64) {
    report.seen.iter().fold((0, 0, 0), |(least, most, all), access| {
        let (from, to) = (access.from.0.max(part.start), access.to.0.min(part.end));
        if from >= to {
            return (least, most, all);
        }
        let (inside, whole) = (to - from, access.to.0 - access.from.0);
        let share = |pages: u64| pages * (inside >> 12) / (whole >> 12).max(1);
        (least + share(access.least_pages), most + share(access.most_pages), all + (inside >> 12))
    })
}

/// A manager that is killed in the middle of a look, and `revert`, and the next manager.
fn damon_after_a_crash(_: &Turn) -> anyhow::Result<()> {
    damon_watches_addresses()?;
    let hold = Hold::start(&format!("--mib {MIB} --hot {MIB}"))?;
    for next in ["revert", "manage"] {
        let scratch = Scratch::new()?;
        // Looks that never end: it is killed within one.
        let args = format!(
            "--pid {} --keep-settings {FAST} --set track.by=[\"damon\"] \
             --set track.window_ms=60000 --set track.interval_ms=60000",
            hold.pid()
        );
        let manager = Manage::new(&scratch, &args).start()?;
        wait_for("DAMON at work", || Ok(kdamonds()? == 1))?;
        wait_for("a note of it", || Ok(scratch.join("state/damon.jsonl").exists()))?;
        manager.kill()?;
        ensure!(kdamonds()? == 1, "it is still there");
        if next == "revert" {
            let state = scratch.join("state");
            let args = ["revert", "--state-dir", state.to_str().context("a plain path")?];
            let said = hugewise(args)?.expect(0)?;
            ensure!(said.out.contains("nr_kdamonds"), "{said:?}");
        } else {
            let args = format!("--pid {} --once --keep-settings {FAST}", hold.pid());
            Manage::new(&scratch, &args).arg("--set").arg("track.by=[]").run()?.expect(0)?;
        }
        ensure!(kdamonds()? == 0, "{next} did not give it back");
    }
    Ok(())
}

fn withheld(_: &Turn) -> anyhow::Result<()> {
    let hold = Hold::start(&format!("--mib {MIB}"))?;
    for reach in [None, Some(Reach::Rehearse)] {
        let mut looking = Looking::with(hold.pid(), reach)?;
        let before = referenced(hold.pid())?;
        let machine = Ask { machine: true, ..Ask::default() };
        let machine = looking.world.observe(&machine).machine.context("a machine")?;
        ensure!(!machine.trackers.is_empty(), "no tracker is named");
        ensure!(machine.trackers.iter().all(|offer| offer.refused.is_some()), "{machine:?}");
        let report = looking.half(looking.ask(Tracker::Referenced, Step::Begin))?;
        ensure!(report.refused == Some(SkipReason::WithheldByMode), "{report:?}");
        ensure!(referenced(hold.pid())? >= before, "bits were cleared");
    }
    Ok(())
}
