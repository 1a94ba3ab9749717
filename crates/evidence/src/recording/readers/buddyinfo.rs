//! Pasted `/proc/buddyinfo`. proc_buddyinfo(5).

use super::prelude::*;
use std::collections::BTreeSet;

use crate::recording::base_page::{ASSUMED, SizeSource, of_orders};
use hugewise_base::parse::buddyinfo::{ZoneFree, fmfi_total, free_blocks_at_or_above, parse};
use hugewise_base::units::Geometry;

/// Most zones of one reading: 1024 NUMA nodes with five each.
const ZONES_MAX: usize = 5120;

fn is_zone(words: &[&str]) -> bool {
    words.first() == Some(&"Node") && words.get(2) == Some(&"zone")
}

/// Begins at a zone.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    zone(&words(lines.ahead(0)))?;
    Some(lines.begin(SourceKind::Buddyinfo, Buddyinfo::default(), out))
}

fn zone(words: &[&str]) -> Option<ZoneFree> {
    if !is_zone(words) {
        return None;
    }
    parse(&words.join(" ")).value.pop()
}

#[derive(Default)]
struct Buddyinfo {
    zones: Vec<ZoneFree>,
    seen: BTreeSet<(u32, String)>,
}

impl Reader for Buddyinfo {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        let Some(zone) = zone(&words) else {
            if is_zone(&words) {
                out.problem("no counts of free blocks in a line of /proc/buddyinfo: left out");
                return Taken::Yes;
            }
            return if words.is_empty() || elided(line) { Taken::Yes } else { Taken::No };
        };
        let key = (zone.node, zone.zone.clone());
        if self.seen.contains(&key) {
            self.end(out);
        }
        if self.zones.len() < ZONES_MAX {
            self.seen.insert(key);
            self.zones.push(zone);
        }
        Taken::Yes
    }

    fn end(&mut self, out: &mut Builder) {
        let zones = std::mem::take(&mut self.zones);
        self.seen.clear();
        let told = zones.first().and_then(|zone| of_orders(zone.free_blocks.len()));
        told.into_iter().for_each(|bytes| out.base_page(SizeSource::Orders, bytes));
        let order = told.map_or(ASSUMED, Geometry::of_base).huge_order();
        let order = usize::try_from(order).unwrap_or(usize::MAX);
        if let Some(index) = fmfi_total(&zones, order) {
            out.put(Field::Fmfi, &Subject::Machine, None, index);
            let blocks = free_blocks_at_or_above(&zones, order);
            out.put(Field::FreeHugeBlocks, &Subject::Machine, None, blocks as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{all_understood, machine, read};
    use super::*;

    #[test]
    fn each_look_gives_an_index() {
        let recording = read(
            "Node 0, zone      DMA      0      0      0      0      0      0      0      0      \
            1      1      3 \n\
             Node 0, zone   Normal      0      0      0      0      0      0      0      0      \
             0      2      1 \n\
             Node 0, zone      DMA      0      0      0      0      0      0      0      0      \
             1      1      3 \n\
             Node 0, zone   Normal      512    0      0      0      0      0      0      0      \
             0      1      0 \n",
        );
        all_understood(&recording);
        assert_eq!(machine(&recording, Field::Fmfi), [0.0, 0.5]);
        assert_eq!(machine(&recording, Field::FreeHugeBlocks), [4.0, 1.0]);
    }

    /// A small arm64 machine: `DMA` is all of its memory.
    #[test]
    fn the_only_zone_counts_whatever_its_name() {
        let recording = read("Node 0, zone      DMA  64  0 0 0 0 0 0 0 0 0 40\n");
        assert_eq!(machine(&recording, Field::FreeHugeBlocks), [80.0]);
        assert_eq!(machine(&recording, Field::Fmfi), [64.0 / (64.0 + 40960.0)]);
    }

    #[test]
    fn a_torn_line_is_told() {
        let recording = read("Node 0, zone Normal 1 2 3\nNode 0, zone DMA32 1 x\n");
        assert_eq!(recording.problems.len(), 1);
    }
}
