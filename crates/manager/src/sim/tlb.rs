//! How fast a program runs with the huge pages that it has: a small model of its TLB.
//!
//! A program accesses the pages of each region at a rate of its own, one independently of the
//! other. The second-level TLB keeps the translations used last, one for a base page as for a huge
//! one. How many accesses miss it follows from Che's approximation of such a cache: all entries
//! stay for the same time after their last use, so long that on average the TLB is full.
//!
//! The model knows no first-level TLB, no sets, no prefetching, and no time that base pages cost
//! for anything but walks. Other programs on the CPU take nothing of the TLB.

use super::{PAGES, Sim, SimRegion};
use std::collections::BTreeMap;

/// Entries of the second-level TLB, which base and huge pages share: as on Skylake to Cascade
/// Lake servers (`docs/measurements.md#value-of-huge-pages`).
pub const ENTRIES: u32 = 1_536;
/// A random access that hits the TLB, ns (`docs/measurements.md#value-of-huge-pages`).
pub const HIT_NS: f64 = 182.0;
/// The walk after a miss among base pages, ns (`docs/measurements.md#value-of-huge-pages`).
pub const WALK_NS: f64 = 165.0;
/// The walk after a miss among huge pages, ns: a level less, and their entries fit into the caches
/// of the CPU (`docs/measurements.md#value-of-huge-pages`).
pub const HUGE_WALK_NS: f64 = 40.0;

/// Pages of one size that are accessed alike.
type Load = BTreeMap<(bool, u64), u64>;

/// What an access costs a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Mean time of an access, ns.
    pub access_ns: f64,
    /// Share of its time that goes into walks of page tables.
    pub walks: f64,
}

impl Cost {
    /// Of a program with these regions.
    pub fn of(regions: &[SimRegion]) -> Self {
        Self::with(regions, |region| region.huge)
    }

    /// The same, if `huge` said which of them are huge.
    pub fn with(regions: &[SimRegion], huge: impl Fn(&SimRegion) -> bool) -> Self {
        let mut load = Load::new();
        for region in regions {
            let pages = u64::from(region.accessed.min(region.used));
            let each = u64::from(region.each.max(1));
            match (pages, huge(region)) {
                (0, _) => {}
                (_, true) => *load.entry((true, pages * each)).or_default() += 1,
                (_, false) => *load.entry((false, each)).or_default() += pages,
            }
        }
        let stay = stay(&load);
        let (mut all, mut walks_ns) = (0.0, 0.0);
        for ((huge, rate), pages) in &load {
            let accesses = *rate as f64 * *pages as f64;
            let missed = libm::exp(-(*rate as f64) * stay);
            all += accesses;
            walks_ns += accesses * missed * if *huge { HUGE_WALK_NS } else { WALK_NS };
        }
        let walk_ns = if all > 0.0 { walks_ns / all } else { 0.0 };
        let access_ns = HIT_NS + walk_ns;
        Self { access_ns, walks: walk_ns / access_ns }
    }
}

/// For how long, in seconds, a translation stays in the TLB after its last use; for ever while all
/// of them fit.
fn stay(load: &Load) -> f64 {
    let all: u64 = load.values().sum();
    if all <= ENTRIES.into() {
        return f64::INFINITY;
    }
    // The number of entries in use grows with the time, and ever more slowly: Newton's steps never
    // go too far.
    let mut stay = 0.0;
    for _ in 0..200 {
        let (mut used, mut slope) = (0.0, 0.0);
        for ((_, rate), pages) in load {
            let (rate, pages) = (*rate as f64, *pages as f64);
            let gone = libm::exp(-rate * stay);
            used += pages * (1.0 - gone);
            slope += pages * rate * gone;
        }
        let step = (f64::from(ENTRIES) - used) / slope;
        if !step.is_finite() || step <= 1e-12 * stay {
            break;
        }
        stay += step;
    }
    stay
}

/// What a program has of the gain that huge pages can give it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// With base pages only.
    pub small: Cost,
    /// As it is.
    pub now: Cost,
    /// If all that it accesses were huge.
    pub huge: Cost,
}

impl Gain {
    /// Of a program with these regions.
    pub fn of(regions: &[SimRegion]) -> Self {
        let now = Cost::of(regions);
        Self { small: Cost::with(regions, |_| false), now, huge: Cost::with(regions, |_| true) }
    }

    /// Share of its time that it saves against base pages.
    pub fn saved(&self) -> f64 {
        1.0 - self.now.access_ns / self.small.access_ns
    }

    /// ... that it would save if all were huge.
    pub fn attainable(&self) -> f64 {
        1.0 - self.huge.access_ns / self.small.access_ns
    }

    /// How much faster it is than with base pages only: 1 is as fast.
    pub fn speed(&self) -> f64 {
        self.small.access_ns / self.now.access_ns
    }

    /// How fast it is against all that it accesses being huge: 1 is as fast.
    pub fn against_huge(&self) -> f64 {
        self.huge.access_ns / self.now.access_ns
    }
}

impl Sim {
    /// What all programs have of the gain that huge pages can give them, 0 to 1, each by the CPU
    /// time that it uses; 1 where there is none to be had.
    pub fn attained(&self) -> f64 {
        let (mut saved, mut attainable) = (0.0, 0.0);
        for process in self.processes.values() {
            let gain = Gain::of(&process.regions);
            let cores = process.cores.unwrap_or(1.0);
            saved += cores * gain.saved();
            attainable += cores * gain.attainable();
        }
        if attainable > 1e-9 { saved / attainable } else { 1.0 }
    }

    /// Memory that programs hold against what they use: 1 is as much as with base pages.
    pub fn held(&self) -> f64 {
        let regions = || self.processes.values().flat_map(|process| &process.regions);
        let pages = |region: &SimRegion| region.physical().min(PAGES);
        let held: u64 = regions().map(|region| u64::from(pages(region))).sum();
        let used: u64 = regions().map(|region| u64::from(region.used)).sum();
        held as f64 / used.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(accessed: u16, each: u32, huge: bool) -> SimRegion {
        SimRegion { used: PAGES, accessed, each, huge, ..SimRegion::default() }
    }

    /// The measurement that the figures come from: random reads over 410 MiB.
    #[test]
    fn reads_of_410_mib_take_as_long_as_measured() {
        let cost = |huge| Cost::of(&vec![region(PAGES, 100, huge); 205]);
        assert!((cost(false).access_ns - 347.0).abs() < 5.0, "{:?}", cost(false));
        assert!((cost(true).access_ns - 182.0).abs() < 1e-9);
        assert!((0.4..0.5).contains(&cost(false).walks));
    }

    /// Uniform accesses hit as often as the TLB covers them.
    #[test]
    fn a_uniform_program_hits_by_what_is_covered() {
        let cost = Cost::of(&[region(PAGES, 7, false); 6]);
        let hits = 1.0 - (cost.access_ns - HIT_NS) / WALK_NS;
        assert!((hits - 0.5).abs() < 1e-9, "{hits}");
    }

    #[test]
    fn hot_pages_stay_and_cold_ones_go() {
        let mut regions = vec![region(PAGES, 1_000, false); 2];
        regions.extend(vec![region(PAGES, 1, false); 64]);
        let gain = Gain::of(&regions);
        assert!(gain.small.walks < 0.03, "the hot part fits: {gain:?}");
        assert!(gain.speed() >= 1.0 && gain.against_huge() < 1.0);
    }

    fn regions() -> impl Strategy<Value = Vec<SimRegion>> {
        let one = (0..=512_u16, 0..=512_u16, 0..2_000_u32, any::<bool>());
        let one = one.prop_map(|(used, accessed, each, huge)| SimRegion {
            used,
            ..region(accessed, each, huge)
        });
        prop::collection::vec(one, 0..100)
    }

    proptest! {
        #[test]
        fn more_huge_pages_are_never_slower(regions in regions(), which in any::<usize>()) {
            let before = Cost::of(&regions);
            let mut more = regions.clone();
            if let Some(region) = more.get_mut(which % regions.len().max(1)) {
                region.huge = true;
            }
            prop_assert!(Cost::of(&more).access_ns <= before.access_ns + 1e-6);
            let gain = Gain::of(&regions);
            prop_assert!(gain.saved() >= -1e-9 && gain.saved() <= gain.attainable() + 1e-9);
            prop_assert!((0.0..1.0).contains(&gain.now.walks));
        }

        #[test]
        fn what_fits_or_is_not_accessed_gains_nothing(
            pages in 0..=512_u16, each in 0..2_000_u32, idle in 0..1_000_usize,
        ) {
            let mut regions = vec![region(pages, each, false); 3];
            regions.extend(vec![region(0, each, false); idle]);
            let gain = Gain::of(&regions);
            prop_assert!(gain.attainable().abs() < 1e-12 && gain.now.walks.abs() < 1e-12);
        }

        #[test]
        fn only_ratios_of_rates_count(regions in regions()) {
            let faster: Vec<_> = regions.iter().map(|region| SimRegion {
                each: region.each.max(1) * 10, ..*region
            }).collect();
            let (a, b) = (Cost::of(&regions).access_ns, Cost::of(&faster).access_ns);
            prop_assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
}
