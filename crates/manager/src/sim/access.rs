//! What simulated trackers show of simulated programs.

use super::{BASE, HUGE, PAGES, Sim, SimRegion};
use crate::access::{Access, AccessAsk, AccessReport, Offer, Step, Tracker};
use crate::reason::SkipReason;
use hugewise_base::rng::Rng;
use hugewise_base::units::{Addr, Ns, saturating_u64};

/// Looks of DAMON at one range in the time of one of ours: one of its aggregations has as many by
/// default (5 in 100 ms).
const SAMPLES: u32 = 20;
/// Most ranges that DAMON tells apart, by default.
const RANGES: usize = 1_000;
/// Time between clearing the accessed bit of a page and reading it, s: a look takes one second.
const SAMPLE_S: f64 = 1.0 / SAMPLES as f64;
/// Bounds of a share that was seen in none of n samples: 3 of n (the rule of three, 5 % error).
const NEVER_SEEN: f64 = 3.0;

impl SimRegion {
    /// Base pages that are accessed in a second.
    pub(super) fn accessed_pages(&self) -> u64 {
        self.accessed.min(self.used).into()
    }

    /// What its accessed bits say of it: a huge page has one.
    fn seen(&self) -> (u64, u64) {
        match self.accessed_pages() {
            accessed if self.huge && accessed > 0 => (1, PAGES.into()),
            accessed => (accessed, accessed),
        }
    }

    /// Whether one look at one of its pages finds the accessed bit set.
    fn sampled(&self, rng: &mut Rng) -> bool {
        let accessed = self.accessed_pages();
        let hit = if self.huge { accessed > 0 } else { rng.below(PAGES.into()) < accessed };
        let rate = f64::from(self.each.max(1)) * if self.huge { accessed as f64 } else { 1.0 };
        let touched = 1.0 - libm::exp(-rate * SAMPLE_S);
        hit && (rng.below(1 << 20) as f64) < touched * f64::from(1 << 20)
    }
}

impl Sim {
    /// Programs use their memory from now on: some regions much, some a little, most not at all.
    pub fn use_memory(&mut self, seed: u64) {
        let mut rng = Rng::new(seed ^ 0xacce_55ed);
        for region in self.processes.values_mut().flat_map(|process| &mut process.regions) {
            let some = u16::try_from(rng.below(u64::from(region.used) + 1)).unwrap_or(PAGES);
            (region.accessed, region.each) = match rng.below(4) {
                0 => (region.used, 500),
                1 => (some, 3),
                _ => (0, 0),
            };
        }
    }

    pub(super) fn offers(&self) -> Vec<Offer> {
        let offer = |tracker: &_| Offer { tracker: *tracker, refused: None };
        self.trackers.iter().map(offer).collect()
    }

    /// One half of a look. [`Tracker::Referenced`] shows the sum of a mapping; DAMON looks at
    /// random pages; the others show each region.
    pub(super) fn access(&mut self, ask: &AccessAsk) -> AccessReport {
        let least = Ns::us(50);
        let process = self.processes.get(&ask.target.pid);
        let Some(process) = process.filter(|process| process.sample.id == ask.target) else {
            return AccessReport::refused(ask, SkipReason::Gone, least);
        };
        if process.execed {
            return AccessReport::refused(ask, SkipReason::AddressSpaceChanged, least);
        }
        if let Some(reason) = self.refusals.get(&ask.by) {
            return AccessReport::refused(ask, *reason, least);
        }
        let cost = least + cost(ask.by, &process.regions);
        // Clearing accessed bits holds the lock while it goes on.
        let clears = ask.step == Step::Begin && ask.by == Tracker::Referenced;
        let lock = if clears { cost } else { Ns(0) };
        if (ask.step == Step::Begin && cost > ask.budget) || lock > ask.lock {
            return AccessReport::refused(ask, SkipReason::TrackingTooExpensive, least);
        }
        let seen = match (ask.step, ask.by) {
            (Step::Begin, _) => Vec::new(),
            (Step::End, Tracker::Referenced) => summed(&process.regions),
            (Step::End, Tracker::Damon | Tracker::DamonFrames) => {
                sampled(&process.regions, &mut self.rng)
            }
            (Step::End, _) => each(&process.regions),
        };
        let AccessAsk { target, by, step, .. } = *ask;
        AccessReport { target, by, step, seen, refused: None, cost, lock }
    }
}

/// CPU time of half a look: accessed bits of a mapping are read by `smaps`
/// (`docs/measurements.md#page-scan-cost`: 16.5 ms/GiB of base pages, next to nothing for huge
/// ones); DAMON keeps to about one percent of a CPU, by its author's measurements.
fn cost(by: Tracker, regions: &[SimRegion]) -> Ns {
    let count = regions.len() as u64;
    match by {
        Tracker::Damon | Tracker::DamonFrames => Ns::us(10 * count.min(RANGES as u64)),
        _ => {
            let huge = regions.iter().filter(|region| region.huge).count() as u64;
            Ns::us(32 * (count - huge)) + Ns(200 * huge)
        }
    }
}

fn access(first: usize, regions: usize, (least_pages, most_pages): (u64, u64)) -> Access {
    let at = |index: usize| Addr(BASE + index as u64 * HUGE);
    Access { from: at(first), to: at(first + regions), least_pages, most_pages }
}

/// What is accessed of each region.
fn each(regions: &[SimRegion]) -> Vec<Access> {
    let one = |(index, region): (usize, &SimRegion)| access(index, 1, region.seen());
    regions.iter().enumerate().map(one).collect()
}

/// What is accessed of all of them together.
fn summed(regions: &[SimRegion]) -> Vec<Access> {
    let sum = regions.iter().map(SimRegion::seen).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    if regions.is_empty() { Vec::new() } else { vec![access(0, regions.len(), sum)] }
}

/// What is probably accessed of each range.
fn sampled(regions: &[SimRegion], rng: &mut Rng) -> Vec<Access> {
    let size = regions.len().div_ceil(RANGES).max(1);
    let mut seen = Vec::new();
    for (number, range) in regions.chunks(size).enumerate() {
        let mut hits = 0;
        for _ in 0..SAMPLES {
            let index = usize::try_from(rng.below(range.len() as u64)).unwrap_or(0);
            hits += u32::from(range.get(index).is_some_and(|region| region.sampled(rng)));
        }
        let pages = range.len() as u64 * u64::from(PAGES);
        let huge = range.iter().any(|region| region.huge);
        let bounds = if huge && hits > 0 { (1, pages) } else { bounds(hits, pages) };
        seen.push(access(number * size, range.len(), bounds));
    }
    seen
}

/// How many of `pages` are accessed if so many of [`SAMPLES`] were: two standard errors on either
/// side, and where all or none was the rule of three.
fn bounds(hits: u32, pages: u64) -> (u64, u64) {
    let n = f64::from(SAMPLES);
    let share = f64::from(hits) / n;
    let error = match hits {
        0 | SAMPLES => NEVER_SEEN / n,
        _ => 2.0 * libm::sqrt(share * (1.0 - share) / n),
    };
    let part = |share: f64| saturating_u64(share.clamp(0.0, 1.0) * pages as f64);
    (part(share - error), part(share + error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(accessed: u16, huge: bool) -> SimRegion {
        SimRegion { used: PAGES, accessed, each: 1_000, huge, ..SimRegion::default() }
    }

    #[test]
    fn each_kind_of_tracker_shows_what_it_can() {
        let regions = [region(512, false), region(0, false), region(100, true), region(0, true)];
        let pages = |seen: Vec<Access>| -> Vec<_> {
            seen.iter().map(|access| (access.least_pages, access.most_pages)).collect()
        };
        assert_eq!(pages(each(&regions)), [(512, 512), (0, 0), (1, 512), (0, 0)]);
        assert_eq!(pages(summed(&regions)), [(513, 1024)]);
        assert_eq!(summed(&regions)[0].to.0 - BASE, 4 * HUGE);
        let damon = pages(sampled(&regions, &mut Rng::new(1)));
        assert_eq!(damon, [(435, 512), (0, 76), (1, 512), (0, 76)]);
    }

    /// The truth lies within what DAMON says in nine of ten cases.
    #[test]
    fn samples_bound_the_truth() {
        let mut rng = Rng::new(7);
        let mut within = 0;
        for round in 0..1_000 {
            let accessed = u16::try_from(round % 513).unwrap_or(0);
            let seen = sampled(&[region(accessed, false)], &mut rng);
            let bounds = seen[0].least_pages..=seen[0].most_pages;
            within += u32::from(bounds.contains(&accessed.into()));
        }
        assert!(within > 900, "{within} of 1000");
    }
}
