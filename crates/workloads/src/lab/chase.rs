//! `pointer-chase`: one random cycle through all cache lines.

use super::kit::{
    Clock, MIB, Measured, Progress, Setup, Verdict, Workload, index, nanoseconds, place, stamp,
};
use hugewise_base::rng::Rng;
use hugewise_base::stats::Histogram;
use hugewise_experiment::kinds::Size;
use hugewise_linux::memory::Arena;
use std::time::{Duration, Instant};

/// Words of a cache line. The first is the number of the next line, the second tells whose line
/// it is.
const LINE: usize = 8;
/// Steps between two looks at the clock.
const BATCH: u64 = 256;

/// The cache lines, each with the number of the next.
#[derive(Debug)]
pub(super) struct PointerChase {
    lines: Arena,
    rng: Rng,
    at: usize,
}

impl PointerChase {
    /// Maps the lines.
    pub(super) fn new(params: &Size, setup: &Setup) -> anyhow::Result<Self> {
        let lines = setup.arena(params.mib * MIB)?;
        Ok(Self { lines, rng: Rng::new(setup.seed), at: 0 })
    }
}

/// The line after `at`; `None` when that line is not what was written.
fn next(words: &[u64], at: usize) -> Option<usize> {
    let line = words.get(at * LINE..at * LINE + 2)?;
    let next = index(line[0]);
    (line[1] == stamp(at as u64) && next < words.len() / LINE).then_some(next)
}

impl Workload for PointerChase {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let words = self.lines.words_mut();
        let all = words.len() / LINE;
        for (at, line) in words.chunks_exact_mut(LINE).enumerate() {
            line[0] = at as u64;
            line[1] = stamp(at as u64);
        }
        // Sattolo's shuffle: what it makes of the identity is always one cycle.
        for last in (1..all).rev() {
            words.swap(last * LINE, place(self.rng.next(), last) * LINE);
            if last.is_multiple_of(1 << 16) {
                progress.step(all - last, all, "shuffling the cycle");
            }
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, words) = (Clock::start(time), self.lines.words());
        let (mut steps, mut spent, mut wrong) = (0, 0, 0);
        let mut latency = Histogram::default();
        while wrong == 0 && clock.runs_with(progress) {
            let begin = Instant::now();
            for _ in 0..BATCH {
                match next(words, self.at) {
                    Some(next) => self.at = next,
                    None => wrong += 1,
                }
            }
            let took = nanoseconds(begin.elapsed());
            latency.record(took / BATCH);
            (steps, spent) = (steps + BATCH, spent + took);
        }
        let measured = Measured::default().with_wrong(wrong);
        let measured = measured.with("ns_per_step", spent as f64 / f64::max(steps as f64, 1.0));
        Ok(measured.with_histogram("step", latency))
    }

    fn verify(&mut self, progress: &mut Progress) -> anyhow::Result<Verdict> {
        let words = self.lines.words();
        let all = words.len() / LINE;
        let (mut at, mut verdict) = (0, Verdict::default());
        for step in 1..=all {
            let next = next(words, at);
            // Back at the start after all lines, and not before.
            verdict.count(next.is_some_and(|next| (next == 0) == (step == all)));
            if verdict.wrong > 0 {
                break;
            }
            at = next.unwrap_or(0);
            if step.is_multiple_of(1 << 16) {
                progress.step(step, all, "following the cycle");
            }
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let words = self.lines.words_mut();
        let middle = words.len() / 2 / LINE * LINE;
        words[middle] ^= 1;
    }
}
