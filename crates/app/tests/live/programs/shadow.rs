//! Writers that check their memory against a copy all the time.
//!
//! What a manager must never do is lose a write. Here are the writes that it could lose: to pages
//! that are zero at one moment and hold data at the next, and to pages that were just dropped, by
//! several threads, without pause.

use super::kit::{ERROR, MIB, OK, end_with_parent, huge, say, say_ready, unknown};
use crate::kit::trial_of_any_kernel;
use crate::machine::Turn;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use hugewise_base::rng::Rng;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_workloads::protocol::Event;
use libtest_mimic::Trial;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Threads that write, each into memory of its own.
const WRITERS: usize = 2;
/// Steps between two looks at the clock.
const BATCH: u32 = 1024;
/// One step in so many overwrites pages with zeros; a third of all pages then is zero at any time.
const STEPS_PER_CLEAR: u64 = 64;
/// Most pages overwritten with zeros at once.
const CLEAR_PAGES: u64 = 32;
/// Most pages dropped at once.
const DROP_PAGES: u64 = 64;

#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    /// Size, MiB; whole huge pages for each writer. The copy takes as much again
    #[arg(long)]
    mib: usize,
    /// Said of the memory (not of the copy) before the first touch
    #[arg(long, value_parser = ["huge"])]
    advise: Option<String>,
    /// Ranges of pages that each thread drops in a second; each costs a huge page
    #[arg(long, default_value_t = 10)]
    drops: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What they did and found so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Random words written.
    pub(crate) updates: u64,
    /// Pages overwritten with zeros.
    cleared: u64,
    /// Ranges of pages dropped.
    drops: u64,
    /// Random words read back and compared.
    reads: u64,
    /// Words that were not what the copy says, when read and when everything was compared.
    pub(crate) mismatches: u64,
}

/// Runs the program.
pub(super) fn run(args: &[OsString]) -> anyhow::Result<u8> {
    end_with_parent()?;
    let mut shadow = Shadow::fill(&Args::try_parse_from(args)?)?;
    say_ready()?;
    loop {
        // Nobody writes while a request is served.
        let asked = shadow.write_until(|| std::io::stdin().lines().next().transpose())?;
        match asked.as_deref().unwrap_or("exit") {
            "exit" => break,
            "verify" => {
                if !shadow.verify()? {
                    break;
                }
            }
            "counts" => say(&shadow.total())?,
            other => return Err(unknown(other)),
        }
    }
    Ok(if shadow.total().mismatches == 0 { OK } else { ERROR })
}

/// All writers.
struct Shadow {
    writers: Vec<Writer>,
    page: usize,
}

impl Shadow {
    fn fill(args: &Args) -> anyhow::Result<Self> {
        let (len, page) = (args.mib * MIB / WRITERS, rustix::param::page_size());
        let even = len > 0 && len.is_multiple_of(huge());
        ensure!(even, "--mib {} is no multiple of {}", args.mib, WRITERS * huge() / MIB);
        ensure!(args.drops > 0, "--drops 0 leaves out what is to be tried");
        let seeds = (0..WRITERS as u64).map(|writer| args.seed.wrapping_mul(1 << 32) + writer);
        let writers = seeds.map(|seed| Writer::fill(args, len, seed)).collect::<Result<_, _>>()?;
        Ok(Self { writers, page })
    }

    /// Lets everybody write until `wait` returns.
    fn write_until<T>(&mut self, wait: impl FnOnce() -> std::io::Result<T>) -> anyhow::Result<T> {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let spawn = |writer| scope.spawn(|| Writer::run(writer, &stop));
            let threads: Vec<_> = self.writers.iter_mut().map(spawn).collect();
            let waited = wait();
            stop.store(true, Ordering::Relaxed);
            for thread in threads {
                match thread.join() {
                    Ok(outcome) => outcome.context("cannot drop pages")?,
                    Err(_) => bail!("a writer panicked"),
                }
            }
            Ok(waited?)
        })
    }

    /// Compares everything and says what came of it; whether all was right.
    fn verify(&mut self) -> anyhow::Result<bool> {
        let wrong_at = self.compare();
        say(&match wrong_at {
            None => Event::Verified { checked: self.pages() as u64 },
            Some(at) => Event::Mismatch { wrong: 1, during: format!("verify, at {at:#x}") },
        })?;
        Ok(wrong_at.is_none())
    }

    /// Compares everything; the address of the first word that is or was wrong.
    fn compare(&mut self) -> Option<u64> {
        self.writers.iter_mut().for_each(Writer::compare);
        self.writers.iter().find_map(|writer| writer.wrong_at)
    }

    fn pages(&self) -> usize {
        self.writers.iter().map(|writer| writer.memory.len() / self.page).sum()
    }

    fn total(&self) -> Counts {
        self.writers.iter().fold(Counts::default(), |sum, writer| Counts {
            updates: sum.updates + writer.counts.updates,
            cleared: sum.cleared + writer.counts.cleared,
            drops: sum.drops + writer.counts.drops,
            reads: sum.reads + writer.counts.reads,
            mismatches: sum.mismatches + writer.counts.mismatches,
        })
    }
}

/// One thread's memory and its copy.
struct Writer {
    memory: Arena,
    /// No huge page ever stands here: no manager has a reason to touch it.
    copy: Arena,
    page: usize,
    rng: Rng,
    /// Time between two drops.
    pause: Duration,
    counts: Counts,
    /// Address of the first word found wrong.
    wrong_at: Option<u64>,
}

impl Writer {
    fn fill(args: &Args, len: usize, seed: u64) -> anyhow::Result<Self> {
        let memory = Arena::new(len, huge()).context("cannot map memory")?;
        let copy = Arena::new(len, huge()).context("cannot map the copy")?;
        let (page, rng) = (rustix::param::page_size(), Rng::new(seed));
        let (pause, counts) = (Duration::from_secs(1) / args.drops, Counts::default());
        let mut writer = Self { memory, copy, page, rng, pause, counts, wrong_at: None };
        // Fails where the kernel has no huge pages: then nothing is to be kept away.
        let _ = writer.copy.advise(0..len, LocalAdvice::NoHugePage);
        if args.advise.is_some() {
            let wanted = writer.memory.advise(0..len, LocalAdvice::HugePage);
            wanted.context("cannot ask for huge pages")?;
        }
        for first in (0..len).step_by(page) {
            let at = first + writer.random_word(page);
            writer.update(at);
        }
        Ok(writer)
    }

    fn run(&mut self, stop: &AtomicBool) -> std::io::Result<()> {
        let mut next_drop = Instant::now() + self.pause;
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..BATCH {
                self.step();
            }
            if Instant::now() >= next_drop {
                self.drop_pages()?;
                next_drop = Instant::now() + self.pause;
            }
        }
        Ok(())
    }

    fn step(&mut self) {
        let at = self.random_word(self.memory.len());
        match self.rng.below(2 * STEPS_PER_CLEAR) {
            0 | 1 => self.clear(),
            turn if turn % 2 == 0 => self.update(at),
            _ => self.check(at),
        }
    }

    /// Offset of a word below `len`.
    fn random_word(&mut self, len: usize) -> usize {
        usize::try_from(self.rng.below(len as u64 / 8)).unwrap_or(0) * 8
    }

    /// At most `most` pages somewhere.
    fn random_pages(&mut self, most: u64) -> std::ops::Range<usize> {
        let start = self.random_word(self.memory.len()) / self.page * self.page;
        let count = usize::try_from(1 + self.rng.below(most)).unwrap_or(1);
        start..(start + count * self.page).min(self.memory.len())
    }

    fn update(&mut self, at: usize) {
        let word = self.rng.next().to_ne_bytes();
        self.memory.as_mut_slice()[at..at + 8].copy_from_slice(&word);
        self.copy.as_mut_slice()[at..at + 8].copy_from_slice(&word);
        self.counts.updates += 1;
    }

    fn clear(&mut self) {
        let range = self.random_pages(CLEAR_PAGES);
        self.counts.cleared += (range.len() / self.page) as u64;
        self.memory.as_mut_slice()[range.clone()].fill(0);
        self.copy.as_mut_slice()[range].fill(0);
    }

    fn drop_pages(&mut self) -> std::io::Result<()> {
        let range = self.random_pages(DROP_PAGES);
        self.memory.advise(range.clone(), LocalAdvice::DontNeed)?;
        self.copy.as_mut_slice()[range].fill(0);
        self.counts.drops += 1;
        Ok(())
    }

    fn check(&mut self, at: usize) {
        // The compiler must not remember what it wrote.
        let memory = black_box(self.memory.as_slice());
        let wrong = memory[at..at + 8] != self.copy.as_slice()[at..at + 8];
        self.counts.reads += 1;
        if wrong {
            self.found_wrong(at);
        }
    }

    fn found_wrong(&mut self, at: usize) {
        self.counts.mismatches += 1;
        self.wrong_at.get_or_insert(self.memory.addr() + at as u64);
    }

    /// Compares all words.
    fn compare(&mut self) {
        let (memory, copy) = (black_box(self.memory.as_slice()), self.copy.as_slice());
        let pages = memory.chunks(self.page).zip(copy.chunks(self.page)).enumerate();
        let unequal = pages.filter(|(_, (page, copy))| page != copy);
        let words = unequal.flat_map(|(number, (page, copy))| {
            let words = page.chunks_exact(8).zip(copy.chunks_exact(8)).enumerate();
            let wrong = words.filter(|(_, (word, copy))| word != copy);
            wrong.map(move |(index, _)| number * page.len() + index * 8)
        });
        let wrong: Vec<_> = words.collect();
        for at in wrong {
            self.found_wrong(at);
        }
    }
}

/// Whether it finds what it is there for.
pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial_of_any_kernel("writers_find_a_lost_write_and_nothing_else", finds_a_lost_write),
        trial_of_any_kernel("writers_find_a_wrong_word_while_they_read", finds_a_wrong_word),
        trial_of_any_kernel("writers_leave_some_pages_zero_and_most_not", leaves_some_pages_zero),
        trial_of_any_kernel("writers_refuse_nonsense", refuses_nonsense),
    ]
}

fn shadow(words: &[&str]) -> anyhow::Result<Shadow> {
    Shadow::fill(&Args::try_parse_from(words)?)
}

fn write_for(shadow: &mut Shadow, ms: u64) -> anyhow::Result<()> {
    shadow.write_until(|| {
        std::thread::sleep(Duration::from_millis(ms));
        Ok(())
    })
}

fn finds_a_lost_write(_: &Turn) -> anyhow::Result<()> {
    for advise in [&[][..], &["--advise", "huge"]] {
        let words = ["--mib", "8", "--drops", "200"];
        let words: Vec<_> = words.iter().chain(advise).copied().collect();
        let mut shadow = shadow(&words)?;
        write_for(&mut shadow, 100)?;
        ensure!((shadow.pages(), shadow.compare()) == (2048, None));
        write_for(&mut shadow, 100)?;
        let counts = shadow.total();
        for count in [counts.updates, counts.cleared, counts.drops, counts.reads] {
            ensure!(count > 0, "{counts:?}");
        }
        ensure!((shadow.compare(), shadow.total().mismatches) == (None, 0));
        let last = &mut shadow.writers[WRITERS - 1];
        let at = last.memory.len() - 3;
        last.memory.as_mut_slice()[at] ^= 1;
        let address = last.memory.addr() + at as u64 - 5;
        ensure!((shadow.compare(), shadow.total().mismatches) == (Some(address), 1));
    }
    Ok(())
}

fn finds_a_wrong_word(_: &Turn) -> anyhow::Result<()> {
    let mut shadow = shadow(&["--mib", "4"])?;
    let writer = &mut shadow.writers[0];
    writer.check(4096);
    ensure!(writer.counts.mismatches == 0);
    writer.memory.as_mut_slice()[4096] ^= 1;
    writer.check(4096);
    ensure!((writer.counts.reads, writer.counts.mismatches) == (2, 1));
    Ok(())
}

fn leaves_some_pages_zero(_: &Turn) -> anyhow::Result<()> {
    let mut shadow = shadow(&["--mib", "4"])?;
    write_for(&mut shadow, 300)?;
    let pages = shadow.writers.iter().flat_map(|w| w.memory.as_slice().chunks(w.page));
    let zero = pages.filter(|page| page.iter().all(|byte| *byte == 0)).count();
    ensure!((200..=500).contains(&zero), "{zero} of 1024");
    Ok(())
}

fn refuses_nonsense(_: &Turn) -> anyhow::Result<()> {
    for words in [["--mib", "6"], ["--mib", "0"], ["--mib=4", "--drops=0"]] {
        ensure!(shadow(&words).is_err(), "{words:?}");
    }
    Ok(())
}
