//! `fragment-holes`, `fragment-page-cache`: free memory in pieces too small for huge pages.
//!
//! Both take the machine's memory page by page, down to what must stay available, and then free
//! all but random pages: what they hold is little, and hardly a free huge page is left. The less
//! they hold, the more free memory is in pieces; they start with a share and halve it until the
//! index is what was asked for.

mod blocks;
mod cache;
mod hold;
mod holes;

use super::kit::{
    Clock, MIB, Measured, PAGE, Progress, Setup, Verdict, Workload, available, fmfi, mib, mix,
    place,
};
use anyhow::Context;
use blocks::Blocks;
use cache::Files;
use hold::{CHUNK, Hold, Keep, WHOLE};
use holes::Chunks;
use hugewise_base::rng::Rng;
use hugewise_experiment::kinds::Fragment;
use hugewise_linux::cpu::{self, CpuPin};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// With less than this, two pages in a huge page on average, whole huge pages come free.
const LEAST: u64 = 2 * WHOLE / 512;
/// Time between two looks at what is held: a holder must not be a load.
const NAP: Duration = Duration::from_millis(5);
/// Pages looked at in between.
const LOOKS: usize = 32;

/// `fragment-holes`.
pub(super) fn holes(params: &Fragment, setup: &Setup) -> Fragmenter<Chunks> {
    Fragmenter::new(params, setup, Chunks::default())
}

/// `fragment-page-cache`.
pub(super) fn page_cache(params: &Fragment, setup: &Setup) -> anyhow::Result<Fragmenter<Files>> {
    Ok(Fragmenter::new(params, setup, Files::create(setup)?))
}

/// How much may be taken.
#[derive(Debug)]
struct Limits {
    leave: u64,
    most: u64,
    root: PathBuf,
}

impl Limits {
    /// The index above which the kernel compacts memory unasked; `None` where it never does.
    ///
    /// Since Linux 5.9: its upper mark is 10 above its lower one, which is 100 less the setting,
    /// percent (`fragmentation_score_wmark` of `mm/compaction.c`).
    fn tolerated(&self) -> anyhow::Result<Option<f64>> {
        let path = self.root.join("proc/sys/vm/compaction_proactiveness");
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        let setting: u8 = text.trim().parse().with_context(|| format!("{path:?}: '{text}'"))?;
        let lower = 100u8.saturating_sub(setting).max(5);
        Ok((setting > 0).then(|| f64::from(lower + 10).min(100.0) / 100.0))
    }

    /// Takes memory. Returns what ended it.
    fn grow(
        &self,
        hold: &mut dyn Hold,
        clock: &Clock,
        progress: &mut Progress,
    ) -> anyhow::Result<&'static str> {
        // What a file holds stays available, by the kernel's account: so the first look decides.
        let spare = available(&self.root)?.saturating_sub(self.leave);
        let most = spare.min(self.most);
        loop {
            let taken = (hold.pages() * PAGE) as u64;
            let all = usize::try_from(most).unwrap_or(usize::MAX);
            progress.step(hold.pages() * PAGE, all, "taking memory");
            if taken + CHUNK as u64 > most {
                return Ok(if spare < self.most { "leave_mib" } else { "max_mib" });
            }
            if available(&self.root)? < self.leave + CHUNK as u64 {
                return Ok("leave_mib");
            }
            if !clock.runs() {
                return Ok("max_s");
            }
            if !hold.grow()? {
                return Ok("the space in its directory");
            }
        }
    }
}

/// Memory that is held in pieces, and the limits that it keeps.
#[derive(Debug)]
pub(super) struct Fragmenter<H> {
    hold: H,
    keep: Keep,
    first_share: u64,
    wanted: f64,
    limits: Limits,
    time: Duration,
    rng: Rng,
    blocks: Blocks,
    free_blocks_max: u64,
    /// Share of what is held that is pinned, out of [`WHOLE`].
    pinned_share: u64,
    pinned_pages: usize,
    /// See [`Fragmenter::release`].
    pin: Option<CpuPin>,
}

impl<H: Hold> Fragmenter<H> {
    fn new(params: &Fragment, setup: &Setup, hold: H) -> Self {
        Self {
            hold,
            keep: Keep { seed: mix(setup.seed), share: WHOLE },
            first_share: params.hold_percent * WHOLE / 100,
            wanted: params.fmfi_percent as f64 / 100.0,
            limits: Limits {
                leave: (params.leave_mib * MIB) as u64,
                most: (params.max_mib * MIB) as u64,
                root: setup.root.clone(),
            },
            time: Duration::from_secs(params.max_s),
            rng: Rng::new(setup.seed),
            blocks: Blocks::default(),
            free_blocks_max: params.free_blocks_max as u64,
            pinned_share: params.pinned_percent * WHOLE / 100,
            pinned_pages: 0,
            pin: None,
        }
    }

    fn thin(&mut self, clock: &Clock, progress: &mut Progress) -> anyhow::Result<()> {
        let mut share = self.first_share;
        loop {
            self.keep.share = share;
            self.hold.thin(self.keep).context("cannot give pages back")?;
            let index = fmfi(&self.limits.root)?;
            if index >= self.wanted || share / 2 < LEAST || !clock.runs() {
                return Ok(());
            }
            progress.step(0, 1, "giving back more");
            share /= 2;
        }
    }

    fn kept(&self) -> impl Iterator<Item = usize> + use<H> {
        let keep = self.keep;
        (0..self.hold.pages()).filter(move |page| keep.has(*page))
    }

    /// Has the kernel hold a random part of what is kept where it is.
    fn pin(&mut self) -> anyhow::Result<()> {
        let chosen = Keep { seed: mix(self.keep.seed), share: self.pinned_share };
        let pages: Vec<usize> = self.kept().filter(|page| chosen.has(*page)).collect();
        self.pinned_pages = pages.len();
        self.hold.pin(&pages)
    }

    fn report(&self, index: f64) -> Measured {
        let held = (self.kept().count() * PAGE) as u64 + self.blocks.bytes();
        let pinned = mib((self.pinned_pages * PAGE) as u64);
        let measured = Measured::default().with("fmfi", index).with("held_mib", mib(held));
        measured.with("pinned_mib", pinned)
    }
}

impl<H: Hold> Workload for Fragmenter<H> {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let clock = Clock::start(self.time);
        self.pin = cpu::pin_current_thread(cpu::current_cpu()).ok();
        let end = self.limits.grow(&mut self.hold, &clock, progress)?;
        self.thin(&clock, progress)?;
        self.pin()?;
        let mut left = self.blocks.take(&self.limits.root, self.free_blocks_max)?;
        if self.pinned_pages > 0 {
            left = self.blocks.take_all(&self.limits.root)?;
        }
        let index = fmfi(&self.limits.root)?;
        let mut measured = self.report(index).with("free_blocks", left as f64);
        if left > self.free_blocks_max {
            let most = self.free_blocks_max;
            measured = measured.with_note(format!(
                "{left} blocks of a huge page stayed free, not {most}: nobody could take them."
            ));
        }
        if let Some(most) = self.limits.tolerated()?.filter(|most| index > *most) {
            measured = measured.with_note(format!(
                "The kernel compacts in the background what is above {most:.2} \
                 (vm.compaction_proactiveness)."
            ));
        }
        if index >= self.wanted {
            return Ok(measured);
        }
        let (taken, wanted) = (mib((self.hold.pages() * PAGE) as u64), self.wanted);
        Ok(measured.with_note(format!(
            "The index is {index:.2}, not {wanted:.2}: {end} ended the growth at {taken:.0} MiB."
        )))
    }

    fn measure(&mut self, time: Duration, progress: &mut Progress) -> anyhow::Result<Measured> {
        let (clock, kept) = (Clock::start(time), self.kept().collect::<Vec<_>>());
        let mut wrong = 0;
        while clock.runs_with(progress) {
            for _ in 0..LOOKS.min(kept.len()) {
                let page = kept[place(self.rng.next(), kept.len())];
                wrong += u64::from(!self.hold.is_right(page)?);
            }
            std::thread::sleep(clock.left().min(NAP));
        }
        Ok(self.report(fmfi(&self.limits.root)?).with_wrong(wrong))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let mut verdict = Verdict::default();
        for page in self.kept() {
            verdict.count(self.hold.is_right(page)?);
        }
        Ok(verdict)
    }

    /// What is freed last stays in a list of this CPU, and does not become a part of larger
    /// blocks: random pages, in every block one. So all memory is taken and given back once more.
    /// The kernel hands out small blocks first and large ones last; those given back last are then
    /// pages of few blocks. It needs the same CPU as before.
    fn release(&mut self) -> anyhow::Result<Option<Measured>> {
        self.hold.clear()?;
        (self.blocks, self.pinned_pages) = (Blocks::default(), 0);
        let mut sweep = Chunks::default();
        let clock = Clock::start(self.time);
        self.limits.grow(&mut sweep, &clock, &mut Progress::new(Box::new(|_, _| {})))?;
        sweep.clear()?;
        self.pin = None;
        Ok(Some(self.report(fmfi(&self.limits.root)?)))
    }

    fn corrupt(&mut self) {
        if let Some(page) = self.kept().nth(1) {
            self.hold.corrupt(page);
        }
    }
}

#[cfg(test)]
mod tests;
