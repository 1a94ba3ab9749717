//! How many huge pages the kernel can be asked for, free blocks or not.
//!
//! Where no block is free the kernel gives up page cache and moves pages until there is one, and so
//! it is on most machines: page cache fills their memory within hours. A promotion that asks for it
//! does so before it takes the program's lock (`mm/khugepaged.c`, `collapse_huge_page`), and in
//! hugewise's own time, of which it has a budget. What is given up is a block's worth for each huge
//! page, and the base pages that it replaces are free afterwards.

use crate::config::{Config, MakeBlocks};
use crate::snapshot::MachineSample;
use hugewise_base::units::{Bytes, Geometry};
use serde::{Deserialize, Serialize};

/// What decides it, of the machine or of one NUMA node. `None`: unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total: Option<Bytes>,
    /// What is free, or page cache that can be given up (`MemAvailable`).
    pub available: Option<Bytes>,
    /// Free blocks, counted in huge pages.
    pub free_huge: Option<u64>,
    /// Whether khugepaged may reclaim and compact for a huge page (`khugepaged/defrag`).
    pub khugepaged_defrag: Option<bool>,
}

impl From<&MachineSample> for Memory {
    fn from(machine: &MachineSample) -> Self {
        Self {
            total: machine.mem_total,
            available: machine.mem_available,
            free_huge: machine.free_huge,
            khugepaged_defrag: machine.khugepaged_defrag,
        }
    }
}

/// Whether blocks are made, and down to where.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Making {
    /// `promote.make_blocks`.
    pub mode: MakeBlocks,
    /// So much memory stays available, percent of all.
    pub least_available_percent: f64,
}

impl Making {
    /// As configured. By default it ends where memory counts as short as soon as programs wait for
    /// it: above that mark page cache is plenty, whatever they wait for.
    pub const fn of(config: &Config) -> Self {
        let marks = &config.watermark;
        let mode = config.promote.make_blocks;
        let least_available_percent = match mode {
            MakeBlocks::Always => marks.mem_available_low_percent,
            MakeBlocks::Auto | MakeBlocks::Never => marks.mem_available_stalled_percent,
        };
        Self { mode, least_available_percent }
    }

    /// Nothing is made.
    pub const NEVER: Self = Self { mode: MakeBlocks::Never, least_available_percent: 100.0 };

    /// Huge pages that can be had: free blocks, or as many as the memory has room for that may be
    /// given up, where those are more. `None`: free blocks are unknown.
    pub fn obtainable(&self, memory: &Memory, geometry: Geometry) -> Option<u64> {
        let free = memory.free_huge?;
        Some(if self.makes(memory) { free.max(self.room(memory, geometry)) } else { free })
    }

    fn makes(&self, memory: &Memory) -> bool {
        match self.mode {
            MakeBlocks::Never => false,
            // What the operator keeps khugepaged from is not done in its place.
            MakeBlocks::Auto => memory.khugepaged_defrag == Some(true),
            MakeBlocks::Always => true,
        }
    }

    fn room(&self, memory: &Memory, geometry: Geometry) -> u64 {
        let (Some(total), Some(available)) = (memory.total, memory.available) else { return 0 };
        let least = total.percent(self.least_available_percent);
        available.saturating_sub(least).0 / geometry.huge.0.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that page cache fills.
    const FULL: Memory = Memory {
        total: Some(Bytes::mib(10_000)),
        available: Some(Bytes::mib(9_000)),
        free_huge: Some(3),
        khugepaged_defrag: Some(true),
    };

    fn obtainable(mode: MakeBlocks, memory: &Memory) -> Option<u64> {
        let mut config = Config::default();
        config.promote.make_blocks = mode;
        Making::of(&config).obtainable(memory, Geometry::X86_64)
    }

    #[test]
    fn page_cache_is_given_up_down_to_a_mark() {
        assert_eq!(obtainable(MakeBlocks::Never, &FULL), Some(3));
        assert_eq!(obtainable(MakeBlocks::Auto, &FULL), Some(3_750), "15 % stay");
        assert_eq!(obtainable(MakeBlocks::Always, &FULL), Some(4_250), "5 % stay");
        assert_eq!(Config::default().promote.make_blocks, MakeBlocks::Auto);
        let little = Memory { available: Some(Bytes::mib(1_400)), ..FULL };
        assert_eq!(obtainable(MakeBlocks::Auto, &little), Some(3));
        let free = Memory { free_huge: Some(4_000), ..FULL };
        assert_eq!(obtainable(MakeBlocks::Auto, &free), Some(4_000));
    }

    #[test]
    fn what_khugepaged_may_not_do_is_not_done_in_its_place() {
        for defrag in [Some(false), None] {
            let memory = Memory { khugepaged_defrag: defrag, ..FULL };
            assert_eq!(obtainable(MakeBlocks::Auto, &memory), Some(3), "{defrag:?}");
            assert_eq!(obtainable(MakeBlocks::Always, &memory), Some(4_250));
        }
        for unknown in [Memory { total: None, ..FULL }, Memory { available: None, ..FULL }] {
            assert_eq!(obtainable(MakeBlocks::Auto, &unknown), Some(3));
        }
        let unseen = Memory { free_huge: None, ..FULL };
        assert_eq!(obtainable(MakeBlocks::Auto, &unseen), None);
    }
}
