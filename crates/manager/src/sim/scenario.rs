//! Programs that policies are compared on, drawn from a seed.

use super::{HUGE, PAGES, Sim, SimProcess, SimRegion};
use crate::hints::Hint;
use crate::snapshot::ProcessSample;
use hugewise_base::rng::Rng;
use hugewise_base::units::{Bytes, Ns, saturating_u64};
use std::cmp::Reverse;

/// A kind of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// 2 GiB, well filled; all that is accessed often is the last eighth.
    HotTail,
    /// A hash table of 1 GiB: 10 to 60 % of each region is filled, one in twenty is hot.
    Sparse,
    /// 1 GiB that was full; 70 % of it, at random, is deleted, then a tenth of the regions is hot.
    Deleted,
    /// Four full programs of 256 MiB, one of them hot, and free blocks for one.
    Scarce,
    /// 1 GiB that is accessed evenly.
    Uniform,
    /// A tree of 1 GiB: nine of ten regions are full, the rest to 78 % or more; accessed by Zipf's
    /// law (exponent 0.99), hot and cold in no order.
    Skewed,
}

/// Pid of the first program.
const FIRST: u32 = 100;
/// A hot page is accessed so often in a second.
const HOT: u32 = 500;
/// Accesses in a second of the skewed program, all together.
const SKEWED: f64 = 1e6;
/// CPU time of an idle program, cores.
const IDLE_CORES: f64 = 0.05;
/// Ranges that whoever writes hints names.
const HINTS: usize = 32;

fn number(n: u64) -> u16 {
    u16::try_from(n).unwrap_or(PAGES)
}

fn region(used: u64, accessed: u64, each: u32) -> SimRegion {
    let (used, accessed) = (number(used), number(accessed));
    SimRegion { used, accessed, each, ..SimRegion::default() }
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::HotTail, Self::Sparse, Self::Deleted, Self::Scarce, Self::Uniform, Self::Skewed];

    /// The machine with its programs, before anything is huge.
    pub fn machine(self, seed: u64) -> Sim {
        // What a collapse takes comes from the machine's own generator.
        let rng = &mut Rng::new(seed ^ 0x5ce7_a210);
        let programs: Vec<(Vec<SimRegion>, f64)> = match self {
            Self::HotTail => vec![(hot_tail(rng), 1.0)],
            Self::Sparse => vec![(sparse(rng), 1.0)],
            Self::Deleted => vec![(vec![region(512, 16, 1); 512], 1.0)],
            Self::Scarce => scarce(rng),
            Self::Uniform => vec![(vec![region(512, 512, 100); 512], 1.0)],
            Self::Skewed => vec![(skewed(rng), 1.0)],
        };
        let mut sim = Sim { events_per_s: 0, ..Sim::new(seed, Ns::s(1_000_000)) };
        sim.processes.clear();
        sim.free_huge = if self == Self::Scarce { 128 } else { 4_096 };
        for (pid, (regions, cores)) in (FIRST..).zip(programs) {
            let mut sample = ProcessSample::example(pid, Bytes(0));
            sample.exe = Some(exe(pid));
            let cores = Some(cores);
            sim.processes.insert(pid, SimProcess { cores, ..SimProcess::new(sample, regions) });
        }
        sim
    }

    /// How long the programs have lived when the change comes that is looked at; `None`: it is
    /// looked at from their start on.
    pub const fn changes_after(self) -> Option<Ns> {
        match self {
            Self::Deleted => Some(Ns::s(60)),
            _ => None,
        }
    }

    /// The change: `keep` says of a region how many of its pages stay in use.
    pub fn change(self, sim: &mut Sim, seed: u64, keep: impl Fn(&mut SimRegion, u16)) {
        if self != Self::Deleted {
            return;
        }
        let mut rng = Rng::new(seed ^ 0xde1e_7ed0);
        for region in sim.processes.values_mut().flat_map(|process| &mut process.regions) {
            let left = (0..PAGES).filter(|_| rng.percent(30)).count() as u64;
            keep(region, number(left));
            let hot = rng.percent(10);
            (region.accessed, region.each) = if hot { (region.used, HOT) } else { (0, 1) };
        }
    }
}

fn exe(pid: u32) -> String {
    format!("/sim/{pid}")
}

fn hot_tail(rng: &mut Rng) -> Vec<SimRegion> {
    let one = |index| {
        let used = if rng.percent(80) { 512 } else { 461 + rng.below(51) };
        let hot = index >= 1_024 - 128;
        if hot { region(used, used, HOT) } else { region(used, rng.below(6), 1) }
    };
    (0..1_024).map(one).collect()
}

fn sparse(rng: &mut Rng) -> Vec<SimRegion> {
    let one = |_| {
        let used = 51 + rng.below(257);
        if rng.percent(5) { region(used, used, HOT) } else { region(used, used / 50, 1) }
    };
    (0..512).map(one).collect()
}

fn scarce(rng: &mut Rng) -> Vec<(Vec<SimRegion>, f64)> {
    let hot = rng.below(4);
    let program = |index| {
        if index == hot {
            return (vec![region(512, 512, HOT); 128], 1.0);
        }
        ((0..128).map(|_| region(512, rng.below(8), 1)).collect(), IDLE_CORES)
    };
    (0..4).map(program).collect()
}

fn skewed(rng: &mut Rng) -> Vec<SimRegion> {
    let weights: Vec<f64> = (1..=512).map(|rank| libm::pow(f64::from(rank), -0.99)).collect();
    let sum: f64 = weights.iter().sum();
    let mut regions: Vec<_> = weights
        .iter()
        .map(|weight| {
            let used = if rng.percent(90) { 512 } else { 400 + rng.below(112) };
            let accesses = saturating_u64(SKEWED * weight / sum);
            let each = u32::try_from(accesses / used).unwrap_or(u32::MAX);
            region(used, accesses.min(used), each.max(1))
        })
        .collect();
    // Fisher and Yates' shuffle.
    for last in (1..regions.len()).rev() {
        let other = usize::try_from(rng.below(last as u64 + 1)).unwrap_or(0);
        regions.swap(last, other);
    }
    regions
}

/// What somebody who knows these programs would write down: the ranges that are accessed most, at
/// most [`HINTS`] of each, and that the rest is not.
pub fn hints(sim: &Sim) -> Vec<Hint> {
    let mut all = Vec::new();
    for (pid, process) in &sim.processes {
        let hint = |first: usize, end: usize, accessed_percent: f64| Hint {
            exe: Some(exe(*pid)),
            cgroup: None,
            unit: None,
            user: None,
            mapping: 1,
            from_bytes: Bytes(first as u64 * HUGE),
            to_bytes: Bytes(end as u64 * HUGE),
            accessed_percent,
        };
        let mut ranges = hot_ranges(&process.regions);
        ranges.sort_by_key(|(first, _, rate)| (Reverse(*rate), *first));
        let range = |(first, end, _): &(usize, usize, u64)| {
            let pages: u64 = process.regions[*first..*end].iter().map(|r| r.accessed_pages()).sum();
            let whole = (end - first) as f64 * f64::from(PAGES);
            hint(*first, *end, 100.0 * pages as f64 / whole)
        };
        all.extend(ranges.iter().take(HINTS).map(range));
        all.push(hint(0, process.regions.len().max(1), 0.0));
    }
    all
}

/// Neighbours that are accessed often: first, end, and accesses a second to a region of it.
fn hot_ranges(regions: &[SimRegion]) -> Vec<(usize, usize, u64)> {
    let mut ranges: Vec<(usize, usize, u64)> = Vec::new();
    for (index, region) in regions.iter().enumerate() {
        let rate = region.accessed_pages() * u64::from(region.each.max(1));
        if rate < u64::from(PAGES) {
            continue;
        }
        let alike = |(_, end, before): &&mut (usize, usize, u64)| {
            *end == index && rate.max(*before) <= 2 * rate.min(*before)
        };
        match ranges.last_mut().filter(alike) {
            Some((_, end, _)) => *end += 1,
            None => ranges.push((index, index + 1, rate)),
        }
    }
    ranges
}
