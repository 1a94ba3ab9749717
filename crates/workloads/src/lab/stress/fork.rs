//! `stress-fork`: children that write to their copies of a few pages, and end.
//!
//! A worker has one child at a time and waits for its end, so that there are never more children
//! than workers; the kernel ends a child together with its worker.

use super::part::{Part, Work};
use crate::lab::kit::{Clock, PAGE, PAGE_WORDS, Setup, Verdict, stamp};
use anyhow::Context;
use hugewise_linux::fork::writing_copy;
use hugewise_linux::memory::Arena;

/// Memory that the children of one worker get a copy of.
#[derive(Debug)]
pub(super) struct Memory {
    arena: Arena,
    pages: usize,
    word: u64,
}

impl Memory {
    /// Touches nothing yet.
    pub(super) fn new(setup: &Setup, pages: usize, number: usize) -> anyhow::Result<Self> {
        Ok(Self { arena: setup.arena(pages * PAGE)?, pages, word: stamp(number as u64) })
    }
}

impl Part for Memory {
    fn fill(&mut self) -> anyhow::Result<()> {
        let words = self.arena.words_mut().iter_mut().step_by(PAGE_WORDS).take(self.pages);
        words.for_each(|word| *word = self.word);
        Ok(())
    }

    fn run(&mut self, clock: Clock) -> anyhow::Result<Work> {
        let (mut children, mut wrong) = (0, 0);
        while clock.runs() {
            let right = writing_copy(&mut self.arena, self.pages * PAGE, self.word);
            let right = right.context("cannot have a child: is a limit of tasks reached?")?;
            children += 1;
            wrong += u64::from(!right);
        }
        Ok((children, wrong))
    }

    fn verify(&self) -> Verdict {
        let mut verdict = Verdict::default();
        let heads = self.arena.words().iter().step_by(PAGE_WORDS).take(self.pages);
        heads.for_each(|word| verdict.count(*word == self.word));
        verdict
    }

    fn corrupt(&mut self) {
        self.arena.words_mut()[0] ^= 1;
    }
}
