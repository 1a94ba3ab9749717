//! Trackers on a real kernel: hot memory is told from cold, and what is refused leaves no trace.

use crate::hold::Hold;
use crate::kit::{Scratch, skip, trial};
use crate::machine::Turn;
use anyhow::{Context, ensure};
use hugewise_core::base::units::{Addr, Ns, ProcId};
use hugewise_core::manager::access::{Access, AccessAsk, AccessReport, Step, Tracker};
use hugewise_core::manager::engine::World;
use hugewise_core::manager::reason::SkipReason;
use hugewise_core::manager::snapshot::Ask;
use hugewise_linux::actuator::{Actuator, OperatorNever, Reach};
use hugewise_linux::machine::geometry;
use hugewise_linux::process;
use hugewise_linux::root::Root;
use hugewise_linux::world::Live;
use libtest_mimic::Trial;
use std::ops::Range;
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
        let never = OperatorNever::Respect;
        let actuator = reach.map(|reach| Actuator::new(&root, reach, geometry(&root), never));
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
        std::thread::sleep(WINDOW);
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
        let refused = report.refused == Some(SkipReason::TrackingTooDear);
        ensure!(refused && report.lock == Ns(0), "{bounds:?}: {report:?}");
        ensure!(report.cost < Ns::ms(20), "to find that out was dear: {report:?}");
    }
    let after = referenced(hold.pid())?;
    ensure!(after >= before, "bits were cleared: {before} -> {after}");
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
