//! Whole blocks that stayed free between the pieces, taken so that nobody else gets them.

use crate::lab::kit::{HUGE, HUGE_ORDER};
use anyhow::Context;
use hugewise_base::parse::buddyinfo;
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::fs;
use std::path::Path;

/// Huge pages in a row that take none of the free blocks: those that are left are out of reach, as
/// in a zone for old devices.
const IN_VAIN_MAX: u32 = 16;

/// Blocks that are held, each by a huge page.
#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<Arena>);

impl Blocks {
    /// Takes free blocks until no more than `most` are left; how many are.
    pub(super) fn take(&mut self, root: &Path, most: u64) -> anyhow::Result<u64> {
        let (mut left, mut in_vain) = (free(root)?, 0);
        while left > most && in_vain < IN_VAIN_MAX {
            let mut block = Arena::new(HUGE, HUGE).context("cannot map a block")?;
            // A kernel without huge pages refuses; then nothing is taken.
            let _ = block.advise(0..HUGE, LocalAdvice::HugePage);
            block.words_mut()[0] = 1;
            self.0.push(block);
            let now = free(root)?;
            in_vain = if now < left { 0 } else { in_vain + 1 };
            left = now;
        }
        Ok(left)
    }

    /// What they take.
    pub(super) fn bytes(&self) -> u64 {
        (self.0.len() * HUGE) as u64
    }
}

/// Free blocks of at least a huge page.
fn free(root: &Path) -> anyhow::Result<u64> {
    let path = root.join("proc/buddyinfo");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
    Ok(buddyinfo::free_blocks_at_or_above(&buddyinfo::parse(&text).value, HUGE_ORDER))
}
