//! Whether compaction would help: regions wait for free blocks, and for nothing else.

use crate::manager::reason::SkipReason;
use crate::manager::snapshot::{MachineSample, NodeFree};

/// Compaction that would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The node with most free memory in small pieces, of which most blocks can be made; `None`:
    /// not known of any.
    pub node: Option<NodeFree>,
    /// Regions that wait for a block.
    pub blocks: u64,
}

/// Whether this, which bars all promotions, says no more than that there are no free blocks.
#[must_use]
pub fn lacks_blocks(barred: Option<SkipReason>) -> bool {
    matches!(barred, Some(SkipReason::NoFreeHugePage | SkipReason::AllocationBackoff))
}

/// What would help so many regions that lack nothing but a free block; `None`: there are none.
#[must_use]
pub fn wanted(starved: u64, machine: Option<&MachineSample>) -> Option<Wanted> {
    let nodes = machine.map_or(&[][..], |machine| &machine.nodes);
    let node = nodes.iter().max_by_key(|node| node.pieces).copied();
    (starved > 0).then_some(Wanted { node, blocks: starved })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Bytes;

    #[test]
    fn blocks_are_made_where_most_pieces_are() {
        let node = |node, mib| NodeFree { node, free_huge: 0, pieces: Bytes::mib(mib) };
        let nodes = vec![node(0, 10), node(1, 30), node(2, 20)];
        let machine = MachineSample { nodes, ..MachineSample::example() };
        assert_eq!(wanted(0, Some(&machine)), None);
        let expected = Wanted { node: Some(node(1, 30)), blocks: 7 };
        assert_eq!(wanted(7, Some(&machine)), Some(expected));
        assert_eq!(wanted(7, None), Some(Wanted { node: None, blocks: 7 }));
        assert!(lacks_blocks(Some(SkipReason::AllocationBackoff)));
        assert!(!lacks_blocks(Some(SkipReason::LowMemory)) && !lacks_blocks(None));
    }
}
