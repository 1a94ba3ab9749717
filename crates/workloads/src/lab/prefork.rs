//! `prefork`: a server that fills its memory, forks workers, and asks them in turn.
//!
//! This process is the client, too: it waits for each answer, which is a sum of what the worker
//! read in its own copy of the memory, and compares it.

use super::kit::{
    Clock, MIB, Measured, PAGE_WORDS, Progress, Setup, Verdict, Workload, nanoseconds, stamp,
};
use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_base::stats::{self, Histogram};
use hugewise_experiment::kinds::{Forks, Prefork as Params};
use hugewise_linux::fork::PausingChild;
use hugewise_linux::memory::Arena;
use hugewise_linux::prefork::{Request, ask, places, serving_child, sum};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A worker, and the socket by which it is asked.
#[derive(Debug)]
struct Worker {
    /// Ended on drop.
    _process: PausingChild,
    socket: UnixStream,
}

/// The memory, and who serves it.
#[derive(Debug)]
pub(super) struct Prefork {
    memory: Arena,
    params: Params,
    workers: Vec<Worker>,
    fork_ms: Vec<f64>,
    rng: Rng,
    /// What the workers are known to have been forked with.
    whole: u64,
}

impl Prefork {
    /// Maps the memory.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let memory = setup.arena(params.mib * MIB)?;
        let (workers, fork_ms, rng) = (Vec::new(), Vec::new(), Rng::new(setup.seed));
        Ok(Self { memory, params: params.clone(), workers, fork_ms, rng, whole: 0 })
    }

    /// Forks the workers, where that was not done.
    fn fork(&mut self) -> anyhow::Result<()> {
        while self.workers.len() < self.params.workers {
            let (socket, theirs) = UnixStream::pair().context("cannot make a socket")?;
            let begin = Instant::now();
            let process = serving_child(&mut self.memory, theirs.as_fd());
            self.fork_ms.push(begin.elapsed().as_secs_f64() * 1e3);
            self.workers.push(Worker { _process: process.context("cannot fork")?, socket });
        }
        Ok(())
    }

    fn request(&mut self) -> Request {
        let Params { reads, writes, every, .. } = self.params;
        Request { seed: self.rng.next(), reads, writes, every }
    }
}

/// The sum of what so many reads of untouched memory find.
fn expected(asked: Request, words: usize) -> u64 {
    let reads = usize::try_from(asked.reads).unwrap_or(usize::MAX);
    sum(places(asked.seed, words).take(reads).map(|at| stamp(at as u64)))
}

impl Workload for Prefork {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let words = self.memory.words_mut();
        let all = words.len() / PAGE_WORDS;
        for (page, words) in words.chunks_exact_mut(PAGE_WORDS).enumerate() {
            for (at, word) in (page * PAGE_WORDS..).zip(words) {
                *word = stamp(at as u64);
            }
            progress.step(page, all, "filling");
        }
        self.whole = sum((0..self.memory.words().len()).map(|at| stamp(at as u64)));
        if self.params.forks == Forks::Filled {
            self.fork()?;
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        self.fork()?;
        let (clock, words) = (Clock::start(time), self.memory.words().len());
        let (mut latency, mut spent, mut served, mut wrong) = (Histogram::default(), 0, 0_u64, 0);
        while clock.runs_with(progress) {
            for worker in 0..self.workers.len() {
                let asked = self.request();
                let begin = Instant::now();
                let answer = ask(self.workers[worker].socket.as_fd(), asked)?;
                let took = nanoseconds(begin.elapsed());
                latency.record(took);
                (spent, served) = (spent + took, served + 1);
                wrong += u64::from(answer != expected(asked, words));
            }
        }
        let rate = served as f64 / (spent as f64 / 1e9).max(1e-9);
        let measured = Measured::default().with("ops_per_s", rate).with_latency(latency);
        let fork_ms = stats::median(&self.fork_ms).unwrap_or(f64::NAN);
        Ok(measured.with("fork_ms", fork_ms).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for (at, word) in self.memory.words().iter().enumerate() {
            verdict.count(*word == stamp(at as u64));
        }
        let all = Request { reads: 0, ..self.request() };
        for worker in &self.workers {
            verdict.count(ask(worker.socket.as_fd(), all)? == self.whole);
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let words = self.memory.words_mut();
        words[words.len() / 2] ^= 1 << 40;
    }
}
