//! `gups`: updates of random words, of all of a table or of its last part.
//!
//! An update is an exclusive or, so that the same updates once more undo all of them: then every
//! word must hold what it held first. Updates of pages find their place by the tag that the one
//! before read: no tag ever changes, so that they find the same places once more.

use super::kit::{
    Clock, HUGE, MIB, Measured, PAGE_WORDS, Pace, Progress, Setup, Verdict, Workload, place, stamp,
};
use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::{self, HotPart, Updates, Yardstick};
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::time::{Duration, Instant};

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
    what: Updates,
    seed: u64,
    walk: Walk,
    updates: u64,
    yardstick: Option<BaseTable>,
}

/// The same updates on base pages: what a busy host slows down, it slows down, too.
#[derive(Debug)]
struct BaseTable {
    table: Arena,
    walk: Walk,
}

impl BaseTable {
    fn new(bytes: usize, setup: &Setup) -> anyhow::Result<Self> {
        let mut table = setup.arena(bytes)?;
        let refused = table.advise(0..table.len(), LocalAdvice::NoHugePage);
        refused.context("this kernel has no huge pages to refuse")?;
        Ok(Self { table, walk: Walk::new(setup.seed) })
    }
}

/// Where updates go.
#[derive(Debug)]
struct Walk {
    rng: Rng,
    /// What the last update read, as far as the next one depends on it.
    read: u64,
}

impl Walk {
    fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), read: 0 }
    }

    /// Updates one word, from the word `hot` on. Returns whether its tag was right.
    fn update(&mut self, table: &mut [u64], hot: usize, what: Updates) -> bool {
        let random = self.rng.next();
        let words = table.len() - hot;
        let at = hot
            + match what {
                Updates::Words => place(random, words),
                Updates::Pages => word_of(place(random ^ self.read, words / PAGE_WORDS)),
            };
        let old = table[at];
        table[at] = old ^ (random.rotate_left(32) & !TAG);
        if what == Updates::Pages {
            // The high bits decide the place.
            self.read = (old & TAG) << 48;
        }
        (old ^ stamp(at as u64)) & TAG == 0
    }
}

/// Updates many words. Returns how many were wrong, and the seconds it took.
fn batch(walk: &mut Walk, table: &mut [u64], hot: usize, what: Updates) -> (u64, f64) {
    let begin = Instant::now();
    let wrong = (0..BATCH).filter(|_| !walk.update(table, hot, what)).count();
    (wrong as u64, begin.elapsed().as_secs_f64())
}

/// Writes what stands at each place first.
fn write(table: &mut [u64], step: &mut dyn FnMut(usize)) {
    for (at, word) in table.iter_mut().enumerate() {
        *word = stamp(at as u64);
        if at.is_multiple_of(1 << 20) {
            step(at);
        }
    }
}

/// The word of a page that is updated: not the same of each, or a few sets of the cache would have
/// to hold all of them.
fn word_of(page: usize) -> usize {
    page * PAGE_WORDS + page.wrapping_mul(73) % PAGE_WORDS
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
        let yardstick = match params.beside {
            Yardstick::Nothing => None,
            Yardstick::BasePages => Some(BaseTable::new(all - cold, setup)?),
        };
        let (what, seed) = (params.updates, setup.seed);
        Ok(Self { table, hot, what, seed, walk: Walk::new(seed), updates: 0, yardstick })
    }
}

impl Workload for Gups {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let all = self.table.len() / size_of::<u64>();
        write(self.table.words_mut(), &mut |at| progress.step(at, all, "filling the table"));
        if let Some(yardstick) = &mut self.yardstick {
            write(yardstick.table.words_mut(), &mut |_| ());
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, table) = (Clock::start(time), self.table.words_mut());
        let (mut updates, mut wrong, mut pace, mut in_turn) = (0, 0, Pace::start(), Pace::start());
        let mut spent_s = (0.0, 0.0);
        while clock.runs_with(progress) {
            let (more, this_s) = batch(&mut self.walk, table, self.hot, self.what);
            wrong += more;
            updates += BATCH;
            spent_s.0 += this_s;
            pace.add(BATCH);
            if let Some(yardstick) = &mut self.yardstick {
                let base = yardstick.table.words_mut();
                let (more, other_s) = batch(&mut yardstick.walk, base, 0, self.what);
                wrong += more;
                spent_s.1 += other_s;
                in_turn.in_turn(this_s, other_s);
            }
        }
        self.updates += updates;
        let measured = Measured::default().with("ops_per_s", updates as f64 / spent_s.0);
        let measured = measured.with_wrong(wrong);
        if self.yardstick.is_none() {
            return Ok(measured.with_pace("ops_per_s", pace));
        }
        let measured = measured.with("times_base", spent_s.1 / spent_s.0);
        Ok(measured.with_pace("times_base", in_turn))
    }

    fn verify(&mut self, progress: &mut Progress) -> anyhow::Result<Verdict> {
        let table = self.table.words_mut();
        let mut undo = Walk::new(self.seed);
        for done in 0..self.updates {
            undo.update(table, self.hot, self.what);
            if done.is_multiple_of(1 << 20) {
                progress.step(0, 1, "undoing all updates");
            }
        }
        (self.updates, self.walk) = (0, Walk::new(self.seed));
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
