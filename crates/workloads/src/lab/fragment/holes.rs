//! Anonymous memory with holes.

use super::hold::{CHUNK, CHUNK_PAGES, Hold, Keep};
use crate::lab::kit::{HUGE, PAGE, PAGE_WORDS, stamp};
use anyhow::Context;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::pinned::{BUFFERS_MAX, PinnedPages};

/// Mappings of one chunk each, and pages of them that cannot be moved.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    chunks: Vec<Arena>,
    pinned: Vec<PinnedPages>,
}

impl Chunks {
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

    fn pin(&mut self, pages: &[usize]) -> anyhow::Result<()> {
        for pages in pages.chunks(BUFFERS_MAX) {
            let mut parts = Vec::with_capacity(pages.len());
            for page in pages {
                let at = page % CHUNK_PAGES * PAGE;
                parts.push((&self.chunks[page / CHUNK_PAGES], at..at + PAGE));
            }
            let pinned = PinnedPages::pin(&parts).context("cannot pin pages by io_uring")?;
            self.pinned.push(pinned);
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
