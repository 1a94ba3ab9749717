//! `/proc/buddyinfo`: free blocks of memory by size, and how fragmented they are.

use serde::{Deserialize, Serialize};

use super::zones::{OfZone, substantial};
use super::{ParseError, Parsed, decimal, numbered_lines};

/// Orders read at most. Kernels have 11; 32 keeps every sum below far inside 128 bits.
pub const ORDERS_MAX: usize = 32;

/// Free blocks of one zone of one NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneFree {
    /// NUMA node.
    pub node: u32,
    /// Zone name, such as `Normal`.
    pub zone: String,
    /// Number of free blocks by order: `free_blocks[n]` counts blocks of 2 to the power n pages.
    pub free_blocks: Vec<u64>,
}

impl OfZone for ZoneFree {
    fn node(&self) -> u32 {
        self.node
    }

    fn pages(&self) -> u128 {
        free_pages(&self.free_blocks, 0).0
    }
}

/// Reads the file.
pub fn parse(text: &str) -> Parsed<Vec<ZoneFree>> {
    let mut parsed = Parsed::<Vec<ZoneFree>>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        match zone_line(line) {
            Some(zone) => parsed.keep(zone, "buddyinfo", number, line),
            None => {
                let wanted = "'Node N, zone NAME' and block counts";
                parsed.note(ParseError::new("buddyinfo", number, line, wanted));
            }
        }
    }
    parsed
}

fn zone_line(line: &str) -> Option<ZoneFree> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(',')?;
    let mut words = rest.split_ascii_whitespace();
    if words.next()? != "zone" {
        return None;
    }
    let zone = words.next()?.to_owned();
    let free_blocks: Vec<u64> = words.map(decimal).collect::<Option<_>>()?;
    let usual = !free_blocks.is_empty() && free_blocks.len() <= ORDERS_MAX;
    usual.then_some(ZoneFree { node: decimal(node.trim())?, zone, free_blocks })
}

/// Free pages in all blocks, and in the blocks of at least `order`.
fn free_pages(blocks: &[u64], order: usize) -> (u128, u128) {
    let mut sums = (0_u128, 0_u128);
    for (block_order, count) in blocks.iter().take(ORDERS_MAX).enumerate() {
        let pages = u128::from(*count) << block_order;
        sums.0 += pages;
        if block_order >= order {
            sums.1 += pages;
        }
    }
    sums
}

fn index(free: u128, suitable: u128) -> Option<f64> {
    (free > 0).then(|| (free - suitable) as f64 / free as f64)
}

/// Unusable free space index of one zone at `order`: the share of free memory that is in blocks
/// too small, 0 (none) to 1 (all). `None` when nothing is free.
///
/// This is `unusable_free_index` of `mm/vmstat.c`, not the kernel's `fragmentation_index`.
pub fn fmfi(zone_blocks: &[u64], order: usize) -> Option<f64> {
    let (free, suitable) = free_pages(zone_blocks, order);
    index(free, suitable)
}

/// [`fmfi`] over all [`substantial`] zones together.
pub fn fmfi_total(zones: &[ZoneFree], order: usize) -> Option<f64> {
    let (mut free, mut suitable) = (0_u128, 0_u128);
    for zone in substantial(zones) {
        let sums = free_pages(&zone.free_blocks, order);
        free = free.saturating_add(sums.0);
        suitable = suitable.saturating_add(sums.1);
    }
    index(free, suitable)
}

/// How many blocks of exactly `order` could be cut from the free blocks without compaction: a free
/// block one order larger counts as two. Of all [`substantial`] zones.
pub fn free_blocks_at_or_above(zones: &[ZoneFree], order: usize) -> u64 {
    if order >= ORDERS_MAX {
        return 0;
    }
    let pages = substantial(zones)
        .map(|zone| free_pages(&zone.free_blocks, order).1)
        .fold(0_u128, u128::saturating_add);
    u64::try_from(pages >> order).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3 
Node 0, zone    DMA32      2      2      4      2      5      4      3      3      4      2    752 
Node 0, zone   Normal    835    603    663    486    266    106     57     41     80     65    182 
";

    #[test]
    fn reads_zones() {
        let parsed = parse(TEXT);
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.value.len(), 3);
        assert_eq!(parsed.value[2].zone, "Normal");
        assert_eq!(parsed.value[2].free_blocks.len(), 11);
        assert_eq!(parsed.value[2].free_blocks[0], 835);
    }

    #[test]
    fn counts_blocks_in_units_of_the_order() {
        let zones = parse(TEXT).value;
        assert_eq!(free_blocks_at_or_above(&zones, 9), 2 + 2 * 752 + 65 + 2 * 182);
        assert_eq!(free_blocks_at_or_above(&zones, 10), 752 + 182);
        assert_eq!(free_blocks_at_or_above(&zones, 11), 0);
        assert_eq!(free_blocks_at_or_above(&zones, usize::MAX), 0);
    }

    #[test]
    fn index_is_zero_for_whole_and_one_for_broken_memory() {
        assert_eq!(fmfi(&[0, 0, 3], 2), Some(0.0));
        assert_eq!(fmfi(&[8, 0, 0], 2), Some(1.0));
        assert_eq!(fmfi(&[4, 0, 1], 2), Some(0.5));
        assert_eq!(fmfi(&[0, 0, 0], 2), None);
        assert_eq!(fmfi(&[], 9), None);
        assert_eq!(fmfi(&[5], 99), Some(1.0));
    }

    #[test]
    fn total_leaves_out_small_zones_below_others() {
        let zone = |zone: &str, free_blocks| ZoneFree { node: 0, zone: zone.into(), free_blocks };
        let zones = [
            zone("DMA", vec![100, 0]),
            zone("DMA32", vec![8000, 0]),
            zone("Normal", vec![0, 4000]),
        ];
        assert_eq!(fmfi_total(&zones, 1), Some(0.5));
        assert_eq!(fmfi_total(&zones[..1], 1), Some(1.0));
    }

    #[test]
    fn extreme_counts_do_not_overflow() {
        let zones =
            vec![ZoneFree { node: 0, zone: "Normal".into(), free_blocks: vec![u64::MAX; 40] }; 100];
        assert!(fmfi_total(&zones, 9).is_some());
        assert_eq!(free_blocks_at_or_above(&zones, 0), u64::MAX);
    }

    #[test]
    fn reports_odd_lines() {
        let parsed = parse("Node 0, zone\nNode x, zone DMA 1\nNode 0, zone DMA 1 two\n");
        assert_eq!((parsed.value.len(), parsed.problems.len()), (0, 3));
    }
}
