//! `fault-latency`: the first touch of fresh memory, again and again.

use super::kit::{
    Clock, MIB, Measured, Progress, Setup, Verdict, Workload, nanoseconds, place, stamp,
};
use hugewise_base::rng::Rng;
use hugewise_base::stats::{self, Histogram};
use hugewise_experiment::kinds::{FaultLatency as Params, Order};
use hugewise_linux::memory::Arena;
use std::time::{Duration, Instant};

/// Memory that is mapped anew for each round, and touched once a step. Stays until the next round,
/// so that it can be looked at.
#[derive(Debug)]
pub(super) struct Fresh {
    setup: Setup,
    bytes: usize,
    step: usize,
    /// Numbers of the steps, in the order in which they are touched.
    order: Vec<u32>,
    arena: Option<Arena>,
    touched: usize,
}

impl Fresh {
    /// Nothing is mapped yet.
    pub(super) fn new(setup: &Setup, bytes: usize, step: usize, random: bool) -> Self {
        let steps = u32::try_from(bytes / step).unwrap_or(u32::MAX).max(1);
        let mut order: Vec<u32> = (0..steps).collect();
        if random {
            let mut rng = Rng::new(setup.seed);
            for last in (1..order.len()).rev() {
                order.swap(last, place(rng.next(), last + 1));
            }
        }
        Self { setup: setup.clone(), bytes, step, order, arena: None, touched: 0 }
    }

    /// Steps touched in the last round.
    pub(super) fn touched(&self) -> usize {
        self.touched
    }

    /// Unmaps, maps and touches everything for as long as `clock` runs. Each touch is reported.
    pub(super) fn round(
        &mut self,
        clock: Option<Clock>,
        mut tell: impl FnMut(Duration),
    ) -> anyhow::Result<()> {
        // First the old memory goes: two of them might be too much.
        (self.arena, self.touched) = (None, 0);
        let mut arena = self.setup.arena(self.bytes)?;
        let mut before = Instant::now();
        for step in &self.order {
            let step = usize::try_from(*step).unwrap_or(0);
            arena.set(step * self.step, byte(step));
            let now = Instant::now();
            tell(now - before);
            before = now;
            self.touched += 1;
            if clock.is_some_and(|clock| !clock.runs()) {
                break;
            }
        }
        self.arena = Some(arena);
        Ok(())
    }

    /// Compares every byte that was touched in the last round.
    pub(super) fn verify(&self) -> Verdict {
        let mut verdict = Verdict::default();
        let Some(arena) = &self.arena else { return verdict };
        let memory = arena.as_slice();
        for step in &self.order[..self.touched] {
            let step = usize::try_from(*step).unwrap_or(0);
            verdict.count(memory[step * self.step] == byte(step));
        }
        verdict
    }

    /// Changes a byte that was touched.
    pub(super) fn corrupt(&mut self) {
        let step = self.order[self.touched / 2];
        let at = usize::try_from(step).unwrap_or(0) * self.step;
        if let Some(arena) = &mut self.arena {
            arena.as_mut_slice()[at] ^= 4;
        }
    }
}

/// What is written: never 0, which is what lost memory holds.
fn byte(step: usize) -> u8 {
    stamp(step as u64).to_ne_bytes()[3] | 1
}

/// Threads that touch fresh memory.
#[derive(Debug)]
pub(super) struct FaultLatency {
    parts: Vec<Fresh>,
}

impl FaultLatency {
    /// Divides the memory among the threads.
    pub(super) fn new(params: &Params, setup: &Setup) -> Self {
        let threads = params.threads.max(1);
        let bytes = (params.mib * MIB / threads).max(1);
        let (step, random) = (params.step_kib << 10, params.order == Order::Random);
        let part = |thread| {
            let seed = setup.seed.wrapping_add(thread as u64);
            Fresh::new(&Setup { seed, ..setup.clone() }, bytes, step, random)
        };
        Self { parts: (0..threads).map(part).collect() }
    }

    /// One round of all threads, and the time until the last one was done.
    fn round(&mut self, latency: &mut Histogram) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .parts
                .iter_mut()
                .map(|part| {
                    scope.spawn(move || {
                        let mut latency = Histogram::default();
                        let done = part.round(None, |took| latency.record(nanoseconds(took)));
                        done.map(|()| latency)
                    })
                })
                .collect();
            let results = threads.into_iter().map(|thread| thread.join());
            results.collect::<Vec<_>>()
        });
        let took = begin.elapsed();
        for result in results {
            latency.merge(&result.map_err(|_| anyhow::anyhow!("a thread has panicked"))??);
        }
        Ok(took)
    }

    fn wrong(&self) -> u64 {
        self.parts.iter().map(|part| part.verify().wrong).sum()
    }
}

impl Workload for FaultLatency {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        self.round(&mut Histogram::default())?;
        Ok(Measured::default().with_wrong(self.wrong()))
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, mut latency) = (Clock::start(time), Histogram::default());
        let (mut wrong, mut rounds) = (self.wrong(), Vec::new());
        // Whole rounds, at least one: what is mapped in the end does not hang on the speed.
        loop {
            rounds.push(self.round(&mut latency)?.as_secs_f64());
            wrong += self.wrong();
            if !clock.runs_with(progress) {
                break;
            }
        }
        let seconds = stats::median(&rounds).unwrap_or(f64::NAN);
        let measured = Measured::default().with("touch_s", seconds).with_wrong(wrong);
        Ok(measured.with_latency(latency))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        self.parts.iter().for_each(|part| verdict.add(part.verify()));
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        self.parts.iter_mut().for_each(Fresh::corrupt);
    }
}
