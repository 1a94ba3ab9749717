//! `allocator-churn`: blocks of mixed sizes through the program's allocator.
//!
//! Each block is full of its own number, which is compared when it is freed.

use super::kit::{
    Clock, MIB, Measured, Progress, Setup, Verdict, Workload, mib, nanoseconds, place, sized, stamp,
};
use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_base::stats::Histogram;
use hugewise_experiment::kinds::AllocatorChurn;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Words of the smallest blocks.
const SMALLEST: u64 = 2;
/// Environment variable of glibc's settings, and the one by which malloc asks for huge pages
/// (glibc 2.35: `glibc.malloc.hugetlb=1` is `madvise`).
const TUNABLES: &str = "GLIBC_TUNABLES";
const ASK: &str = "glibc.malloc.hugetlb=1";

/// Starts this program again with an allocator that asks for huge pages; returns where it does
/// already.
pub(super) fn ask_the_allocator_for_huge_pages() -> anyhow::Result<()> {
    let set = std::env::var(TUNABLES).unwrap_or_default();
    if set.split(':').any(|tunable| tunable == ASK) {
        return Ok(());
    }
    let tunables = if set.is_empty() { ASK.to_owned() } else { format!("{set}:{ASK}") };
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).env(TUNABLES, tunables);
    Err(command.exec()).context("cannot start again with another allocator setting")
}

#[derive(Debug)]
struct Block {
    number: u64,
    words: Vec<u64>,
}

impl Block {
    fn new(number: u64, words: usize) -> Self {
        Self { number, words: vec![stamp(number); words] }
    }

    fn is_right(&self) -> bool {
        let stamp = stamp(self.number);
        self.words.iter().all(|word| *word == stamp)
    }

    fn bytes(&self) -> u64 {
        (self.words.len() * 8) as u64
    }
}

/// The blocks in use.
#[derive(Debug)]
pub(super) struct Churn {
    blocks: Vec<Block>,
    target: u64,
    live: u64,
    /// Powers of two of sizes between the smallest and the largest.
    powers: u64,
    purge_percent: u64,
    next: u64,
    rng: Rng,
    root: PathBuf,
}

impl Churn {
    /// Allocates nothing yet.
    pub(super) fn new(params: &AllocatorChurn, setup: &Setup) -> Self {
        let largest = (params.largest_kib << 10) / 8;
        Self {
            blocks: Vec::new(),
            target: (params.live_mib * MIB) as u64,
            live: 0,
            powers: u64::from((largest / SMALLEST).max(2).ilog2()),
            purge_percent: params.purge_percent,
            next: 0,
            rng: Rng::new(setup.seed),
            root: setup.root.clone(),
        }
    }

    /// A size, words: each power of two as likely as the others, and all sizes within it.
    fn size(&mut self) -> usize {
        let base = SMALLEST << self.rng.below(self.powers);
        usize::try_from(base + self.rng.below(base)).unwrap_or(0)
    }

    fn allocate(&mut self) {
        let block = Block::new(self.next, self.size());
        self.next += 1;
        self.live += block.bytes();
        self.blocks.push(block);
    }

    /// Frees a block; returns the time of that, and whether its data was right.
    fn free(&mut self, at: usize) -> (Duration, bool) {
        let block = self.blocks.swap_remove(at);
        self.live -= block.bytes();
        let right = block.is_right();
        let begin = Instant::now();
        drop(block);
        (begin.elapsed(), right)
    }

    fn report(&self, measured: Measured) -> anyhow::Result<Measured> {
        let resident = sized(&self.root.join("proc/self/status"), "VmRSS")?;
        let overhead = (resident as f64 / (self.live as f64).max(1.0) - 1.0) * 100.0;
        let measured = measured.with("live_mib", mib(self.live));
        Ok(measured.with("overhead_percent", overhead))
    }
}

impl Workload for Churn {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        while self.live < self.target {
            self.allocate();
            let done = usize::try_from(self.live / 1024).unwrap_or(0);
            let all = usize::try_from(self.target / 1024).unwrap_or(0);
            progress.step(done, all, "allocating");
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, mut latency) = (Clock::start(time), Histogram::default());
        let (mut turns, mut wrong, mut spent) = (0u64, 0, Duration::ZERO);
        while clock.runs_with(progress) {
            let mut took = Duration::ZERO;
            if !self.blocks.is_empty() {
                let at = place(self.rng.next(), self.blocks.len());
                let (free, right) = self.free(at);
                took += free;
                wrong += u64::from(!right);
            }
            let begin = Instant::now();
            self.allocate();
            took += begin.elapsed();
            // Sizes differ: what is alive stays near what it was.
            if self.live < self.target {
                self.allocate();
            } else if self.live > self.target + self.target / 64 {
                let at = place(self.rng.next(), self.blocks.len());
                wrong += u64::from(!self.free(at).1);
            }
            latency.record(nanoseconds(took));
            (turns, spent) = (turns + 1, spent + took);
        }
        let rate = turns as f64 / spent.as_secs_f64().max(1e-9);
        let measured = Measured::default().with("ops_per_s", rate).with_wrong(wrong);
        self.report(measured.with_latency(latency))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        self.blocks.iter().for_each(|block| verdict.count(block.is_right()));
        Ok(verdict)
    }

    fn change(&mut self) -> anyhow::Result<Option<Measured>> {
        let mut wrong = 0;
        for at in (0..self.blocks.len()).rev() {
            if self.rng.percent(self.purge_percent) {
                wrong += u64::from(!self.free(at).1);
            }
        }
        // The next measuring keeps what is alive now.
        self.target = self.live;
        Ok(Some(self.report(Measured::default().with_wrong(wrong))?))
    }

    fn corrupt(&mut self) {
        let middle = self.blocks.len() / 2;
        if let Some(block) = self.blocks.get_mut(middle) {
            block.words[0] ^= 1;
        }
    }
}
