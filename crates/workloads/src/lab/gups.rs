//! `gups`: updates of random words, of all of a table or of its last part.
//!
//! An update is an exclusive or, so that the same updates once more undo all of them: then every
//! word must hold what it held first.

use super::kit::{
    Clock, HUGE, MIB, Measured, Pace, Progress, Setup, Verdict, Workload, place, stamp,
};
use anyhow::Context;
use hugewise_core::base::rng::Rng;
use hugewise_core::experiment::kinds::{self, HotPart};
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::time::Duration;

/// Bits that no update changes: they tell whose word it is.
const TAG: u64 = 0xffff;
/// Updates between two looks at the clock.
const BATCH: u64 = 4096;

/// The table.
#[derive(Debug)]
pub(super) struct Gups {
    table: Arena,
    /// The first word that is updated.
    hot: usize,
    seed: u64,
    rng: Rng,
    updates: u64,
}

impl Gups {
    /// Maps the table.
    pub(super) fn new(params: &kinds::Gups, setup: &Setup) -> anyhow::Result<Self> {
        let mut table = setup.arena(params.mib * MIB)?;
        let all = table.len();
        let cold = (all - all / 100 * params.hot_percent).next_multiple_of(HUGE);
        let cold = if params.hot_percent == 100 { 0 } else { cold.min(all - HUGE) };
        if params.hot == HotPart::Apart && cold >= HUGE {
            // Another advice in between, and the kernel keeps three mappings.
            let between = table.advise(cold - HUGE..cold, LocalAdvice::NoHugePage);
            between.context("this kernel has no huge pages to refuse")?;
        }
        let hot = cold / size_of::<u64>();
        Ok(Self { table, hot, seed: setup.seed, rng: Rng::new(setup.seed), updates: 0 })
    }
}

/// Updates one word, from the word `hot` on. Returns whether its tag was right.
fn update(table: &mut [u64], hot: usize, random: u64) -> bool {
    let at = hot + place(random, table.len() - hot);
    let old = table[at];
    table[at] = old ^ (random.rotate_left(32) & !TAG);
    (old ^ stamp(at as u64)) & TAG == 0
}

impl Workload for Gups {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let table = self.table.words_mut();
        let all = table.len();
        for (at, word) in table.iter_mut().enumerate() {
            *word = stamp(at as u64);
            if at.is_multiple_of(1 << 20) {
                progress.step(at, all, "filling the table");
            }
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, table, hot) = (Clock::start(time), self.table.words_mut(), self.hot);
        let (mut updates, mut wrong, mut pace) = (0, 0, Pace::start());
        while clock.runs_with(progress) {
            for _ in 0..BATCH {
                wrong += u64::from(!update(table, hot, self.rng.next()));
            }
            updates += BATCH;
            pace.add(BATCH);
        }
        let rate = clock.rate(updates);
        self.updates += updates;
        let measured = Measured::default().with("ops_per_s", rate).with_wrong(wrong);
        Ok(measured.with_pace("ops_per_s", pace))
    }

    fn verify(&mut self, progress: &mut Progress) -> anyhow::Result<Verdict> {
        let table = self.table.words_mut();
        let mut undo = Rng::new(self.seed);
        for done in 0..self.updates {
            update(table, self.hot, undo.next());
            if done.is_multiple_of(1 << 20) {
                progress.step(0, 1, "undoing all updates");
            }
        }
        (self.updates, self.rng) = (0, Rng::new(self.seed));
        let mut verdict = Verdict::default();
        for (at, word) in table.iter().enumerate() {
            verdict.count(*word == stamp(at as u64));
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let table = self.table.words_mut();
        table[table.len() / 2] ^= 1 << 40;
    }
}
