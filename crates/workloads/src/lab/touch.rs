//! `sparse-touch` and `stride`: memory of which only a part is used, which huge pages fill up.

use super::kit::{
    Clock, HUGE, MIB, Measured, PAGE, Progress, Setup, Verdict, Workload, mib, place, stamp,
};
use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::{SparseTouch as SparseTouchParams, Stride as StrideParams};
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::time::Duration;

/// Base pages of a huge page.
const PAGES: usize = HUGE / PAGE;
/// Touches between two looks at the clock.
const BATCH: usize = 1024;

/// Pages in use, evenly spread over each region.
#[derive(Debug)]
pub(super) struct SparseTouch {
    arena: Arena,
    /// Offsets of the pages in use, bytes.
    used: Vec<usize>,
    purge_percent: u64,
    rng: Rng,
}

impl SparseTouch {
    /// Maps the memory.
    pub(super) fn new(params: &SparseTouchParams, setup: &Setup) -> anyhow::Result<Self> {
        let arena = setup.arena(params.mib * MIB)?;
        let each = params.pages_per_region;
        let regions = arena.len() / HUGE;
        let pages =
            |region| (0..each).map(move |page| region * HUGE + page * PAGES / each.max(1) * PAGE);
        let used = (0..regions).flat_map(pages).collect();
        let purge_percent = params.purge_percent;
        Ok(Self { arena, used, purge_percent, rng: Rng::new(setup.seed) })
    }

    fn touched_mib(&self) -> f64 {
        mib((self.used.len() * PAGE) as u64)
    }
}

impl Workload for SparseTouch {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let words = self.arena.words_mut();
        for (number, offset) in self.used.iter().enumerate() {
            words[offset / 8] = stamp(*offset as u64);
            if number.is_multiple_of(BATCH) {
                progress.step(number, self.used.len(), "touching pages");
            }
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, words) = (Clock::start(time), self.arena.words());
        let (mut reads, mut wrong) = (0, 0);
        while !self.used.is_empty() && clock.runs_with(progress) {
            for _ in 0..BATCH {
                let offset = self.used[place(self.rng.next(), self.used.len())];
                wrong += u64::from(words[offset / 8] != stamp(offset as u64));
            }
            reads += BATCH as u64;
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(reads));
        Ok(measured.with("touched_mib", self.touched_mib()).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let (mut verdict, words) = (Verdict::default(), self.arena.words());
        for offset in &self.used {
            verdict.count(words[offset / 8] == stamp(*offset as u64));
        }
        Ok(verdict)
    }

    fn change(&mut self) -> anyhow::Result<Option<Measured>> {
        let mut kept = Vec::with_capacity(self.used.len());
        for offset in std::mem::take(&mut self.used) {
            if self.rng.percent(self.purge_percent) {
                let page = offset..offset + PAGE;
                self.arena.advise(page, LocalAdvice::DontNeed).context("cannot free a page")?;
            } else {
                kept.push(offset);
            }
        }
        self.used = kept;
        Ok(Some(Measured::default().with("touched_mib", self.touched_mib())))
    }

    fn corrupt(&mut self) {
        if let Some(offset) = self.used.get(self.used.len() / 2) {
            self.arena.words_mut()[offset / 8] ^= 2;
        }
    }
}

/// One byte each stride, increased in rounds.
#[derive(Debug)]
pub(super) struct Stride {
    arena: Arena,
    stride: usize,
    /// Touches so far, whole rounds and a part of one.
    touches: usize,
}

impl Stride {
    /// Maps the memory.
    pub(super) fn new(params: &StrideParams, setup: &Setup) -> anyhow::Result<Self> {
        let arena = setup.arena(params.mib * MIB)?;
        let stride = (params.stride_kib << 10).min(arena.len());
        Ok(Self { arena, stride, touches: 0 })
    }

    fn steps(&self) -> usize {
        self.arena.len() / self.stride
    }

    /// What the byte of a step holds after so many touches of all: where it stands, plus one for
    /// each.
    fn byte(&self, step: usize, touches: usize) -> u8 {
        let rounds = touches / self.steps() + usize::from(step < touches % self.steps());
        stamp(step as u64).to_ne_bytes()[3].wrapping_add(rounds.to_ne_bytes()[0])
    }

    /// Touches the next byte. Returns whether it held what it should.
    fn touch(&mut self) -> bool {
        let step = self.touches % self.steps();
        let (old, new) = (self.byte(step, self.touches), self.byte(step, self.touches + 1));
        let at = step * self.stride;
        let right = self.arena.as_slice()[at] == old;
        self.arena.set(at, new);
        self.touches += 1;
        right
    }
}

impl Workload for Stride {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        for step in 0..self.steps() {
            let byte = self.byte(step, 0);
            self.arena.set(step * self.stride, byte);
            progress.step(step, self.steps(), "touching");
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, mut touches, mut wrong) = (Clock::start(time), 0, 0);
        while clock.runs_with(progress) {
            for _ in 0..BATCH {
                wrong += u64::from(!self.touch());
            }
            touches += BATCH as u64;
        }
        let pages = self.steps().min(self.arena.len() / PAGE);
        let measured = Measured::default().with("ops_per_s", clock.rate(touches));
        let measured = measured.with("touched_mib", mib((pages * PAGE) as u64));
        Ok(measured.with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let (mut verdict, memory) = (Verdict::default(), self.arena.as_slice());
        for step in 0..self.steps() {
            verdict.count(memory[step * self.stride] == self.byte(step, self.touches));
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let at = self.steps() / 2 * self.stride;
        self.arena.as_mut_slice()[at] ^= 8;
    }
}
