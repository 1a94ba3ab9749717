//! How much waste is known, from which source, and how much more may be caused.
//!
//! Waste is physical memory that huge pages hold and nobody uses (DESIGN section 4). Three sources
//! tell of it, none of them by guessing:
//!
//! * **partially mapped**: the program dropped pages of a huge page, and the block is still held
//!   for the rest. Page frames show it; where they are hidden, what was seen before does.
//! * **remembered**: how many pages were populated just before the region became huge. Exact when
//!   hugewise made it, as of the last scan when somebody else did; an upper bound ever since, for
//!   the program may have filled it.
//! * **sampled**: pages of zeros among 32 of 512, where the configuration allows reading.
//!
//! For all other huge regions waste is unknown, and counted as such.

use crate::config::Config;
use crate::snapshot::MachineSample;
use crate::state::{Region, State, Target};
use crate::units::{Bytes, Geometry};
use serde::{Deserialize, Serialize};

/// Where knowledge of waste comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A block of which some pages are not mapped any more.
    PartiallyMapped,
    /// The populated count before it became huge.
    Remembered,
    /// Zero pages in a sample of its contents.
    Sampled,
}

/// What is known about the waste in one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waste {
    /// No huge page and no block: nothing can be wasted.
    Impossible,
    /// So many base pages.
    Known(u16, Source),
    /// Huge, and nothing says how much of it is used.
    Unknown,
}

/// Waste of one region.
#[must_use]
pub fn of(region: &Region, geometry: Geometry) -> Waste {
    let whole = u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX);
    if !region.huge {
        return match region.held_pages(geometry) {
            None | Some(0) => Waste::Impossible,
            Some(held) => Waste::Known(held, Source::PartiallyMapped),
        };
    }
    match (region.zeros, region.before) {
        (Some(zeros), _) => Waste::Known(zeros.min(whole), Source::Sampled),
        (None, Some(before)) => {
            Waste::Known(whole.saturating_sub(before.populated), Source::Remembered)
        }
        (None, None) => Waste::Unknown,
    }
}

/// Waste of a process, a cgroup or the machine, by source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Pages of held blocks that are not mapped any more.
    pub partially_mapped: Bytes,
    /// Pages that were not populated before their regions became huge.
    pub remembered: Bytes,
    /// Zero pages, estimated from samples.
    pub sampled: Bytes,
    /// Memory in huge regions of which nobody knows how much is used.
    pub unknown: Bytes,
}

impl Account {
    /// All waste that is known.
    #[must_use]
    pub fn known(&self) -> Bytes {
        self.partially_mapped + self.in_huge()
    }

    /// Waste known in regions that are still huge.
    #[must_use]
    pub fn in_huge(&self) -> Bytes {
        self.remembered + self.sampled
    }

    /// Whether nothing is in it, not even something unknown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn count(&mut self, region: &Region, geometry: Geometry) {
        match of(region, geometry) {
            Waste::Impossible => {}
            Waste::Unknown => self.unknown += geometry.huge,
            Waste::Known(pages, source) => {
                let sum = match source {
                    Source::PartiallyMapped => &mut self.partially_mapped,
                    Source::Remembered => &mut self.remembered,
                    Source::Sampled => &mut self.sampled,
                };
                *sum += geometry.bytes(pages.into());
            }
        }
    }
}

impl std::ops::AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        self.partially_mapped += other.partially_mapped;
        self.remembered += other.remembered;
        self.sampled += other.sampled;
        self.unknown += other.unknown;
    }
}

/// Waste of one process.
#[must_use]
pub fn account(target: &Target, geometry: Geometry) -> Account {
    let mut account = Account::default();
    for region in target.regions.values() {
        account.count(region, geometry);
    }
    account
}

/// Waste of all managed processes.
#[must_use]
pub fn total(state: &State) -> Account {
    let mut total = Account::default();
    for target in state.targets.values() {
        total += account(target, state.geometry);
    }
    total
}

/// Above so much waste in huge regions it is taken back: `bloat_budget_percent` of the managed
/// footprint. Not scaled by FMFI: splits leave small holes, which raise FMFI, which would ask for
/// more splits.
#[must_use]
pub fn bound(config: &Config, footprint: Bytes) -> Bytes {
    footprint.percent(config.promote.bloat_budget_percent)
}

/// Waste that promotions below the threshold may cause in all, right now.
///
/// `bloat_budget_percent` of the managed footprint, shrinking linearly with FMFI down to nothing
/// at `watermark.fmfi_high`: in fragmented memory a huge page is too dear to be filled with air.
/// An unknown FMFI gives no budget.
#[must_use]
pub fn budget(config: &Config, machine: &MachineSample, footprint: Bytes) -> Bytes {
    let Some(fmfi) = machine.fmfi else {
        return Bytes(0);
    };
    let high = config.watermark.fmfi_high;
    let room = if fmfi < high { 1.0 - fmfi / high } else { 0.0 };
    footprint.percent(config.promote.bloat_budget_percent * room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine_sample;
    use crate::state::{Before, Maker};
    use crate::units::Ns;

    #[test]
    fn the_budget_shrinks_with_fragmentation() {
        let config = Config::default();
        let mut machine = machine_sample();
        let at = |machine: &MachineSample| budget(&config, machine, Bytes(1_000_000)).0;
        machine.fmfi = Some(0.0);
        assert_eq!(at(&machine), 30_000);
        machine.fmfi = Some(0.25);
        assert_eq!(at(&machine), 15_000);
        machine.fmfi = Some(0.9);
        assert_eq!(at(&machine), 0);
        machine.fmfi = None;
        assert_eq!(at(&machine), 0);
    }

    #[test]
    fn a_sample_knows_better_than_memory_and_nothing_is_unknown() {
        let waste = |region: &Region| of(region, Geometry::X86_64);
        let mut region = Region { huge: true, populated: 512, ..Region::default() };
        assert_eq!(waste(&region), Waste::Unknown);
        region.before = Some(Before { populated: 200, by: Maker::Somebody });
        assert_eq!(waste(&region), Waste::Known(312, Source::Remembered));
        region.zeros = Some(16);
        assert_eq!(waste(&region), Waste::Known(16, Source::Sampled));
    }

    #[test]
    fn what_is_missing_from_a_broken_huge_page_is_held_unless_frames_say_otherwise() {
        let waste = |region: &Region| of(region, Geometry::X86_64);
        let mut region = Region { populated: 100, zero_page: 12, ..Region::default() };
        assert_eq!(waste(&region), Waste::Impossible);
        region.broken = Some(Ns(1));
        assert_eq!(waste(&region), Waste::Known(400, Source::PartiallyMapped));
        region.held = Some(7);
        assert_eq!(waste(&region), Waste::Known(7, Source::PartiallyMapped));
        region.held = Some(0);
        assert_eq!(waste(&region), Waste::Impossible);
    }
}
