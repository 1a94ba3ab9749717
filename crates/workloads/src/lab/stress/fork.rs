//! `stress-fork`: children that write to their copies of a few pages, and end.
//!
//! A worker has one child at a time and waits for its end, so that there are never more children
//! than workers; the kernel ends a child together with its worker.

use super::{Work, together};
use crate::lab::kit::{
    Clock, Measured, PAGE, PAGE_WORDS, Progress, Setup, Verdict, Workload, stamp,
};
use anyhow::Context;
use hugewise_experiment::kinds::StressFork;
use hugewise_linux::fork::writing_copy;
use hugewise_linux::memory::Arena;
use std::time::Duration;

/// Memory that the children of one worker get a copy of.
#[derive(Debug)]
struct Part {
    arena: Arena,
    pages: usize,
    word: u64,
}

impl Part {
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

    /// The first words of its pages.
    fn heads(&self) -> impl Iterator<Item = &u64> {
        self.arena.words().iter().step_by(PAGE_WORDS).take(self.pages)
    }
}

/// The workers' memory.
#[derive(Debug)]
pub(crate) struct Fork {
    parts: Vec<Part>,
}

impl Fork {
    /// Touches nothing yet.
    pub(crate) fn new(params: &StressFork, setup: &Setup) -> anyhow::Result<Self> {
        let part = |number| {
            let arena = setup.arena(params.pages * PAGE)?;
            Ok(Part { arena, pages: params.pages, word: stamp(number as u64) })
        };
        let parts = (0..params.workers).map(part).collect::<anyhow::Result<_>>()?;
        Ok(Self { parts })
    }
}

impl Workload for Fork {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        for part in &mut self.parts {
            let words = part.arena.words_mut().iter_mut().step_by(PAGE_WORDS).take(part.pages);
            words.for_each(|word| *word = part.word);
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let clock = Clock::start(time);
        let workers = self.parts.iter_mut().map(|part| move || part.run(clock));
        together(workers, clock, progress)
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for part in &self.parts {
            part.heads().for_each(|word| verdict.count(*word == part.word));
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        if let Some(part) = self.parts.first_mut() {
            part.arena.words_mut()[0] ^= 1;
        }
    }
}
