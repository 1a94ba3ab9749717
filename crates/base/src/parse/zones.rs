//! Which zones of memory count where free memory is judged.
//!
//! A name says nothing of a zone's size: `DMA` is the first 16 MiB on x86, and on arm64 up to
//! 4 GiB, which is all of a small virtual machine.

use crate::units::{Bytes, Geometry};
use std::collections::BTreeMap;

/// A lower zone of at most so much is too small to matter: on x86, `DMA` ends there
/// (`MAX_DMA_ADDRESS`). `lowmem_reserve_ratio` holds it back from ordinary allocations besides.
pub const SMALL: Bytes = Bytes::mib(16);

/// The same in pages, for files that count these: small zones are those of x86, where a page has
/// 4 KiB. Where pages are larger, a zone that has no more than that free is next to full.
const SMALL_PAGES: u128 = (SMALL.0 / Geometry::X86_64.base.0) as u128;

/// What a file says of one zone of a NUMA node.
pub trait OfZone {
    /// NUMA node.
    fn node(&self) -> u32;
    /// Pages of the zone that the file counts: all of them, or those that are free.
    fn pages(&self) -> u128;
}

/// The zones that are a substantial part of their node: all but small ones below the node's
/// highest. The kernel lists the zones of a node from the lowest to the highest.
pub fn substantial<Z: OfZone>(zones: &[Z]) -> impl Iterator<Item = &Z> {
    let highest: BTreeMap<u32, usize> =
        zones.iter().enumerate().map(|(at, zone)| (zone.node(), at)).collect();
    zones.iter().enumerate().filter_map(move |(at, zone)| {
        let counts = zone.pages() > SMALL_PAGES || highest.get(&zone.node()) == Some(&at);
        counts.then_some(zone)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{buddyinfo, pagetypeinfo};

    fn names(buddyinfo: &str) -> Vec<String> {
        let zones = buddyinfo::parse(buddyinfo).value;
        substantial(&zones).map(|zone| format!("{} {}", zone.node, zone.zone)).collect()
    }

    /// Zones as a PC with two nodes has them; the first is never larger than 16 MiB.
    #[test]
    fn the_first_16_mib_of_x86_are_left_out() {
        let text = "Node 0, zone      DMA  0 0 0 0 0 0 0 0 1 1 3\n\
                    Node 0, zone    DMA32  2 2 4 2 5 4 3 3 4 2 752\n\
                    Node 0, zone   Normal  8 6 6 4 2 1 5 4 8 6 0\n\
                    Node 1, zone   Normal  0 0 0 0 0 0 0 0 0 0 3\n";
        assert_eq!(names(text), ["0 DMA32", "0 Normal", "1 Normal"]);
        assert_eq!(buddyinfo::free_blocks_at_or_above(&buddyinfo::parse(text).value, 10), 755);
    }

    /// A virtual machine with 2 GiB: all memory lies below 4 GiB, in one zone.
    #[test]
    fn a_zone_that_is_the_whole_node_counts() {
        let text = "Node 0, zone      DMA  11 9 7 5 4 3 2 1 2 1 463\n";
        assert_eq!(names(text), ["0 DMA"]);
        assert_eq!(buddyinfo::free_blocks_at_or_above(&buddyinfo::parse(text).value, 9), 927);
        // Even where little is left of it: no other zone has more.
        assert_eq!(names("Node 0, zone DMA 5 1\n"), ["0 DMA"]);
        let types = "Number of blocks type Unmovable Movable\nNode 0, zone DMA 100 924\n";
        let zones = pagetypeinfo::parse(types).value;
        let percent = pagetypeinfo::unmovable_percent(&zones, 0);
        assert!(percent.is_some_and(|percent| (percent - 9.765_625).abs() < 1e-9), "{percent:?}");
    }

    /// One with 6 GiB: half of it below 4 GiB.
    #[test]
    fn a_low_zone_that_is_half_the_node_counts() {
        let text = "Node 0, zone      DMA  3 2 1 0 1 1 0 1 1 0 739\n\
                    Node 0, zone   Normal  2 4 3 1 0 2 1 1 0 1 714\n";
        assert_eq!(names(text), ["0 DMA", "0 Normal"]);
        assert_eq!(buddyinfo::free_blocks_at_or_above(&buddyinfo::parse(text).value, 10), 1453);
    }

    /// A highest zone that is full is the one that matters.
    #[test]
    fn a_full_zone_counts_where_it_is_the_highest() {
        let text =
            "Node 0, zone DMA 0 0 0 0 0 0 0 0 1 1 3\nNode 0, zone Normal 900 0 0 0 0 0 0 0 0 0 0\n";
        assert_eq!(names(text), ["0 Normal"]);
        assert_eq!(buddyinfo::fmfi_total(&buddyinfo::parse(text).value, 9), Some(1.0));
    }
}
