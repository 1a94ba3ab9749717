//! How loaded each resource is, in its own terms, and what the machine does: what is said where no
//! explanation holds.

use serde::Serialize;

use super::answer::{Evidence, Missing};
use super::context::Context;
use super::machine::memory;
use super::missing::{DISK_WHO, MEMINFO, PROCESSES, SYMBOLS};
use super::nodes::{doing_of_servers, largest_program, saturated_disk, shares};
use super::threshold::Threshold as T;
use super::write;
use crate::recording::{Field, Subject, Unit};

/// How loaded a resource is; one that is calm, or of which nothing is known, is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Hardly any of it is left.
    Notable,
    /// Something waits for it.
    High,
}

impl Load {
    /// In a word.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Notable => "notable",
            Self::High => "high",
        }
    }
}

/// A resource under pressure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pressure {
    /// Which: `cpus`, `storage`, `memory`.
    pub resource: &'static str,
    /// How loaded it is.
    pub load: Load,
    /// From what that is known.
    pub evidence: Vec<Evidence>,
    /// The command that separates the explanations that are left.
    pub next: Missing,
}

/// The resources under pressure, the most loaded first.
pub(super) fn pressures(cx: &Context<'_>) -> Vec<Pressure> {
    let mut all: Vec<Pressure> =
        [cpus, storage, memory].into_iter().filter_map(|judge| judge(cx)).collect();
    all.sort_by_key(|pressure| std::cmp::Reverse(pressure.load));
    all
}

/// A value against a limit from which on it is notable, and one from which on it is high.
fn load(value: f64, notable: f64, high: f64) -> Option<Load> {
    if value >= high { Some(Load::High) } else { (value >= notable).then_some(Load::Notable) }
}

/// The busiest program, where processes are listed.
fn busiest(cx: &Context<'_>) -> Option<Evidence> {
    let (name, seen, _) = largest_program(cx, Field::ProcCpu)?;
    let text = format!("{name}: {} of a CPU", write::value(Unit::Percent, seen.value));
    Some(cx.say(&seen, &text))
}

/// CPUs are full where next to none is idle and, as far as that is known, more tasks want to run.
fn cpus(cx: &Context<'_>) -> Option<Pressure> {
    const FULL_PERCENT: f64 = 97.0;
    let line = cx.busy(&Subject::Machine)?;
    let busy = cx.sustained(&line)?;
    let load = load(busy.value, cx.limit(T::BusyHigh), FULL_PERCENT)?;
    let text = format!("CPU in use {}", write::value(Unit::Percent, busy.value));
    let listed = busiest(cx);
    let kernel = cx.kernel(&Subject::Machine).and_then(|line| cx.mean(&line));
    let in_kernel = kernel.is_some_and(|mean| mean.value >= cx.limit(T::KernelHigh));
    let next = if listed.is_none() && !in_kernel { PROCESSES } else { SYMBOLS };
    let queue = [Field::RunQueue, Field::Load1].map(|field| cx.highest_of(field));
    let queue = queue.into_iter().flatten().next();
    // As many tasks as CPUs, all at work: nobody waits for one.
    if queue.as_ref().zip(cx.cpus()).is_some_and(|(queue, cpus)| queue.value <= cpus) {
        return None;
    }
    let queue = queue.map(|seen| cx.quote(&seen));
    let busy = [cx.say(&busy, &text)];
    let evidence = busy.into_iter().chain(queue).chain(shares(cx)).chain(listed);
    Some(Pressure { resource: "cpus", load, evidence: evidence.collect(), next })
}

/// Storage is full where a disk is, or where CPUs wait for requests most of the time.
fn storage(cx: &Context<'_>) -> Option<Pressure> {
    let disk = saturated_disk(cx);
    if disk.is_yes() {
        let evidence = disk.evidence;
        return Some(Pressure { resource: "storage", load: Load::High, evidence, next: DISK_WHO });
    }
    let waits = cx.line(Field::CpuIowait, &Subject::Machine)?;
    let waits = cx.sustained(&waits)?;
    let load = load(waits.value, cx.limit(T::IowaitHigh) / 2.0, cx.limit(T::IowaitHigh))?;
    let evidence = vec![cx.quote(&waits)];
    Some(Pressure { resource: "storage", load, evidence, next: super::missing::DISKS })
}

/// Memory is short where hardly any can be had.
fn memory(cx: &Context<'_>) -> Option<Pressure> {
    let (room, total) = (memory::room(cx)?, cx.memory_bytes()?);
    let most = room.bytes.percent_of(total).high;
    let limit = cx.limit(T::AvailableLow);
    let load = load(100.0 - most, 100.0 - 2.0 * limit, 100.0 - limit)?;
    let text =
        format!("at most {most:.1} % of {} can be had without swapping", write::bytes(total));
    let evidence = vec![cx.derive(&room.seen, &text)];
    Some(Pressure { resource: "memory", load, evidence, next: MEMINFO })
}

/// The pool of HugeTLB pages, and how much of it is in use.
fn pool(cx: &Context<'_>) -> Option<Evidence> {
    let total = cx.state(Field::HugetlbTotal).filter(|total| total.value > 0.0)?;
    let free = cx.state(Field::HugetlbFree)?.value;
    let page = cx.state(Field::HugetlbPage).filter(|page| page.value > 0.0);
    let pages = page.map_or_else(String::new, |page| {
        format!(" ({} pages)", write::number((total.value / page.value).round()))
    });
    let text = format!(
        "HugeTLB pool of {}{pages}: {} in use",
        write::bytes(total.value),
        write::value(Unit::Percent, 100.0 - free / total.value * 100.0)
    );
    Some(cx.say(&total, &text))
}

/// What the machine does, a line for each that is known: servers, CPU time, the busiest program,
/// memory, a pool.
pub(super) fn doing(cx: &Context<'_>) -> Vec<Evidence> {
    let room = memory::room(cx).zip(cx.memory_bytes()).map(|(room, total)| {
        let text = format!("{} of {}", write::sentence(&room.seen), write::bytes(total));
        cx.say(&room.seen, &text)
    });
    let servers = doing_of_servers(cx).into_iter();
    servers.chain(shares(cx)).chain(busiest(cx)).chain(room).chain(pool(cx)).collect()
}
