//! How much waste is known, and from which source.
//!
//! Waste is physical memory that huge pages hold and nobody uses (`docs/glossary.md#memory`). Three
//! sources tell of it, none of them by guessing:
//!
//! * **partially mapped**: the program dropped pages of a huge page, and the block is still held
//!   for the rest. Page frames show it; where they are hidden, what was seen before does.
//! * **remembered**: how many pages were populated just before the region became huge. Exact when
//!   hugewise made it, as of the last scan when somebody else did; an upper bound ever since, for
//!   the program may have filled it.
//! * **sampled**: pages of zeros among 32 of 512, where the configuration allows reading. In a
//!   region that is not huge these are pages of larger folios that nobody wrote.
//!
//! For all other huge regions waste is unknown, and counted as such.

use super::region::Region;
use super::target::Target;
use hugewise_base::units::{Bytes, Geometry};
use serde::{Deserialize, Serialize};

/// Where knowledge of waste comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WasteSource {
    /// A block of which some pages are not mapped any more.
    PartiallyMapped,
    /// The populated count before it became huge.
    Remembered,
    /// Zero pages in a sample of its contents.
    Sampled,
    /// Pages that its program dropped, of larger folios that may still be held.
    Dropped,
}

/// What is known about the waste in one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waste {
    /// No huge page, no block, and no page of a larger folio: nothing can be wasted.
    Impossible,
    /// So many base pages.
    Known(u16, WasteSource),
    /// Huge, and nothing says how much of it is used.
    Unknown,
}

impl Region {
    /// What is known about the waste in it.
    pub fn waste(&self, geometry: Geometry) -> Waste {
        let whole = u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX);
        if self.shared_memory {
            // It had all of its pages before, and others may use what this process does not.
            return Waste::Impossible;
        }
        if !self.huge {
            return match (self.held_pages(geometry), self.zeros) {
                (Some(held @ 1..), _) => Waste::Known(held, WasteSource::PartiallyMapped),
                (_, Some(zeros @ 1..)) => {
                    Waste::Known(zeros.min(self.populated), WasteSource::Sampled)
                }
                _ => Waste::Impossible,
            };
        }
        match (self.zeros, self.before) {
            (Some(zeros), _) => Waste::Known(zeros.min(whole), WasteSource::Sampled),
            (None, Some(before)) => {
                Waste::Known(whole.saturating_sub(before.populated), WasteSource::Remembered)
            }
            (None, None) => Waste::Unknown,
        }
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
    pub fn known(&self) -> Bytes {
        self.partially_mapped + self.in_huge()
    }

    /// Waste known in regions that are still huge.
    pub fn in_huge(&self) -> Bytes {
        self.remembered + self.sampled
    }

    /// Whether nothing is in it, not even something unknown.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn count(&mut self, region: &Region, geometry: Geometry) {
        match region.waste(geometry) {
            Waste::Impossible => {}
            Waste::Unknown => self.unknown += geometry.huge,
            Waste::Known(pages, source) => {
                let sum = match source {
                    WasteSource::PartiallyMapped | WasteSource::Dropped => {
                        &mut self.partially_mapped
                    }
                    WasteSource::Remembered => &mut self.remembered,
                    WasteSource::Sampled => &mut self.sampled,
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

impl Target {
    /// Its waste.
    pub fn bloat(&self, geometry: Geometry) -> Account {
        let mut account = Account::default();
        for region in self.regions.values() {
            account.count(&region, geometry);
        }
        account
    }
}

#[cfg(test)]
mod tests {
    use super::super::region::{Before, Maker};
    use super::*;
    use hugewise_base::units::Ns;

    #[test]
    fn a_sample_knows_better_than_memory_and_nothing_is_unknown() {
        let waste = |region: &Region| region.waste(Geometry::X86_64);
        let mut region = Region { huge: true, populated: 512, ..Region::default() };
        assert_eq!(waste(&region), Waste::Unknown);
        region.before = Some(Before { populated: 200, by: Maker::Somebody });
        assert_eq!(waste(&region), Waste::Known(312, WasteSource::Remembered));
        region.zeros = Some(16);
        assert_eq!(waste(&region), Waste::Known(16, WasteSource::Sampled));
    }

    #[test]
    fn what_is_missing_from_a_partially_mapped_huge_page_is_held_unless_frames_say_otherwise() {
        let waste = |region: &Region| region.waste(Geometry::X86_64);
        let mut region = Region { populated: 100, zero_page: 12, ..Region::default() };
        assert_eq!(waste(&region), Waste::Impossible);
        region.partially_mapped_since = Some(Ns(1));
        assert_eq!(waste(&region), Waste::Known(400, WasteSource::PartiallyMapped));
        region.held = Some(7);
        assert_eq!(waste(&region), Waste::Known(7, WasteSource::PartiallyMapped));
        region.held = Some(0);
        assert_eq!(waste(&region), Waste::Impossible);
    }
}
