//! What the workloads of experiments share.

use crate::protocol::{Report, Request};
use anyhow::Context;
use hugewise_base::parse::{buddyinfo, meminfo};
use hugewise_base::stats::Histogram;
use hugewise_experiment::metric;
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes.
pub(super) const MIB: usize = 1 << 20;
/// Bytes of a base page of x86-64.
pub(super) const PAGE: usize = 4096;
/// Bytes of a huge page of x86-64, by which all memory is aligned.
pub(super) const HUGE: usize = 2 * MIB;
/// Words of a base page.
pub(super) const PAGE_WORDS: usize = PAGE / 8;
/// Buddy order of a huge page.
pub(super) const HUGE_ORDER: usize = 9;
/// Odd, with bits that look random: 2 to the power 64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Time between two looks of [`Clock::wait`] at the time.
const NAP: Duration = Duration::from_millis(20);
/// Time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// A workload. It is made without touching its memory, filled once, and then asked in any order.
pub(super) trait Workload: fmt::Debug {
    /// Writes everything for the first time.
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured>;

    /// Works for this time, and checks what it reads.
    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured>;

    /// Compares all data with what was written.
    fn verify(&mut self, progress: &mut Progress) -> anyhow::Result<Verdict>;

    /// The second phase; `None` where there is none.
    fn change(&mut self) -> anyhow::Result<Option<Measured>> {
        Ok(None)
    }

    /// Gives back what it holds; `None` where that is not its purpose.
    fn release(&mut self) -> anyhow::Result<Option<Measured>> {
        Ok(None)
    }

    /// What not every workload does: [`Request::Access`], [`Request::Faults`], [`Request::Free`];
    /// `None` where it does not.
    fn also(&mut self, _request: Request) -> anyhow::Result<Option<Measured>> {
        Ok(None)
    }

    /// Damages its data, for tests: `verify` has to find it.
    fn corrupt(&mut self);
}

/// What all kinds are made with.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    /// What is random is the same for the same seed.
    pub(super) seed: u64,
    /// Huge pages are asked for.
    pub(super) advise: bool,
    /// Where files may be written.
    pub(super) scratch: Option<PathBuf>,
    /// Where `/proc` is.
    pub(super) root: PathBuf,
}

impl Setup {
    /// Maps at least so many bytes, whole huge pages.
    pub(super) fn arena(&self, bytes: usize) -> anyhow::Result<Arena> {
        let len = bytes.max(1).checked_next_multiple_of(HUGE).context("too much memory")?;
        let arena = Arena::new(len, HUGE);
        let mut arena = arena.with_context(|| format!("cannot map {} MiB", len / MIB))?;
        if self.advise {
            let wanted = arena.advise(0..len, LocalAdvice::HugePage);
            wanted.context("this kernel has no huge pages to ask for")?;
        }
        Ok(arena)
    }

    /// The directory for files.
    pub(super) fn scratch(&self) -> anyhow::Result<&Path> {
        self.scratch.as_deref().context("this workload writes files: give it --scratch DIR")
    }
}

/// What a step found, and how much data was wrong meanwhile.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    /// What is said.
    pub(super) report: Report,
    /// Things that were wrong.
    pub(super) wrong: u64,
}

impl Measured {
    /// With one more metric; one that is no number is left out.
    pub(super) fn with(mut self, name: &str, value: f64) -> Self {
        debug_assert!(metric::find(name).is_some(), "no metric has the name '{name}'");
        if value.is_finite() {
            self.report.values.insert(name.to_owned(), value);
        }
        self
    }

    /// With the usual quantiles of a latency, and all of it.
    pub(super) fn with_latency(mut self, latency: Histogram) -> Self {
        let quantiles = [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("worst_us", 1.0)];
        for (name, q) in quantiles {
            if let Some(ns) = latency.quantile(q) {
                self = self.with(name, ns as f64 / 1e3);
            }
        }
        self.with_histogram("latency", latency)
    }

    /// With one more histogram, of nanoseconds.
    pub(super) fn with_histogram(mut self, name: &str, histogram: Histogram) -> Self {
        self.report.histograms.insert(name.to_owned(), histogram);
        self
    }

    /// With a sentence for the reader.
    pub(super) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.report.notes.push(note.into());
        self
    }

    /// With the rates that a pace kept.
    pub(super) fn with_pace(mut self, name: &str, pace: Pace) -> Self {
        self.report.series.insert(name.to_owned(), pace.points);
        self
    }

    /// With so much wrong data.
    pub(super) fn with_wrong(mut self, wrong: u64) -> Self {
        self.wrong += wrong;
        self
    }
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Things compared.
    pub(super) checked: u64,
    /// Things that are wrong.
    pub(super) wrong: u64,
}

impl Verdict {
    /// Counts one thing.
    pub(super) fn count(&mut self, right: bool) {
        self.checked += 1;
        self.wrong += u64::from(!right);
    }

    /// Counts the things of another comparison, too.
    pub(super) fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.wrong += other.wrong;
    }
}

/// Where progress is said.
type Say = Box<dyn FnMut(f64, &str)>;

/// Says now and then how far a long step is.
pub(super) struct Progress {
    say: Say,
    last: Instant,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Progress {
    /// Says it to `say`: percent, and with what it is busy.
    pub(super) fn new(say: Say) -> Self {
        Self { say, last: Instant::now() }
    }

    /// Says it to nobody.
    pub(super) fn silent() -> Self {
        Self::new(Box::new(|_, _| {}))
    }

    /// `done` of `all` is done; said if nothing was for a while.
    pub(super) fn step(&mut self, done: usize, all: usize, text: &str) {
        if self.last.elapsed() >= PROGRESS_INTERVAL {
            self.last = Instant::now();
            (self.say)(100.0 * done as f64 / all.max(1) as f64, text);
        }
    }
}

/// The time that a step may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    begin: Instant,
    time: Duration,
}

impl Clock {
    /// Runs from now on.
    pub(super) fn start(time: Duration) -> Self {
        Self { begin: Instant::now(), time }
    }

    /// Whether time is left.
    pub(super) fn runs(&self) -> bool {
        self.begin.elapsed() < self.time
    }

    /// What is left.
    pub(super) fn left(&self) -> Duration {
        self.time.saturating_sub(self.begin.elapsed())
    }

    /// Whether time is left, and says how far it is.
    pub(super) fn runs_with(&self, progress: &mut Progress) -> bool {
        let spent = self.begin.elapsed();
        let ms = |time: Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
        progress.step(ms(spent), ms(self.time), "measuring");
        spent < self.time
    }

    /// Waits until the time is over, and says how far it is.
    pub(super) fn wait(&self, progress: &mut Progress) {
        while self.runs_with(progress) {
            std::thread::sleep(self.left().min(NAP));
        }
    }

    /// Seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// So many things a second since the start.
    pub(super) fn rate(&self, count: u64) -> f64 {
        count as f64 / self.seconds().max(1e-9)
    }
}

/// Operations a second, step by step.
#[derive(Debug)]
pub(super) struct Pace {
    begin: Instant,
    last: Instant,
    count: u64,
    /// Seconds of two things in turn.
    both: (f64, f64),
    points: Vec<(f64, f64)>,
}

impl Pace {
    /// Long enough for a stable rate, and a small part of what a manager takes.
    const STEP: Duration = Duration::from_millis(250);

    /// Starts now.
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self { begin: now, last: now, count: 0, both: (0.0, 0.0), points: Vec::new() }
    }

    /// So many were done in a turn that took so long.
    pub(super) fn turn(&mut self, count: u64, spent_s: f64) {
        let rate = count as f64 / spent_s.max(1e-9);
        self.points.push((self.begin.elapsed().as_secs_f64(), rate));
    }

    /// So many more were done.
    pub(super) fn add(&mut self, count: u64) {
        self.count += count;
        let step = self.last.elapsed();
        if step >= Self::STEP {
            let rate = self.count as f64 / step.as_secs_f64();
            self.points.push((self.begin.elapsed().as_secs_f64(), rate));
            (self.last, self.count) = (Instant::now(), 0);
        }
    }

    /// As much was done in two ways, the one in `this_s`, the other in `other_s`: how many times
    /// as fast the one is.
    pub(super) fn in_turn(&mut self, this_s: f64, other_s: f64) {
        self.both = (self.both.0 + this_s, self.both.1 + other_s);
        if self.last.elapsed() >= Self::STEP {
            self.points.push((self.begin.elapsed().as_secs_f64(), self.both.1 / self.both.0));
            (self.last, self.both) = (Instant::now(), (0.0, 0.0));
        }
    }
}

/// A duration for a histogram.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// An index as a number from memory; one that no memory has where it is too large.
pub(super) fn index(word: u64) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

/// A random number below `bound` (not 0): the high half of a product needs no division.
pub(super) fn place(random: u64, bound: usize) -> usize {
    index(u64::try_from((u128::from(random) * bound as u128) >> 64).unwrap_or(0))
}

/// What stands at a place: cheap, never 0, different for places that are near.
pub(super) fn stamp(place: u64) -> u64 {
    place.wrapping_mul(GOLDEN).rotate_left(32) | 1
}

/// Mixes all bits, one to one (the last step of SplitMix64).
pub(super) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A sum of words in their order: any change of one word changes it.
pub(super) fn checksum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, word| sum.rotate_left(5).wrapping_add(*word).wrapping_mul(3))
}

/// Bytes as MiB.
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// A size of a file of lines like `VmRSS:  12 kB`, bytes.
pub(super) fn sized(path: &Path, name: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path:?}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let line = line.with_context(|| format!("{path:?} has no {name}"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}

/// Memory that the machine has available, bytes.
pub(super) fn available(root: &Path) -> anyhow::Result<u64> {
    let path = root.join("proc/meminfo");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
    let bytes = meminfo::parse(&text).value.mem_available_bytes;
    bytes.with_context(|| format!("{path:?} has no MemAvailable"))
}

/// The machine's unusable free space index at the order of a huge page.
pub(super) fn fmfi(root: &Path) -> anyhow::Result<f64> {
    let path = root.join("proc/buddyinfo");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path:?}"))?;
    let index = buddyinfo::fmfi_total(&buddyinfo::parse(&text).value, HUGE_ORDER);
    index.with_context(|| format!("{path:?} names no free memory"))
}
