//! On which NUMA node a region's huge page would be made.

use super::config::ActuatorConfig;
use crate::machine;
use crate::room;
use crate::root::Root;
use crate::target::Target;
use hugewise_base::units::{Addr, Geometry};
use hugewise_manager::decision::Motive;
use hugewise_manager::gate::NodeFacts;
use hugewise_manager::nodes::{Placement, placement};
use hugewise_manager::reason::SkipReason;
use hugewise_sys::numa;

/// Pages of a region that are looked at: so many tell a tenth of strays from none.
const PAGES: u32 = 64;

/// The nodes of this machine.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Whether more than one has memory; where only one has, no page is asked about.
    several: bool,
    config: ActuatorConfig,
}

impl Nodes {
    /// Those of the machine below `root`.
    pub(super) fn new(root: &Root, config: ActuatorConfig) -> Self {
        let nodes = machine::nodes_with_memory(root);
        Self { several: nodes.is_some_and(|nodes| nodes.len() > 1), config }
    }

    /// Facts of a promotion of a region that lies there. A block may be left partly empty only
    /// where many are left: the bloat budget knows the machine's FMFI only, in which one whole node
    /// hides the pieces of another.
    pub(super) fn facts(
        &self,
        root: &Root,
        place: Placement,
        motive: Motive,
        geometry: Geometry,
    ) -> NodeFacts {
        let mixed = matches!(place, Placement::Mixed(_)) && !self.config.mixed_nodes;
        let Some(node) = place.node() else { return NodeFacts { mixed, ..NodeFacts::default() } };
        let free = machine::free_of(root, geometry, Some(node));
        let in_pieces = free.fmfi.is_none_or(|fmfi| fmfi >= self.config.fmfi_high);
        let wastes_scarce = motive == Motive::BloatBudget && in_pieces;
        let making = self.config.making;
        let free_huge = room::obtainable(root, geometry, making, Some(node), free.huge);
        NodeFacts { mixed, free_huge, wastes_scarce }
    }

    /// Where a region of base pages lies; unknown where it does not matter.
    ///
    /// # Errors
    /// The process ended.
    pub(super) fn of(
        &self,
        target: &Target,
        region: Addr,
        geometry: Geometry,
    ) -> Result<Placement, SkipReason> {
        if !self.several {
            return Ok(Placement::Unknown);
        }
        let found = numa::nodes_of(target.id.pid, &sample(region, geometry)).unwrap_or_default();
        // Asked by pid: it counts only where that was this process until now.
        if target.has_exited() {
            return Err(SkipReason::Gone);
        }
        Ok(placement(&found))
    }
}

/// Pages of a region, one from each of as many equal parts, not always the same page of its part:
/// a policy that interleaves puts every second (third, fourth..) page on the same node, and evenly
/// spaced ones would all be those.
fn sample(region: Addr, geometry: Geometry) -> Vec<u64> {
    let parts = geometry.pages_per_huge().min(PAGES);
    let part = geometry.pages_per_huge() / parts;
    // Multiples of the golden ratio's fraction lie evenly between 0 and 1, in no short cycle.
    let within = |i: u32| i * 40_503 % 65_536 * part / 65_536;
    let page = |i: u32| u64::from(i * part + within(i));
    (0..parts).map(|i| region.0 + page(i) * geometry.base.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::units::Bytes;
    use hugewise_manager::gate::{self, Asked};

    #[test]
    fn each_node_is_asked_for_its_own_blocks() {
        let scratch = hugewise_scratch::Scratch::new();
        // FMFI 0.83 on node 0, 0 on node 1, and all of node 2 in pieces; 0.45 of all.
        let zones = "Node 0, zone Normal 0 0 0 0 0 0 0 0 10 1 0\n\
                     Node 1, zone Normal 0 0 0 0 0 0 0 0 0 3 5\n\
                     Node 2, zone Normal 0 0 0 0 0 0 0 0 10 0 0\n";
        std::fs::create_dir(scratch.path().join("proc")).expect("a new directory");
        std::fs::write(scratch.path().join("proc/buddyinfo"), zones).expect("written");
        let root = Root::at(scratch.path());
        let config = ActuatorConfig { fmfi_high: 0.5, ..ActuatorConfig::default() };
        let nodes = Nodes::new(&root, config);
        let asked = |node, motive| {
            let facts = nodes.facts(&root, Placement::On(node), motive, Geometry::X86_64);
            gate::node(&facts, Asked::Binding)
        };
        assert_eq!(asked(0, Motive::Utilization), None);
        assert_eq!(asked(0, Motive::BloatBudget), Some(SkipReason::NodeInPieces));
        assert_eq!(asked(1, Motive::BloatBudget), None);
        assert_eq!(asked(2, Motive::Utilization), Some(SkipReason::NoFreeHugePageOnNode));
    }

    #[test]
    fn no_node_hides_from_the_sample() {
        for nodes in [2, 3, 4, 5, 8] {
            let region = Addr(7 << 21);
            let pages = sample(region, Geometry::X86_64);
            let mut counts = vec![0; nodes];
            for page in &pages {
                counts[((page - region.0) >> 12) as usize % nodes] += 1;
            }
            let fair = pages.len() / nodes;
            assert!(counts.iter().all(|count| *count >= fair / 2), "{nodes}: {counts:?}");
        }
    }

    #[test]
    fn the_sample_lies_all_over_the_region() {
        let few = Geometry { base: Bytes::kib(64), huge: Bytes::mib(2) };
        let many = Geometry { base: Bytes::kib(64), huge: Bytes::mib(512) };
        for (geometry, count) in [(Geometry::X86_64, 64), (few, 32), (many, 64)] {
            let pages = sample(Addr(0), geometry);
            let part = geometry.huge.0 / count;
            let parts: Vec<u64> = pages.iter().map(|page| page / part).collect();
            assert_eq!(parts, (0..count).collect::<Vec<u64>>());
            assert!(pages.iter().all(|page| page % geometry.base.0 == 0));
        }
    }
}
