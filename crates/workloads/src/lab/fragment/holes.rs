//! Anonymous memory with holes.

use super::hold::{CHUNK, CHUNK_PAGES, Hold, Keep};
use crate::lab::kit::{HUGE, PAGE, PAGE_WORDS, mix, stamp};
use anyhow::Context;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::pin::Pinned;

/// Mappings of one chunk each, and pages of them that cannot be moved.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    chunks: Vec<Arena>,
    pinned: Vec<Pinned>,
}

impl Chunks {
    /// Pages that cannot be moved.
    #[cfg(test)]
    pub(super) fn pinned_pages(&self) -> usize {
        self.pinned.iter().map(Pinned::pages).sum()
    }

    fn word(&mut self, page: usize) -> Option<&mut u64> {
        let chunk = self.chunks.get_mut(page / CHUNK_PAGES)?;
        chunk.words_mut().get_mut(page % CHUNK_PAGES * PAGE_WORDS)
    }
}

impl Hold for Chunks {
    fn grow(&mut self) -> anyhow::Result<bool> {
        let mut chunk = Arena::new(CHUNK, HUGE).context("cannot map a chunk")?;
        // Huge pages would take whole blocks, and give none of them back in pieces. A kernel
        // without them refuses, and needs no advice.
        let _ = chunk.advise(0..CHUNK, LocalAdvice::NoHugePage);
        let first = self.pages();
        for (page, words) in (first..).zip(chunk.words_mut().chunks_exact_mut(PAGE_WORDS)) {
            words[0] = stamp(page as u64);
        }
        self.chunks.push(chunk);
        Ok(true)
    }

    fn pages(&self) -> usize {
        self.chunks.len() * CHUNK_PAGES
    }

    fn thin(&mut self, keep: Keep) -> anyhow::Result<()> {
        let pages = self.pages();
        for (mut begin, end) in keep.gaps(pages) {
            while begin < end {
                let (chunk, first) = (begin / CHUNK_PAGES, begin % CHUNK_PAGES);
                let count = (end - begin).min(CHUNK_PAGES - first);
                let range = first * PAGE..(first + count) * PAGE;
                self.chunks[chunk].advise(range, LocalAdvice::DontNeed)?;
                begin += count;
            }
        }
        Ok(())
    }

    /// The first kept page of each: where physical blocks begin elsewhere than these, they have one
    /// such page each all the same.
    fn pin(&mut self, keep: Keep, percent: u64) -> anyhow::Result<()> {
        for block in (0..self.pages()).step_by(HUGE / PAGE) {
            let chosen = mix(block as u64 ^ !keep.seed) % 100 < percent;
            let first = (block..block + HUGE / PAGE).find(|page| chosen && keep.has(*page));
            let Some(page) = first else { continue };
            let (chunk, offset) = (&self.chunks[page / CHUNK_PAGES], page % CHUNK_PAGES * PAGE);
            let held = self.pinned.last_mut().map(|pipe| pipe.hold(chunk, offset));
            if held.transpose().context("cannot pin a page")? != Some(true) {
                let mut pipe = Pinned::new().context("no pipe that holds pages")?;
                pipe.hold(chunk, offset).context("cannot pin a page")?;
                self.pinned.push(pipe);
            }
        }
        Ok(())
    }

    fn is_right(&mut self, page: usize) -> anyhow::Result<bool> {
        Ok(self.word(page).is_some_and(|word| *word == stamp(page as u64)))
    }

    fn corrupt(&mut self, page: usize) {
        if let Some(word) = self.word(page) {
            *word ^= 1;
        }
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.pinned.clear();
        self.chunks.clear();
        Ok(())
    }
}
