//! `merge`: memory that is partly in use, and partly the same again and again, which same-page
//! merging (KSM) may make one.

use super::kit::{
    Clock, MIB, Measured, PAGE, PAGE_WORDS, Progress, Setup, Verdict, Workload, mib, place, stamp,
};
use anyhow::Context;
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::Merge as Params;
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::path::Path;
use std::time::Duration;

/// Updates between two looks at the clock.
const BATCH: u64 = 4096;

/// The memory. The cold part holds the same `period` words again and again; from `hot` on no word
/// equals another.
#[derive(Debug)]
pub(super) struct Merge {
    memory: Arena,
    hot: usize,
    period: usize,
    rng: Rng,
}

impl Merge {
    /// Maps the memory, and lets the kernel merge it.
    pub(super) fn new(params: &Params, setup: &Setup) -> anyhow::Result<Self> {
        let mut memory = setup.arena(params.mib * MIB)?;
        let advised = memory.advise(0..memory.len(), LocalAdvice::Mergeable);
        advised.context("this kernel merges no pages (CONFIG_KSM)")?;
        let pages = memory.len() / PAGE;
        let cold = (pages - pages * params.hot_percent / 100).clamp(1, pages - 1);
        let period = (cold / params.copies).max(1) * PAGE_WORDS;
        Ok(Self { memory, hot: cold * PAGE_WORDS, period, rng: Rng::new(setup.seed) })
    }

    /// What a word holds, its lowest bit aside, which updates change.
    fn expected(hot: usize, period: usize, at: usize) -> u64 {
        stamp(if at < hot { at % period } else { at } as u64)
    }
}

/// Memory of this process in merged pages (Linux 5.19); no number where the kernel does not say it.
fn merged_mib(root: &Path) -> f64 {
    let text = std::fs::read_to_string(root.join("proc/self/ksm_merging_pages"));
    let pages = text.ok().and_then(|text| text.trim().parse::<u64>().ok());
    pages.map_or(f64::NAN, |pages| mib(pages * PAGE as u64))
}

impl Workload for Merge {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (hot, period) = (self.hot, self.period);
        let words = self.memory.words_mut();
        let all = words.len();
        for (at, word) in words.iter_mut().enumerate() {
            *word = Self::expected(hot, period, at);
            if at.is_multiple_of(1 << 20) {
                progress.step(at, all, "filling");
            }
        }
        Ok(Measured::default())
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, hot) = (Clock::start(time), self.hot);
        let words = self.memory.words_mut();
        let (mut updates, mut wrong) = (0, 0);
        while clock.runs_with(progress) {
            for _ in 0..BATCH {
                let at = hot + place(self.rng.next(), words.len() - hot);
                wrong += u64::from(words[at] | 1 != stamp(at as u64));
                words[at] ^= 1;
            }
            updates += BATCH;
        }
        let measured = Measured::default().with("ops_per_s", clock.rate(updates));
        Ok(measured.with("merged_mib", merged_mib(Path::new("/"))).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for (at, word) in self.memory.words().iter().enumerate() {
            verdict.count(*word | 1 == Self::expected(self.hot, self.period, at));
        }
        Ok(verdict)
    }

    fn corrupt(&mut self) {
        let words = self.memory.words_mut();
        words[words.len() / 4] ^= 1 << 40;
    }
}
