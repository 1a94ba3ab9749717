//! How the memory of the program is laid out that `hugewise try` looks at: a dense, a sparse and an
//! idle part. The program itself is the workload `demo` of `hugewise lab workload lab`.

use hugewise_base::units::Bytes;
use serde::{Deserialize, Serialize};

/// The parts of the workload's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts<T> {
    /// Every page in use, read at random and rewritten now and then.
    pub dense: T,
    /// One base page in sixteen in use.
    pub sparse: T,
    /// Every page written once and left alone.
    pub idle: T,
}

impl<T> Parts<T> {
    /// Each part with its name, as reports of the workload and records of its runs spell it.
    pub fn named(self) -> [(&'static str, T); 3] {
        [("dense", self.dense), ("sparse", self.sparse), ("idle", self.idle)]
    }
}

/// One base page in so many is used in the sparse part.
pub const SPARSE_STEP: usize = 16;

/// Reads in a timed batch.
pub const BATCH: usize = 16;

/// Size of the pieces that are mapped, touched and unmapped.
pub const PIECE: usize = 64 << 10;

/// Size of the pieces that are given back: four base pages, as an allocator's small extents.
pub const FREED_PIECE: usize = 16 << 10;

/// How a size is divided: 60 % dense, 20 % sparse, 20 % idle, whole regions, one at least.
pub fn layout(size: Bytes, huge: u64) -> Parts<u64> {
    let regions = size.0 / huge.max(1);
    let fifth = (regions / 5).max(1);
    let dense = regions.saturating_sub(2 * fifth).max(1);
    Parts { dense: dense * huge, sparse: fifth * huge, idle: fifth * huge }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_made_of_whole_regions() {
        let huge = 2 << 20;
        let parts = layout(Bytes::mib(512), huge);
        assert_eq!(parts.dense + parts.sparse + parts.idle, 512 << 20);
        assert!((0.59..0.62).contains(&(parts.dense as f64 / (512 << 20) as f64)));
        let tiny = layout(Bytes::mib(2), huge);
        assert_eq!((tiny.dense, tiny.sparse, tiny.idle), (huge, huge, huge));
    }
}
