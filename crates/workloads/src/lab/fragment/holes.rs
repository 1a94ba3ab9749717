//! Anonymous memory with holes.

use super::hold::{CHUNK, CHUNK_PAGES, Hold, Keep};
use crate::lab::kit::{HUGE, PAGE, PAGE_WORDS, stamp};
use anyhow::Context;
use hugewise_linux::memory::{Arena, LocalAdvice};

/// Mappings of one chunk each.
#[derive(Debug, Default)]
pub(crate) struct Chunks(Vec<Arena>);

impl Chunks {
    fn word(&mut self, page: usize) -> Option<&mut u64> {
        let chunk = self.0.get_mut(page / CHUNK_PAGES)?;
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
        self.0.push(chunk);
        Ok(true)
    }

    fn pages(&self) -> usize {
        self.0.len() * CHUNK_PAGES
    }

    fn thin(&mut self, keep: Keep) -> anyhow::Result<()> {
        let pages = self.pages();
        for (mut begin, end) in keep.gaps(pages) {
            while begin < end {
                let (chunk, first) = (begin / CHUNK_PAGES, begin % CHUNK_PAGES);
                let count = (end - begin).min(CHUNK_PAGES - first);
                let range = first * PAGE..(first + count) * PAGE;
                self.0[chunk].advise(range, LocalAdvice::DontNeed)?;
                begin += count;
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
        self.0.clear();
        Ok(())
    }
}
