//! DAMON: the kernel samples accesses region by region, and splits and joins regions as it learns.
//!
//! Its files below `/sys/kernel/mm/damon/admin` are one for the whole machine: it is used only
//! while nobody else has it, and given back after each look. The trail says so first, and what was
//! set up bears a mark: what a killed manager left is told from what others set up.

use super::bounds::{self, Populated};
use super::candidates::{Candidates, Region, populated};
use super::look::Look;
use super::slot::{Slot, Taken};
use crate::kdamond::MARK_US;
use hugewise_base::units::{Geometry, Ns};
use hugewise_manager::access::Access;
use hugewise_manager::reason::SkipReason;
use std::ops::Range;

/// The kernel's own defaults: each region is sampled every 5 ms, ...
const SAMPLE_US: u64 = 5_000;
/// ... its hits are counted over 100 ms, ...
const AGGREGATION_US: u64 = 100_000;
/// ... and there are so many regions (Documentation/admin-guide/mm/damon/usage.rst).
const REGIONS: [u64; 2] = [10, 1_000];
/// With fewer it would tell nothing; 5 ms of CPU for a look of a second.
const LEAST_REGIONS: u64 = 100;
/// Samples that a count of hits is out of.
const TRIES: u64 = AGGREGATION_US / SAMPLE_US;
/// CPU time for each region and sample, ns, at most (`docs/measurements.md#cost-of-a-look`).
const SAMPLE_NS: u64 = 256;

/// What DAMON watches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Watched<'a> {
    /// A program's addresses.
    Addresses(u32),
    /// These page frames, as bytes of physical memory.
    Frames(&'a [Range<u64>]),
}

/// One region that DAMON tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tried {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Samples in which it was accessed, out of [`TRIES`].
    pub(super) hits: u64,
}

impl Tried {
    /// Between which shares of it were accessed.
    pub(super) fn share(&self) -> (f64, f64) {
        bounds::share(self.hits, TRIES)
    }
}

/// Sets DAMON up and starts it. What is dropped is taken away again.
pub(super) fn start(
    look: &mut Look<'_>,
    slot: &mut Slot,
    watched: Watched<'_>,
) -> Result<Taken, SkipReason> {
    // A look takes a second: more regions cost more than they may.
    let region = SAMPLE_NS * (1_000_000 / SAMPLE_US);
    let most = (look.ask.budget.0 / region).clamp(LEAST_REGIONS, REGIONS[1]);
    let taken = slot.take(look.root)?;
    set_up(&taken, watched, most)?;
    look.verify()?;
    taken.write("state", "on")?;
    // Between the check and the start the pid may have become another's.
    look.verify()?;
    Ok(taken)
}

fn set_up(taken: &Taken, watched: Watched<'_>, most: u64) -> Result<(), SkipReason> {
    let set = |file: &str, value: &str| taken.write(file, value);
    set("contexts/nr_contexts", "1")?;
    let intervals = "contexts/0/monitoring_attrs/intervals";
    // First of all, so that it is known as ours.
    set(&format!("{intervals}/update_us"), MARK_US)?;
    set(&format!("{intervals}/sample_us"), &SAMPLE_US.to_string())?;
    set(&format!("{intervals}/aggr_us"), &AGGREGATION_US.to_string())?;
    let number = "contexts/0/monitoring_attrs/nr_regions";
    set(&format!("{number}/min"), &REGIONS[0].to_string())?;
    set(&format!("{number}/max"), &most.to_string())?;
    let operations = match watched {
        Watched::Addresses(_) => "vaddr",
        Watched::Frames(_) => "paddr",
    };
    set("contexts/0/operations", operations)?;
    // Each region is "tried" by a scheme that does nothing but count it: so they can be read.
    set("contexts/0/schemes/nr_schemes", "1")?;
    let scheme = "contexts/0/schemes/0";
    set(&format!("{scheme}/action"), "stat")?;
    for (what, most) in
        [("sz", u64::MAX), ("nr_accesses", u32::MAX.into()), ("age", u32::MAX.into())]
    {
        set(&format!("{scheme}/access_pattern/{what}/min"), "0")?;
        set(&format!("{scheme}/access_pattern/{what}/max"), &most.to_string())?;
    }
    set("contexts/0/targets/nr_targets", "1")?;
    match watched {
        Watched::Addresses(pid) => set("contexts/0/targets/0/pid_target", &pid.to_string()),
        Watched::Frames(ranges) => {
            let regions = "contexts/0/targets/0/regions";
            set(&format!("{regions}/nr_regions"), &ranges.len().to_string())?;
            for (n, range) in ranges.iter().enumerate() {
                set(&format!("{regions}/{n}/start"), &range.start.to_string())?;
                set(&format!("{regions}/{n}/end"), &range.end.to_string())?;
            }
            Ok(())
        }
    }
}

/// Forgets what was accessed so far: a new DAMON knows nothing.
pub(super) fn begin(look: &mut Look<'_>, slot: &mut Slot) -> Result<Taken, SkipReason> {
    start(look, slot, Watched::Addresses(look.target.id.pid))
}

/// Time that reading the answer may take at the end, whatever is left: what DAMON has done is done.
const LEAST_BUDGET: Ns = Ns::ms(20);

/// Ends DAMON's work and reads what it saw.
pub(super) fn stop(taken: Taken, cost: &mut super::look::Cost) -> Result<Vec<Tried>, SkipReason> {
    if !taken.is_ours() {
        return Err(SkipReason::TrackerBusy);
    }
    let seen = taken.write("state", "update_schemes_tried_regions").map(|()| read(&taken));
    cost.others += taken.cpu();
    drop(taken);
    seen
}

/// Reads the regions; what cannot be understood is left out.
fn read(taken: &Taken) -> Vec<Tried> {
    let folder = "contexts/0/schemes/0/tried_regions";
    let number =
        |name: &str, file: &str| taken.read(&format!("{folder}/{name}/{file}"))?.parse().ok();
    let one = |name: &String| {
        let (start, end) = (number(name, "start")?, number(name, "end")?);
        let hits = number(name, "nr_accesses")?;
        (start < end).then_some(Tried { start, end, hits })
    };
    let mut all: Vec<_> = taken.folders(folder).iter().filter_map(one).collect();
    all.sort_by_key(|tried| tried.start);
    all
}

/// Says what was accessed since, of memory that could be huge.
pub(super) fn end(taken: Taken, look: &mut Look<'_>) -> Result<Vec<Access>, SkipReason> {
    let tried = stop(taken, look.cost)?;
    let candidates = Candidates::read(look, look.ask.budget.max(LEAST_BUDGET))?;
    let mut regions = Vec::new();
    candidates.regions(look, |_, region| {
        regions.push(region);
        true
    })?;
    Ok(accesses(&tried, &candidates.ranges, &regions, look.geometry))
}

/// What DAMON's regions say of these ranges, both ascending.
fn accesses(
    tried: &[Tried],
    ranges: &[Range<u64>],
    regions: &[Region],
    geometry: Geometry,
) -> Vec<Access> {
    let mut all = Vec::new();
    for range in ranges {
        let first = tried.partition_point(|tried| tried.end <= range.start);
        for tried in tried.iter().skip(first).take_while(|tried| tried.start < range.end) {
            let part = tried.start.max(range.start)..tried.end.min(range.end);
            let memory = populated(regions, &part, geometry.huge.0);
            if memory != Populated::default() {
                let bounds = (part.start, part.end);
                all.push(bounds::access_by_share(bounds, tried.share(), memory, geometry));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::units::Addr;

    #[test]
    fn regions_are_cut_to_what_could_be_huge() {
        const MIB: u64 = 1 << 20;
        let tried = [
            Tried { start: 0, end: 6 * MIB, hits: 20 },
            Tried { start: 6 * MIB, end: 100 * MIB, hits: 0 },
        ];
        let region = |at: u64, huge| Region { at: at * MIB, populated: 512, huge };
        let regions = [region(4, false), region(6, true), region(40, false)];
        let ranges = [4 * MIB..8 * MIB, 20 * MIB..30 * MIB, 40 * MIB..42 * MIB];
        let found = accesses(&tried, &ranges, &regions, Geometry::X86_64);
        let said: Vec<_> = found
            .iter()
            .map(|a| (a.from.0 / MIB, a.to.0 / MIB, a.least_pages, a.most_pages))
            .collect();
        // Nothing is populated from 20 to 30 MiB.
        assert_eq!(said, [(4, 6, 429, 512), (6, 8, 0, 83), (40, 42, 0, 83)]);
        assert!(found.iter().all(|a| a.from < a.to && a.from >= Addr(4 * MIB)));
    }
}
