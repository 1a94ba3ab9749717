//! `requests`: a server of which each request maps memory, fills it and gives it back, as one that
//! computes with large arrays does.

use super::kit::{
    Clock, MIB, Measured, PAGE_WORDS, Progress, Setup, Verdict, Workload, nanoseconds, stamp,
};
use hugewise_base::stats::Histogram;
use hugewise_experiment::kinds::Requests as Params;
use hugewise_linux::memory::Arena;
use std::time::{Duration, Instant};

/// The server, with the memory of its last request.
#[derive(Debug)]
pub(super) struct Requests {
    setup: Setup,
    bytes: usize,
    /// Time between two requests.
    gap: Duration,
    last: Option<Arena>,
}

impl Requests {
    /// Nothing is mapped yet.
    pub(super) fn new(params: &Params, setup: &Setup) -> Self {
        let bytes = params.mib * MIB;
        let gap = Duration::from_secs(1).div_f64(params.per_s.max(1) as f64);
        Self { setup: setup.clone(), bytes, gap, last: None }
    }

    /// One request: what the one before had is given back, and each page of new memory is written.
    fn serve(&mut self) -> anyhow::Result<()> {
        self.last = None;
        let mut arena = self.setup.arena(self.bytes)?;
        for (page, words) in arena.words_mut().chunks_exact_mut(PAGE_WORDS).enumerate() {
            words[0] = stamp(page as u64);
        }
        self.last = Some(arena);
        Ok(())
    }

    fn compare(&self) -> Verdict {
        let mut verdict = Verdict::default();
        let Some(last) = &self.last else { return verdict };
        for (page, words) in last.words().chunks_exact(PAGE_WORDS).enumerate() {
            verdict.count(words[0] == stamp(page as u64));
        }
        verdict
    }
}

impl Workload for Requests {
    fn fill(&mut self, _: &mut Progress) -> anyhow::Result<Measured> {
        self.serve()?;
        Ok(Measured::default())
    }

    /// Latency counts from when a request was due, so that one that waits delays the next ones.
    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, begin) = (Clock::start(time), Instant::now());
        let (mut latency, mut served, mut wrong) = (Histogram::default(), 0_u64, 0);
        let mut due = begin;
        while clock.runs_with(progress) {
            wrong += self.compare().wrong;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.serve()?;
            latency.record(nanoseconds(due.elapsed()));
            served += 1;
            due += self.gap;
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(served));
        Ok(measured.with_latency(latency).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        Ok(self.compare())
    }

    fn corrupt(&mut self) {
        if let Some(last) = &mut self.last {
            last.words_mut()[0] ^= 1 << 17;
        }
    }
}
