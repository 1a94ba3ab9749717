//! Whether compaction would help: regions wait for free blocks, and for nothing else.

use crate::reason::SkipReason;
use crate::snapshot::{MachineSample, NodeFree};

/// Compaction that would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// See [`NodeFree::best`]; `None`: not known of any.
    pub node: Option<NodeFree>,
    /// Regions that wait for a block.
    pub blocks: u64,
}

/// Whether a region lacks no more than a free block: that is what bars all promotions, and nothing
/// bars its own program, or that is what bars its own.
pub fn starves(all: Option<SkipReason>, own: Option<SkipReason>) -> bool {
    match (all, own) {
        (Some(SkipReason::NoFreeHugePage | SkipReason::AllocationBackoff), own) => own.is_none(),
        (None, own) => own == Some(SkipReason::NoFreeHugePageOnNode),
        _ => false,
    }
}

/// What would help so many regions that lack nothing but a free block; `None`: there are none.
pub fn wanted(starved: u64, machine: Option<&MachineSample>) -> Option<Wanted> {
    let nodes = machine.map_or(&[][..], |machine| &machine.nodes);
    (starved > 0).then_some(Wanted { node: NodeFree::best(nodes.iter()), blocks: starved })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::units::Bytes;

    #[test]
    fn blocks_are_made_where_most_pieces_are() {
        let node = |node, mib| NodeFree { node, free_huge: 0, pieces: Bytes::mib(mib) };
        let nodes = vec![node(0, 10), node(1, 30), node(2, 20)];
        let machine = MachineSample { nodes, ..MachineSample::example() };
        assert_eq!(wanted(0, Some(&machine)), None);
        let expected = Wanted { node: Some(node(1, 30)), blocks: 7 };
        assert_eq!(wanted(7, Some(&machine)), Some(expected));
        assert_eq!(wanted(7, None), Some(Wanted { node: None, blocks: 7 }));
        // Where others have blocks left, those who wait do so for a node that has none.
        let nodes = vec![NodeFree { free_huge: 5, ..node(0, 40) }, node(1, 30)];
        let machine = MachineSample { nodes, ..MachineSample::example() };
        assert_eq!(wanted(7, Some(&machine)), Some(expected));
    }

    #[test]
    fn who_lacks_a_block_and_nothing_else_starves() {
        let (full, backoff) = (SkipReason::NoFreeHugePageOnNode, SkipReason::AllocationBackoff);
        assert!(starves(Some(backoff), None) && starves(None, Some(full)));
        assert!(!starves(Some(SkipReason::LowMemory), None) && !starves(None, None));
        assert!(!starves(Some(SkipReason::LowMemory), Some(full)));
        assert!(!starves(Some(backoff), Some(SkipReason::SharedPages)));
    }
}
