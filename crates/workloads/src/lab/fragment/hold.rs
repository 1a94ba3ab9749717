//! What a fragmenter holds, page by page.

use crate::lab::kit::{MIB, PAGE, mix};
use std::fmt;

/// What is taken between two looks at the machine. Not much: what is left in the end is whole.
pub(super) const CHUNK: usize = 4 * MIB;
/// Pages of a chunk.
pub(super) const CHUNK_PAGES: usize = CHUNK / PAGE;
/// Shares of pages are out of this.
pub(super) const WHOLE: u64 = 1_000_000;

/// Memory that is held, as pages with numbers from 0 on.
pub(crate) trait Hold: fmt::Debug {
    /// Takes one chunk more. Returns whether there was one.
    fn grow(&mut self) -> anyhow::Result<bool>;

    /// Pages taken, also those that were given back since.
    fn pages(&self) -> usize;

    /// Gives back all pages that `keep` does not name.
    fn thin(&mut self, keep: Keep) -> anyhow::Result<()>;

    /// Has the kernel hold these pages where they are.
    fn pin(&mut self, pages: &[usize]) -> anyhow::Result<()>;

    /// Whether a kept page holds what was written.
    fn is_right(&mut self, page: usize) -> anyhow::Result<bool>;

    /// Damages a kept page.
    fn corrupt(&mut self, page: usize);

    /// Gives everything back.
    fn clear(&mut self) -> anyhow::Result<()>;
}

/// Which pages are kept: a random share; what a smaller share keeps, a larger one does, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keep {
    pub(super) seed: u64,
    pub(super) share: u64,
}

impl Keep {
    /// Whether this page is kept.
    pub(super) fn has(self, page: usize) -> bool {
        mix(page as u64 ^ self.seed) % WHOLE < self.share
    }

    /// Runs of pages among the first `pages` that are not kept: first page, and end.
    pub(super) fn gaps(self, pages: usize) -> Vec<(usize, usize)> {
        let (mut gaps, mut begin) = (Vec::new(), 0);
        for page in 0..=pages {
            if page == pages || self.has(page) {
                if begin < page {
                    gaps.push((begin, page));
                }
                begin = page + 1;
            }
        }
        gaps
    }
}
