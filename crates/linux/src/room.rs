//! What is known of the memory that a program could have which does not run yet.

use crate::machine;
use crate::root::Root;
use hugewise_base::parse::buddyinfo::ZoneFree;
use hugewise_base::parse::meminfo::{self, MemInfo};
use hugewise_base::parse::pagetypeinfo;
use hugewise_base::units::{Bytes, Geometry};
use hugewise_manager::config::MakeBlocks;
use hugewise_manager::limits::making::{Making, Memory};
use hugewise_manager::room::Room;
use std::collections::BTreeMap;

/// Each NUMA node, and what could not be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rooms {
    /// Ascending.
    pub nodes: Vec<Room>,
    /// Files of which something is missing.
    pub missing: Vec<&'static str>,
}

/// Reads them. `/proc/pagetypeinfo` is root's, and takes milliseconds
/// (`docs/measurements.md#compaction`).
pub fn rooms(root: &Root, geometry: Geometry) -> Rooms {
    let mut missing = Vec::new();
    let mut text = |file: &'static str| {
        let text = root.read_text(file).unwrap_or_default();
        if text.is_empty() {
            missing.push(file);
        }
        text
    };
    let sample = machine::sample(root, geometry);
    let kinds = text("proc/pagetypeinfo");
    let movable = of_nodes(pagetypeinfo::movable_free(&kinds).value);
    let memory = meminfo::parse(&text("proc/meminfo")).value;
    if sample.nodes.is_empty() {
        missing.push("proc/buddyinfo");
    }
    let mut nodes = Vec::new();
    for free in &sample.nodes {
        let zones = movable.get(&free.node);
        let pieces = zones.map(|zones| machine::node_free(zones, free.node, geometry).pieces);
        nodes.push(Room { movable: pieces, ..Room::of(free) });
    }
    if let [only] = &mut nodes[..] {
        only.total = memory.mem_total_bytes.map(Bytes);
        only.available = memory.mem_available_bytes.map(Bytes);
    } else {
        for room in &mut nodes {
            let Some(node) = room.node else { continue };
            (room.total, room.available) = of_several(root, node, &memory);
        }
    }
    Rooms { nodes, missing }
}

/// Huge pages that can be had of one NUMA node, or of all of them, so many of its blocks being
/// free. The rest is only read where none is.
pub(crate) fn obtainable(
    root: &Root,
    geometry: Geometry,
    making: Making,
    node: Option<u32>,
    free_huge: Option<u64>,
) -> Option<u64> {
    if free_huge? > 0 || making.mode == MakeBlocks::Never {
        return free_huge;
    }
    let (total, available) = memory_of(root, node);
    let khugepaged_defrag = machine::khugepaged_defrag(root);
    making.obtainable(&Memory { total, available, free_huge, khugepaged_defrag }, geometry)
}

/// All memory of the machine, or of one of its NUMA nodes, and what of it is available; `None`:
/// unknown.
fn memory_of(root: &Root, node: Option<u32>) -> (Option<Bytes>, Option<Bytes>) {
    let text = root.read_text("proc/meminfo").unwrap_or_default();
    let machine = meminfo::parse(&text).value;
    match node {
        Some(node) => of_several(root, node, &machine),
        None => (machine.mem_total_bytes.map(Bytes), machine.mem_available_bytes.map(Bytes)),
    }
}

/// The memory of one node of several, and what of it is available. The kernel says for the machine
/// only what page cache it would give up: each node has a part of that as large as its part of the
/// memory.
fn of_several(root: &Root, node: u32, machine: &MemInfo) -> (Option<Bytes>, Option<Bytes>) {
    let file = format!("sys/devices/system/node/node{node}/meminfo");
    let text = root.read_text(file).unwrap_or_default();
    let begin = format!("Node {node} ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&begin));
    let own = meminfo::parse(&lines.map(|line| format!("{line}\n")).collect::<String>()).value;
    let mut available = None;
    let all = (machine.mem_total_bytes, machine.mem_free_bytes, machine.mem_available_bytes);
    if let (Some(total), Some(free)) = (own.mem_total_bytes, own.mem_free_bytes)
        && let (Some(of_all), Some(all_free), Some(all_available)) = all
    {
        let part = 100.0 * total as f64 / of_all.max(1) as f64;
        let cache = Bytes(all_available.saturating_sub(all_free));
        available = Some(Bytes(free) + cache.percent(part));
    }
    (own.mem_total_bytes.map(Bytes), available)
}

fn of_nodes(zones: Vec<ZoneFree>) -> BTreeMap<u32, Vec<ZoneFree>> {
    let mut nodes = BTreeMap::<u32, Vec<ZoneFree>>::new();
    for zone in zones {
        nodes.entry(zone.node).or_default().push(zone);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_scratch::Scratch;
    use std::fs;

    const MIB: u64 = 1 << 20;
    /// Node 0: 20 blocks, 12 MiB in pieces of which 8 MiB can be moved; node 1: 4 blocks.
    const BUDDYINFO: &str = "Node 0, zone Normal 1024 0 0 0 0 0 0 0 8 0 10\n\
                             Node 1, zone Normal 0 0 0 0 0 0 0 0 0 4 0\n";
    const TYPES: &str = "Free pages count per migrate type at order 0 1 2\n\
        Node 0, zone Normal, type Unmovable 1024 0 0 0 0 0 0 0 0 0 0\n\
        Node 0, zone Normal, type Movable 0 0 0 0 0 0 0 0 8 0 10\n\
        Node 1, zone Normal, type Movable 0 0 0 0 0 0 0 0 0 4 0\n\
        Number of blocks type Unmovable Movable\nNode 0, zone Normal 10 90\n";
    const MEMORY: &str = "MemTotal: 102400 kB\nMemFree: 40960 kB\nMemAvailable: 61440 kB\n";

    fn root(files: &[(&str, &str)]) -> (Scratch, Root) {
        let scratch = Scratch::new();
        for (file, text) in files {
            let path = scratch.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let root = Root::at(scratch.path());
        (scratch, root)
    }

    #[test]
    fn nodes_have_their_blocks_pieces_and_parts_of_the_memory() {
        let node = "Node 0 MemTotal: 51200 kB\nNode 0 MemFree: 30720 kB\n";
        let (_scratch, root) = root(&[
            ("proc/buddyinfo", BUDDYINFO),
            ("proc/pagetypeinfo", TYPES),
            ("proc/meminfo", MEMORY),
            ("sys/devices/system/node/node0/meminfo", node),
        ]);
        let rooms = rooms(&root, Geometry::X86_64);
        assert_eq!(rooms.missing, [""; 0]);
        let [zero, one] = &rooms.nodes[..] else { panic!("{rooms:?}") };
        assert_eq!(
            (zero.free_huge, zero.pieces, zero.movable),
            (20, Bytes(12 * MIB), Some(Bytes(8 * MIB)))
        );
        // Half of the 20 MiB of cache that the machine would give up.
        assert_eq!((zero.total, zero.available), (Some(Bytes(50 * MIB)), Some(Bytes(40 * MIB))));
        assert_eq!((one.free_huge, one.movable), (4, Some(Bytes(0))));
        assert_eq!(one.total, None, "it has no file");
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_named() {
        let first = BUDDYINFO.lines().next().expect("node 0");
        let (_scratch, root) = root(&[("proc/buddyinfo", first), ("proc/meminfo", MEMORY)]);
        let rooms = rooms(&root, Geometry::X86_64);
        assert_eq!(rooms.missing, ["proc/pagetypeinfo"]);
        assert_eq!(rooms.nodes[0].movable, None);
        assert_eq!(rooms.nodes[0].available, Some(Bytes(60 * MIB)));
    }
}
