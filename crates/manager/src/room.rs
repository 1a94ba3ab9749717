//! How much of a program would be huge that does not run yet: a virtual machine of 4 GiB, say.
//!
//! What counts is what is there when it has touched all of its memory: free blocks, and those that
//! compaction makes of free memory in pieces. Pages of others that can be moved are in nobody's
//! way; those that cannot be moved, and free memory beside them, are. Base pages that faults gave
//! the program first can be moved like all others, so where they came to lie does not matter.

use crate::config::Watermark;
use crate::reason::SkipReason;
use crate::snapshot::NodeFree;
use hugewise_base::units::{Bytes, Geometry};
use serde::Serialize;

/// Of the free memory in pieces that lies in blocks which can be emptied, so much becomes blocks at
/// least, percent, and so much as a rule (`docs/measurements.md#defaults-by-choice`).
const YIELD_LEAST_PERCENT: f64 = 80.0;
/// See [`YIELD_LEAST_PERCENT`].
const YIELD_PERCENT: f64 = 97.0;

/// What is known of a NUMA node, or of all of them together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// The node; `None`: the whole machine.
    pub node: Option<u32>,
    /// All of its memory; `None`: unknown, as below.
    pub total: Option<Bytes>,
    /// What programs can still take: free memory, and page cache that is given up for it.
    pub available: Option<Bytes>,
    /// Free blocks, in huge pages.
    pub free_huge: u64,
    /// Free memory in smaller pieces.
    pub pieces: Bytes,
    /// ... of which in blocks that compaction can empty.
    pub movable: Option<Bytes>,
}

impl Room {
    /// Of a node of which only its free blocks are known.
    pub const fn of(free: &NodeFree) -> Self {
        Self {
            node: Some(free.node),
            total: None,
            available: None,
            free_huge: free.free_huge,
            pieces: free.pieces,
            movable: None,
        }
    }

    /// All free memory.
    fn free(&self, geometry: Geometry) -> Bytes {
        geometry.regions(self.free_huge) + self.pieces
    }

    /// Whether memory is short once a program has taken so much: then nothing is promoted.
    fn is_short_after(&self, size: Bytes, watermark: &Watermark) -> bool {
        let (Some(available), Some(total)) = (self.available, self.total) else { return false };
        available.saturating_sub(size) < total.percent(watermark.mem_available_low_percent)
    }

    /// Blocks that compaction makes: at least, as a rule, and at most.
    fn made(&self, size: Bytes, geometry: Geometry) -> [f64; 3] {
        // What page cache is given up for it becomes free in pieces, where pages can be moved.
        let given_up = size.saturating_sub(self.free(geometry));
        let blocks = |pieces: Bytes, percent: f64| {
            (pieces + given_up).percent(percent).0 as f64 / geometry.huge.0.max(1) as f64
        };
        let shares = [YIELD_LEAST_PERCENT, YIELD_PERCENT, 100.0];
        match self.movable {
            Some(movable) => shares.map(|share| blocks(movable.min(self.pieces), share)),
            // Whether pages beside them can be moved is not known.
            None => [0.0, YIELD_PERCENT, 100.0].map(|share| blocks(self.pieces, share)),
        }
    }
}

/// What is to be expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Forecast {
    /// The node; `None`: the whole machine.
    pub node: Option<u32>,
    /// Share of the memory that free blocks make huge, percent; nothing has to be compacted.
    pub at_once_percent: f64,
    /// ... and that is huge in the end, where blocks are made of free memory in pieces.
    pub percent: f64,
    /// At least.
    pub least_percent: f64,
    /// At most.
    pub most_percent: f64,
    /// Free blocks, in huge pages.
    pub free_huge: u64,
    /// Free memory in smaller pieces.
    #[serde(rename = "pieces_bytes")]
    pub pieces: Bytes,
    /// ... of which in blocks that can be emptied; `None`: unknown.
    #[serde(rename = "movable_bytes")]
    pub movable: Option<Bytes>,
    /// What keeps more from being huge; `None`: all of it will be.
    pub limit: Option<SkipReason>,
}

/// What becomes of a program with so much memory, all of it in use, which `hugewise manage
/// --guarantee` makes huge.
pub fn forecast(size: Bytes, room: &Room, watermark: &Watermark, geometry: Geometry) -> Forecast {
    let wanted = size.0.div_ceil(geometry.huge.0.max(1)).max(1);
    let percent = |blocks: f64| 100.0 * (blocks / wanted as f64).clamp(0.0, 1.0);
    let blocks = room.free_huge as f64;
    let short = room.is_short_after(size, watermark);
    let [least, expected, most] = match short {
        true => [-blocks, -blocks, 0.0],
        false => room.made(size, geometry),
    };
    let expected = percent(blocks + expected);
    let limit = match room.movable {
        _ if short => Some(SkipReason::LowMemory),
        _ if expected >= 100.0 => None,
        Some(movable) if movable < room.pieces => Some(SkipReason::UnmovableMemory),
        _ => Some(SkipReason::NoFreeHugePage),
    };
    Forecast {
        node: room.node,
        at_once_percent: percent(blocks),
        percent: expected,
        least_percent: percent(blocks + least),
        most_percent: percent(blocks + most),
        free_huge: room.free_huge,
        pieces: room.pieces,
        movable: room.movable,
        limit,
    }
}

/// The machine as one: what is known of each of its nodes.
pub fn whole(nodes: &[Room]) -> Room {
    let sum = |of: fn(&Room) -> Option<Bytes>| {
        nodes.iter().map(of).try_fold(Bytes(0), |sum, one| Some(sum + one?))
    };
    Room {
        node: None,
        total: sum(|room| room.total),
        available: sum(|room| room.available),
        free_huge: nodes.iter().map(|room| room.free_huge).sum(),
        pieces: nodes.iter().fold(Bytes(0), |sum, room| sum + room.pieces),
        movable: sum(|room| room.movable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GEOMETRY: Geometry = Geometry::X86_64;
    const GIB: u64 = 1024;

    /// 16 GiB, of which 8 are available: so many blocks, and MiB in pieces.
    fn room(free_huge: u64, pieces: u64, movable: Option<u64>) -> Room {
        Room {
            node: Some(0),
            total: Some(Bytes::mib(16 * GIB)),
            available: Some(Bytes::mib(8 * GIB)),
            free_huge,
            pieces: Bytes::mib(pieces),
            movable: movable.map(Bytes::mib),
        }
    }

    fn of(size_mib: u64, room: &Room) -> Forecast {
        forecast(Bytes::mib(size_mib), room, &Watermark::default(), GEOMETRY)
    }

    #[test]
    fn free_blocks_suffice_or_compaction_makes_more() {
        let all = of(4 * GIB, &room(2048, 2 * GIB, Some(2 * GIB)));
        assert_eq!((all.percent, all.least_percent, all.limit), (100.0, 100.0, None));
        let half = of(4 * GIB, &room(1024, 3 * GIB, Some(GIB)));
        assert_eq!(half.at_once_percent, 50.0);
        let expected = 50.0 + 25.0 * YIELD_PERCENT / 100.0;
        assert!((half.percent - expected).abs() < 0.1, "{half:?}");
        assert_eq!((half.most_percent, half.limit), (75.0, Some(SkipReason::UnmovableMemory)));
        let none = of(4 * GIB, &room(0, 5 * GIB, Some(4 * GIB)));
        assert_eq!(none.at_once_percent, 0.0);
        assert!(none.percent > 90.0, "{none:?}");
    }

    #[test]
    fn what_is_unknown_makes_the_interval_wide() {
        let unknown = of(4 * GIB, &room(1024, 5 * GIB, None));
        assert_eq!((unknown.least_percent, unknown.most_percent), (50.0, 100.0));
        let known = of(4 * GIB, &room(1024, 5 * GIB, Some(5 * GIB)));
        assert!(known.least_percent > 80.0, "{known:?}");
    }

    #[test]
    fn every_limit_has_its_name() {
        let short = of(7 * GIB + 512, &room(4096, 0, Some(0)));
        assert_eq!((short.percent, short.limit), (0.0, Some(SkipReason::LowMemory)));
        assert_eq!(short.most_percent, 100.0);
        let cache = of(4 * GIB, &room(512, 512, Some(512)));
        assert!(cache.percent > 95.0, "what the page cache gives up counts: {cache:?}");
        let pieces = of(5 * GIB, &room(1024, 4 * GIB, Some(3 * GIB)));
        assert_eq!(pieces.limit, Some(SkipReason::UnmovableMemory));
    }

    #[test]
    fn the_machine_is_the_sum_of_its_nodes() {
        let all = whole(&[room(5, 10, Some(7)), room(6, 20, Some(8))]);
        assert_eq!(
            (all.free_huge, all.pieces, all.movable),
            (11, Bytes::mib(30), Some(Bytes::mib(15)))
        );
        assert_eq!((all.node, all.available), (None, Some(Bytes::mib(16 * GIB))));
        assert_eq!(whole(&[room(5, 10, Some(7)), room(6, 20, None)]).movable, None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_what_is_expected_and_more_room_is_never_worse(
            free_huge in 0_u64..5_000,
            pieces in 0_u64..9_000,
            movable in proptest::option::of(0_u64..9_000),
            size in 1_u64..9_000,
            more in 1_u64..2_000,
        ) {
            let room = room(free_huge, pieces, movable);
            let one = of(size, &room);
            prop_assert!(one.least_percent <= one.percent && one.percent <= one.most_percent);
            prop_assert!((0.0..=100.0).contains(&one.most_percent));
            let larger = Room { free_huge: free_huge + more, ..room };
            prop_assert!(of(size, &larger).percent >= one.percent - 1e-9);
        }
    }
}
