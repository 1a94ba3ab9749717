//! `fork-cow`: memory that is rewritten while a forked child holds its snapshot.
//!
//! The child only waits. A thread of this process reads all of the child's memory meanwhile and
//! compares it with what was there at the fork, as a database's child would write it to disk.

use super::kit::{
    Clock, MIB, Measured, PAGE, PAGE_WORDS, Progress, Setup, Verdict, Workload, mib, nanoseconds,
    place, sized, stamp,
};
use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_base::stats::{self, Histogram};
use hugewise_experiment::kinds::ForkCow as Params;
use hugewise_linux::fork::{PausingChild, pausing_child};
use hugewise_linux::memory::Arena;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pages of the child that are read together.
const READ_PAGES: usize = 64;

/// The memory that is rewritten while a child holds its snapshot.
#[derive(Debug)]
pub(super) struct ForkCow {
    arena: Arena,
    /// How often each page was rewritten.
    generations: Vec<u32>,
    rewrite_percent: usize,
    rng: Rng,
}

/// What one snapshot cost.
#[derive(Debug)]
struct Snapshot {
    fork: Duration,
    extra_bytes: u64,
    verdict: Verdict,
}

impl ForkCow {
    /// Maps the memory.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let arena = setup.arena(params.mib * MIB)?;
        let generations = vec![0; arena.len() / PAGE];
        let rewrite_percent = params.rewrite_percent;
        Ok(Self { arena, generations, rewrite_percent, rng: Rng::new(setup.seed) })
    }

    /// Forks, rewrites pages while `clock` runs, and waits until the snapshot is read.
    fn snapshot(&mut self, clock: Clock, latency: &mut Histogram) -> anyhow::Result<Snapshot> {
        let before = proportional(std::process::id())?;
        let begin = Instant::now();
        let child = pausing_child().context("cannot fork")?;
        let fork = begin.elapsed();
        let (start, then) = (self.arena.addr(), self.generations.clone());
        let verdict = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read(&child, start, &then));
            self.rewrite(clock, latency);
            reader.join()
        });
        let verdict = verdict.map_err(|_| anyhow::anyhow!("the reader has panicked"))??;
        let after = proportional(std::process::id())? + proportional(child.id())?;
        Ok(Snapshot { fork, extra_bytes: after.saturating_sub(before), verdict })
    }

    /// Rewrites each page at most once, in random order.
    fn rewrite(&mut self, clock: Clock, latency: &mut Histogram) {
        let pages = self.generations.len();
        let mut order: Vec<usize> = (0..pages).collect();
        let wanted = pages * self.rewrite_percent / 100;
        for done in 0..wanted {
            order.swap(done, done + place(self.rng.next(), pages - done));
            let page = order[done];
            self.generations[page] += 1;
            let value = header(page, self.generations[page]);
            let word = &mut self.arena.words_mut()[page * PAGE_WORDS];
            let begin = Instant::now();
            *black_box(word) = value;
            latency.record(nanoseconds(begin.elapsed()));
            if !clock.runs() {
                break;
            }
        }
    }
}

/// The first word of a page.
fn header(page: usize, generation: u32) -> u64 {
    stamp(((page as u64) << 32) | u64::from(generation))
}

/// Whether all words of a page are what they should be.
fn is_right(words: impl Iterator<Item = u64>, page: usize, generation: u32) -> bool {
    let body = stamp(page as u64);
    let expected = std::iter::once(header(page, generation)).chain(std::iter::repeat(body));
    words.zip(expected).all(|(word, expected)| word == expected)
}

/// Reads all of the child's pages.
fn read(child: &PausingChild, start: u64, generations: &[u32]) -> anyhow::Result<Verdict> {
    let path = format!("/proc/{}/mem", child.id());
    let memory = File::open(&path).with_context(|| format!("cannot open {path}"))?;
    let (mut verdict, mut buffer) = (Verdict::default(), vec![0; READ_PAGES * PAGE]);
    for (group, some) in generations.chunks(READ_PAGES).enumerate() {
        let first = group * READ_PAGES;
        let bytes = &mut buffer[..some.len() * PAGE];
        let read = memory.read_exact_at(bytes, start + (first * PAGE) as u64);
        read.with_context(|| format!("cannot read {path}"))?;
        for ((page, generation), bytes) in (first..).zip(some).zip(bytes.chunks_exact(PAGE)) {
            let words = bytes.chunks_exact(8);
            let words = words.map(|w| u64::from_ne_bytes(w.try_into().unwrap_or_default()));
            verdict.count(is_right(words, page, *generation));
        }
    }
    Ok(verdict)
}

/// Memory of a process, with its share of what it shares, bytes.
fn proportional(pid: u32) -> anyhow::Result<u64> {
    sized(Path::new(&format!("/proc/{pid}/smaps_rollup")), "Pss")
}

impl Workload for ForkCow {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let pages = self.generations.len();
        for (page, words) in self.arena.words_mut().chunks_exact_mut(PAGE_WORDS).enumerate() {
            words.fill(stamp(page as u64));
            words[0] = header(page, 0);
            progress.step(page, pages, "filling");
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, mut latency) = (Clock::start(time), Histogram::default());
        let (mut forks, mut extra, mut verdict) = (Vec::new(), 0, Verdict::default());
        loop {
            let snapshot = self.snapshot(clock, &mut latency)?;
            forks.push(snapshot.fork.as_secs_f64() * 1e3);
            extra = extra.max(snapshot.extra_bytes);
            verdict.add(snapshot.verdict);
            if !clock.runs_with(progress) {
                break;
            }
        }
        let measured = Measured::default().with("extra_mib", mib(extra));
        let measured = measured.with("fork_ms", stats::median(&forks).unwrap_or(f64::NAN));
        Ok(measured.with_latency(latency).with_wrong(verdict.wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for (page, words) in self.arena.words().chunks_exact(PAGE_WORDS).enumerate() {
            verdict.count(is_right(words.iter().copied(), page, self.generations[page]));
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let words = self.arena.words_mut();
        words[words.len() / 2 + 7] ^= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_changed_is_found() -> anyhow::Result<()> {
        let params = Params { mib: 2, rewrite_percent: 50 };
        let setup = Setup { seed: 1, advise: false, scratch: None, root: "/".into() };
        let mut cow = ForkCow::new(&params, &setup)?;
        cow.fill(&mut Progress::silent())?;
        let child = pausing_child().context("cannot fork")?;
        let (start, mut then) = (cow.arena.addr(), cow.generations.clone());
        cow.rewrite(Clock::start(Duration::from_secs(60)), &mut Histogram::default());
        // The child sees nothing of what was rewritten since.
        assert_eq!(read(&child, start, &then)?, Verdict { checked: 512, wrong: 0 });
        assert_eq!(cow.generations.iter().filter(|generation| **generation == 1).count(), 256);
        then[9] += 1;
        assert_eq!(read(&child, start, &then)?.wrong, 1);
        Ok(())
    }
}
