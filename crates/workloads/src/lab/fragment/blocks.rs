//! Whole blocks that stayed free between the pieces, taken so that nobody else gets them.

use crate::lab::kit::{HUGE, HUGE_ORDER};
use anyhow::Context;
use hugewise_base::parse::{buddyinfo, vmstat};
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::fs;
use std::path::Path;

/// Huge pages in a row that take none of the free blocks: those that are left are out of reach, as
/// in a zone for old devices.
const IN_VAIN_MAX: u32 = 16;

/// Faults in a row that get no huge page: after failures the kernel leaves out up to 64 tries
/// (`COMPACT_MAX_DEFER_SHIFT`, Linux 6.18 `mm/compaction.c`), so one of them has tried.
const DEFERRED_MAX: u32 = 2 * 64;

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

    /// Takes also blocks that the kernel can still make, by faults that compact memory where
    /// `defrag` lets them, until none gets one; how many blocks are free then.
    pub(super) fn take_all(&mut self, root: &Path) -> anyhow::Result<u64> {
        let mut in_vain = 0;
        while in_vain < DEFERRED_MAX {
            let before = huge_faults(root)?;
            let mut block = Arena::new(HUGE, HUGE).context("cannot map a block")?;
            let _ = block.advise(0..HUGE, LocalAdvice::HugePage);
            block.words_mut()[0] = 1;
            if huge_faults(root)? > before {
                self.0.push(block);
                in_vain = 0;
            } else {
                in_vain += 1;
            }
        }
        free(root)
    }

    /// What they take.
    pub(super) fn bytes(&self) -> u64 {
        (self.0.len() * HUGE) as u64
    }
}

/// Faults of the machine that got a huge page, since it booted.
fn huge_faults(root: &Path) -> anyhow::Result<u64> {
    let path = root.join("proc/vmstat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
    Ok(vmstat::parse(&text).value.get("thp_fault_alloc").unwrap_or_default())
}

/// Free blocks of at least a huge page.
fn free(root: &Path) -> anyhow::Result<u64> {
    let path = root.join("proc/buddyinfo");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
    Ok(buddyinfo::free_blocks_at_or_above(&buddyinfo::parse(&text).value, HUGE_ORDER))
}
