//! `/proc/pagetypeinfo`: how many blocks of memory hold what the kernel can move, and how much of
//! these is free.

use super::buddyinfo::{ORDERS_MAX, ZoneFree};
use super::zones::{OfZone, substantial};
use super::{ParseError, Parsed, decimal, numbered_lines};
use crate::units::Geometry;

/// The line from which on blocks are counted; before it come free pages by size.
const HEADING: &str = "Number of blocks type";
/// Kinds whose pages stay where they are: most of the kernel's own memory.
const UNMOVABLE: [&str; 2] = ["Unmovable", "Reclaimable"];
/// Kinds that compaction can empty, and fills: `suitable_migration_target` of `mm/compaction.c`.
const MOVABLE: [&str; 2] = ["Movable", "CMA"];
/// What stands before a count that the kernel gave up counting (from Linux 5.5 on).
const OVER: char = '>';
/// Kinds that are read at most. Kernels have up to six.
const KINDS_MAX: usize = 32;
/// The line that says how many pages a block has.
const PAGES_PER_BLOCK: &str = "Pages per block:";

/// Blocks of huge-page size of one zone of one NUMA node, by what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneBlocks {
    /// NUMA node.
    pub node: u32,
    /// Zone name, such as `Normal`.
    pub zone: String,
    /// All of them.
    pub all: u64,
    /// Those whose pages cannot be moved.
    pub unmovable: u64,
    /// Pages of each.
    pub pages_per_block: u64,
}

impl OfZone for ZoneBlocks {
    fn node(&self) -> u32 {
        self.node
    }

    fn pages(&self) -> u128 {
        u128::from(self.all) * u128::from(self.pages_per_block)
    }
}

/// Reads the counts of blocks.
pub fn parse(text: &str) -> Parsed<Vec<ZoneBlocks>> {
    let mut parsed = Parsed::<Vec<ZoneBlocks>>::empty();
    let mut kinds: Option<Vec<&str>> = None;
    let mut pages_per_block = u64::from(Geometry::X86_64.pages_per_huge());
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        if let Some(names) = line.strip_prefix(HEADING) {
            kinds = Some(names.split_ascii_whitespace().take(KINDS_MAX).collect());
        } else if let Some(pages) = line.strip_prefix(PAGES_PER_BLOCK) {
            pages_per_block = decimal(pages.trim()).unwrap_or(pages_per_block);
        } else if let Some(kinds) = &kinds {
            match zone_line(line, kinds, pages_per_block) {
                Some(zone) => parsed.keep(zone, "pagetypeinfo", number, line),
                None => {
                    let wanted = "'Node N, zone NAME' and a count for each kind";
                    parsed.note(ParseError::new("pagetypeinfo", number, line, wanted));
                }
            }
        }
    }
    parsed
}

/// Reads which free memory lies in blocks that can be emptied. The kernel stops counting at 100,000
/// pieces of one size: of those there are at least so many.
pub fn movable_free(text: &str) -> Parsed<Vec<ZoneFree>> {
    let mut parsed = Parsed::<Vec<ZoneFree>>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        if line.starts_with(HEADING) {
            break;
        }
        let Some((zone, rest)) = line.split_once(", type") else { continue };
        let Some(free) = free_line(zone, rest) else {
            let wanted = "'Node N, zone NAME, type KIND' and counts of free pieces";
            parsed.note(ParseError::new("pagetypeinfo", number, line, wanted));
            continue;
        };
        let (kind, free) = free;
        if !MOVABLE.contains(&kind) {
            continue;
        }
        let is_same = |known: &&mut ZoneFree| known.node == free.node && known.zone == free.zone;
        match parsed.value.iter_mut().find(is_same) {
            None => parsed.keep(free, "pagetypeinfo", number, line),
            Some(known) => add(&mut known.free_blocks, &free.free_blocks),
        }
    }
    parsed
}

fn add(all: &mut Vec<u64>, more: &[u64]) {
    all.resize(all.len().max(more.len()), 0);
    for (all, more) in all.iter_mut().zip(more) {
        *all = all.saturating_add(*more);
    }
}

fn free_line<'a>(zone: &str, rest: &'a str) -> Option<(&'a str, ZoneFree)> {
    let (node, zone) = zone.strip_prefix("Node ")?.split_once(", zone")?;
    let mut words = rest.split_ascii_whitespace();
    let kind = words.next()?;
    let counts = words.map(|word| decimal(word.trim_start_matches(OVER)));
    let free_blocks: Vec<u64> = counts.collect::<Option<_>>()?;
    let usual = !free_blocks.is_empty() && free_blocks.len() <= ORDERS_MAX;
    let node = decimal(node.trim())?;
    usual.then(|| (kind, ZoneFree { node, zone: zone.trim().to_owned(), free_blocks }))
}

fn zone_line(line: &str, kinds: &[&str], pages_per_block: u64) -> Option<ZoneBlocks> {
    let (node, rest) = line.strip_prefix("Node ")?.split_once(',')?;
    let mut words = rest.split_ascii_whitespace();
    if words.next()? != "zone" {
        return None;
    }
    let zone = words.next()?.to_owned();
    let counts: Vec<u64> = words.map(decimal).collect::<Option<_>>()?;
    if counts.len() != kinds.len() {
        return None;
    }
    let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    let all = sum(&mut counts.iter().copied());
    let fixed = kinds.iter().zip(&counts).filter(|(kind, _)| UNMOVABLE.contains(kind));
    let unmovable = sum(&mut fixed.map(|(_, count)| *count));
    Some(ZoneBlocks { node: decimal(node.trim())?, zone, all, unmovable, pages_per_block })
}

/// Share of a node's blocks whose pages cannot be moved, percent, over its [`substantial`] zones.
/// `None` where none of its blocks were counted.
pub fn unmovable_percent(zones: &[ZoneBlocks], node: u32) -> Option<f64> {
    let of_node = substantial(zones).filter(|zone| zone.node == node);
    let (all, unmovable) = of_node.fold((0_u64, 0_u64), |(all, unmovable), zone| {
        (all.saturating_add(zone.all), unmovable.saturating_add(zone.unmovable))
    });
    (all > 0).then(|| 100.0 * unmovable as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Page block order: 9
Pages per block:  512

Free pages count per migrate type at order       0      1      2 
Node    0, zone      DMA, type    Unmovable      0      0      0 

Number of blocks type     Unmovable      Movable  Reclaimable   HighAtomic      Isolate 
Node 0, zone      DMA            1            7            0            0            0 
Node 0, zone    DMA32            3         1525            0            0            0 
Node 0, zone   Normal          425        10060          267            0            0 
Node 1, zone   Normal           60           20           20            0            0 
";

    #[test]
    fn counts_blocks_that_cannot_be_moved() {
        let parsed = parse(TEXT);
        assert_eq!(parsed.problems, []);
        let zones = parsed.value;
        assert_eq!((zones.len(), zones[2].all, zones[2].unmovable), (4, 10_752, 692));
        let of_node_0 = unmovable_percent(&zones, 0).expect("counted");
        assert!((of_node_0 - 100.0 * 695.0 / 12_280.0).abs() < 1e-9, "{of_node_0}");
        assert_eq!(unmovable_percent(&zones, 1), Some(80.0));
    }

    #[test]
    fn counts_what_is_free_where_pages_can_be_moved() {
        let text = "Free pages count per migrate type at order 0 1 2\n\
            Node    0, zone   Normal, type    Unmovable   68   11    3\n\
            Node    0, zone   Normal, type      Movable  >100000 7 2\n\
            Node    0, zone   Normal, type          CMA   1    0    1\n\
            Node    1, zone   Normal, type      Movable   x 7 2\n\
            \nNumber of blocks type Unmovable Movable\nNode 0, zone Normal, type 1 2\n";
        let parsed = movable_free(text);
        assert_eq!(parsed.problems.len(), 1);
        assert_eq!(parsed.value.len(), 1);
        let ZoneFree { node, zone, free_blocks } = &parsed.value[0];
        assert_eq!((*node, zone.as_str(), &free_blocks[..]), (0, "Normal", &[100_001, 7, 3][..]));
        assert_eq!(movable_free(TEXT).value, []);
    }

    #[test]
    fn what_was_not_counted_is_unknown() {
        assert_eq!(unmovable_percent(&parse(TEXT).value, 2), None);
        assert_eq!(unmovable_percent(&parse("").value, 0), None);
        let torn = "Number of blocks type Unmovable Movable\nNode 0, zone Normal 7\n";
        let parsed = parse(torn);
        assert_eq!((parsed.value.len(), parsed.problems.len()), (0, 1));
    }

    #[test]
    fn extreme_counts_do_not_overflow() {
        let row = format!("Node 0, zone Normal {0} {0}\n", u64::MAX);
        let zones = parse(&format!("{HEADING} Unmovable Movable\n{row}{row}")).value;
        assert_eq!(zones.len(), 2);
        assert!(unmovable_percent(&zones, 0).is_some());
    }
}
