//! `mergeable`: pages of which many are equal, offered to the kernel for merging.

use super::kit::{
    Clock, MIB, Measured, PAGE, PAGE_WORDS, Progress, Setup, Verdict, Workload, mib, mix, place,
    stamp,
};
use anyhow::Context;
use hugewise_core::lab::kind::Params;
use hugewise_core::sim::rng::Rng;
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Reads between two looks at the clock.
const BATCH: u64 = 1024;

/// See the module's text.
#[derive(Debug)]
pub(super) struct MergeablePages {
    arena: Arena,
    content: Content,
    rng: Rng,
    root: PathBuf,
}

/// What stands where.
#[derive(Debug, Clone, Copy)]
struct Content {
    seed: u64,
    duplicate_percent: u64,
}

impl Content {
    fn word(self, page: usize, word: usize) -> u64 {
        let page = page as u64;
        let alike = mix(page ^ self.seed) % 100 < self.duplicate_percent;
        stamp(word as u64 + if alike { 0 } else { (page + 1) << 16 })
    }
}

impl MergeablePages {
    /// Maps the memory and offers it.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let mut arena = setup.arena(params.size("mib") * MIB)?;
        let offered = arena.advise(0..arena.len(), LocalAdvice::Mergeable);
        offered.context("this kernel cannot merge pages (KSM)")?;
        let duplicate_percent = params.count("duplicate_percent");
        let content = Content { seed: setup.seed, duplicate_percent };
        Ok(Self { arena, content, rng: Rng::new(setup.seed), root: setup.root.clone() })
    }

    /// With what the kernel has merged, or why that is not known.
    fn with_merged(&self, measured: Measured) -> Measured {
        let read = |path: &str| fs::read_to_string(self.root.join(path)).ok();
        let run = read("sys/kernel/mm/ksm/run").unwrap_or_default();
        let measured = match run.trim() {
            "1" => measured,
            run => measured.with_note(format!("KSM is not running (ksm/run is '{run}').")),
        };
        // Pages of this process that are merged (Linux 5.19).
        let pages = read("proc/self/ksm_merging_pages");
        match pages.and_then(|text| text.trim().parse::<u64>().ok()) {
            Some(pages) => measured.with("merged_mib", mib(pages * PAGE as u64)),
            None => measured.with_note("This kernel does not say what is merged of a process."),
        }
    }
}

impl Workload for MergeablePages {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (content, pages) = (self.content, self.arena.len() / PAGE);
        for (page, words) in self.arena.words_mut().chunks_exact_mut(PAGE_WORDS).enumerate() {
            for (at, word) in words.iter_mut().enumerate() {
                *word = content.word(page, at);
            }
            progress.step(page, pages, "filling");
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, words) = (Clock::start(time), self.arena.words());
        let (mut reads, mut wrong) = (0, 0);
        while clock.runs_with(progress) {
            for _ in 0..BATCH {
                let at = place(self.rng.next(), words.len());
                let expected = self.content.word(at / PAGE_WORDS, at % PAGE_WORDS);
                wrong += u64::from(words[at] != expected);
            }
            reads += BATCH;
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(reads));
        Ok(self.with_merged(measured.with_wrong(wrong)))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for (at, word) in self.arena.words().iter().enumerate() {
            verdict.count(*word == self.content.word(at / PAGE_WORDS, at % PAGE_WORDS));
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let words = self.arena.words_mut();
        words[words.len() / 2] ^= 1;
    }
}
