//! The program that `hugewise try` looks at: memory with a dense, a sparse and an idle part.
//!
//! Every word is checked, while it works and at the end: what a manager does to a program's
//! memory must never show in its data.

use super::kit::{HUGE, Measured, PAGE, PAGE_WORDS, Progress, Setup, Verdict, Workload};
use crate::demo::{BATCH, FREED_PIECE, PIECE, Parts, SPARSE_STEP, layout};
use crate::pattern;
use crate::protocol::Request;
use anyhow::{Context, ensure};
use hugewise_base::rng::Rng;
use hugewise_base::stats::Histogram;
use hugewise_base::units::Bytes;
use hugewise_experiment::kinds;
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

/// An empty region at both ends of a part, with advice of its own: without it the kernel would
/// merge neighbouring mappings into one, and nobody could tell the parts' huge pages apart.
const FENCE: usize = HUGE;
/// Pages that are written between two looks at whether progress is to be said.
const PAGES_PER_REPORT: usize = 512;
/// One page is rewritten after so many batches of reads.
const BATCHES_PER_REWRITE: u32 = 64;

/// One part: an arena between fences, of which every `step`-th page is in use.
#[derive(Debug)]
struct Part {
    arena: Arena,
    len: usize,
    step: usize,
    /// How often each used page was rewritten.
    generations: Vec<u16>,
    /// Pieces that were freed; empty before that.
    freed: Vec<bool>,
}

impl Part {
    fn map(bytes: u64, step: usize, setup: &Setup) -> anyhow::Result<Self> {
        let len = usize::try_from(bytes)?;
        let end = FENCE + len;
        let arena = Arena::new(end + FENCE, HUGE);
        let mut arena = arena.context("cannot map the workload's memory")?;
        for fence in [0..FENCE, end..end + FENCE] {
            // Fails where the kernel has no huge pages: then nobody looks for them either.
            let _ = arena.advise(fence, LocalAdvice::NoHugePage);
        }
        if setup.advise {
            let wanted = arena.advise(FENCE..end, LocalAdvice::HugePage);
            wanted.context("this kernel has no huge pages to ask for")?;
        }
        Ok(Self { arena, len, step, generations: vec![0; len / PAGE / step], freed: Vec::new() })
    }

    fn range(&self) -> Range<u64> {
        let start = self.start();
        start..start + self.len as u64
    }

    /// Address of the first byte between the fences.
    fn start(&self) -> u64 {
        self.arena.addr() + FENCE as u64
    }

    /// What stands between the fences.
    fn bytes(&self) -> &[u8] {
        &self.arena.as_slice()[FENCE..FENCE + self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.arena.as_mut_slice()[FENCE..FENCE + self.len]
    }

    fn offset(&self, page: usize) -> usize {
        page * self.step * PAGE
    }

    fn fill(&mut self, first_touch: &mut Histogram, progress: &mut Progress) {
        for page in 0..self.generations.len() {
            if page.is_multiple_of(PAGES_PER_REPORT) {
                progress.step(page, self.generations.len(), "writing a part of the memory");
            }
            let offset = self.offset(page);
            let begin = Instant::now();
            // Not read first: before 6.13 that would give base pages in spite of the advice.
            self.arena.set(FENCE + offset, 1);
            first_touch.record(nanoseconds(begin.elapsed()));
            self.rewrite(page, 0);
        }
    }

    fn rewrite(&mut self, page: usize, generation: u16) {
        let (offset, start) = (self.offset(page), self.start());
        let bytes = &mut self.bytes_mut()[offset..offset + PAGE];
        pattern::fill(bytes, start + offset as u64, generation);
        self.generations[page] = generation;
    }

    /// Gives random pieces back.
    fn free(&mut self, rng: &mut Rng, percent: u8) -> anyhow::Result<()> {
        for piece in 0..self.len / FREED_PIECE {
            let free = rng.percent(percent.into());
            if free {
                let start = FENCE + piece * FREED_PIECE;
                let range = start..start + FREED_PIECE;
                self.arena.advise(range, LocalAdvice::DontNeed).context("cannot free a piece")?;
            }
            self.freed.push(free);
        }
        Ok(())
    }

    /// Numbers of the used pages that were not freed.
    fn kept(&self) -> impl Iterator<Item = usize> {
        let freed = |page: &usize| self.freed.get(self.offset(*page) / FREED_PIECE) == Some(&true);
        (0..self.generations.len()).filter(move |page| !freed(page))
    }

    fn mismatches(&self) -> u64 {
        let (memory, start) = (self.bytes(), self.start());
        let pages = self.kept().map(|page| {
            let (offset, generation) = (self.offset(page), self.generations[page]);
            let bytes = &memory[offset..offset + PAGE];
            pattern::mismatches(bytes, start + offset as u64, generation)
        });
        pages.sum()
    }
}

/// Memory with a dense, a sparse and an idle part.
#[derive(Debug)]
pub(super) struct Demo {
    parts: Parts<Part>,
    /// Where the chain of reads is.
    cursor: u64,
    /// What is random in freeing is the same for every variant of a repetition.
    seed: u64,
}

impl Demo {
    /// Maps all parts, touches none.
    pub(super) fn new(params: &kinds::Demo, setup: &Setup) -> anyhow::Result<Self> {
        let layout = layout(Bytes::mib(params.mib), HUGE as u64);
        // New mappings are placed below older ones, and a manager that cannot see accesses goes
        // upwards: what is mapped last is promoted first, should time run out.
        let idle = Part::map(layout.idle, 1, setup)?;
        let sparse = Part::map(layout.sparse, SPARSE_STEP, setup)?;
        let dense = Part::map(layout.dense, 1, setup)?;
        Ok(Self { parts: Parts { dense, sparse, idle }, cursor: 1, seed: setup.seed })
    }

    /// Reads random words of the dense part for `time`; each address depends on the word before,
    /// so that the processor cannot hide a TLB miss behind other reads.
    fn access(&mut self, time: Duration) -> Measured {
        let (end, mut batches) = (Instant::now() + time, Histogram::default());
        let (mut reads, mut spent, mut wrong, mut turn) = (0u64, 0u64, 0u64, 0u32);
        loop {
            let begin = Instant::now();
            if begin >= end {
                break;
            }
            wrong += self.batch();
            let took = nanoseconds(begin.elapsed());
            batches.record(took / BATCH as u64);
            (reads, spent, turn) = (reads + BATCH as u64, spent + took, turn.wrapping_add(1));
            if turn.is_multiple_of(BATCHES_PER_REWRITE) {
                self.rewrite_one();
            }
        }
        let measured = Measured::default().with("access_ns", spent as f64 / reads as f64);
        measured.with_histogram("access", batches).with_wrong(wrong)
    }

    /// One batch of reads; the words among them that did not belong where they stood.
    fn batch(&mut self) -> u64 {
        let (part, mut wrong) = (&self.parts.dense, 0);
        let (memory, start) = (part.bytes(), part.start());
        let words = (part.len / 8) as u64;
        for _ in 0..BATCH {
            // The high half of a product is a random number below `words` without a division.
            let place = (u128::from(self.cursor) * u128::from(words)) >> 64;
            let offset = usize::try_from(place).unwrap_or(0) * 8;
            let bytes = memory[offset..offset + 8].first_chunk::<8>();
            let value = u64::from_ne_bytes(*bytes.unwrap_or(&[0; 8]));
            wrong += u64::from(!pattern::fits(start + offset as u64, value));
            self.cursor = black_box(value.wrapping_add(self.cursor))
                .wrapping_mul(0x9fb2_1c65_1e98_df25)
                .rotate_left(29);
        }
        wrong
    }

    fn rewrite_one(&mut self) {
        let part = &mut self.parts.dense;
        let pages = part.generations.len() as u64;
        let page = (u128::from(pattern::mix(self.cursor)) * u128::from(pages)) >> 64;
        let page = usize::try_from(page).unwrap_or(0);
        part.rewrite(page, part.generations[page].wrapping_add(1));
    }

    /// Gives random pieces of all parts back.
    fn free(&mut self, percent: u8) -> anyhow::Result<Measured> {
        let mut rng = Rng::new(self.seed);
        for part in [&mut self.parts.dense, &mut self.parts.sparse, &mut self.parts.idle] {
            part.free(&mut rng, percent)?;
        }
        Ok(Measured::default())
    }
}

impl Workload for Demo {
    fn fill(&mut self, progress: &mut Progress) -> anyhow::Result<Measured> {
        let mut first_touch = Histogram::default();
        for part in [&mut self.parts.dense, &mut self.parts.sparse, &mut self.parts.idle] {
            part.fill(&mut first_touch, progress);
        }
        let mut filled = Measured::default().with_histogram("first_touch", first_touch);
        let Parts { dense, sparse, idle } = &self.parts;
        let ranges = Parts { dense: dense.range(), sparse: sparse.range(), idle: idle.range() };
        let named = ranges.named().map(|(name, range)| (name.to_owned(), range));
        filled.report.parts = named.into();
        Ok(filled)
    }

    fn measure(&mut self, time: Duration, _: &mut Progress) -> anyhow::Result<Measured> {
        ensure!(self.parts.dense.freed.is_empty(), "what is freed cannot be read");
        Ok(self.access(time))
    }

    fn verify(&mut self, _: &mut Progress) -> anyhow::Result<Verdict> {
        let parts = [&self.parts.dense, &self.parts.sparse, &self.parts.idle];
        let pages: usize = parts.iter().map(|part| part.kept().count()).sum();
        let wrong = parts.iter().map(|part| part.mismatches()).sum();
        Ok(Verdict { checked: (pages * PAGE_WORDS) as u64, wrong })
    }

    fn also(&mut self, request: Request) -> anyhow::Result<Option<Measured>> {
        Ok(match request {
            Request::Access(seconds) => {
                Some(self.measure(Duration::from_secs_f64(seconds), &mut Progress::silent())?)
            }
            Request::Faults(seconds) => Some(faults(Duration::from_secs_f64(seconds))?),
            Request::Free(percent) => Some(self.free(percent)?),
            _ => None,
        })
    }

    fn corrupt(&mut self) {
        let part = &mut self.parts.dense;
        let middle = part.len / 2;
        part.bytes_mut()[middle] ^= 4;
    }
}

/// Maps small pieces, touches each of their pages and unmaps them, for `time`.
fn faults(time: Duration) -> anyhow::Result<Measured> {
    let (end, mut fault, mut map) =
        (Instant::now() + time, Histogram::default(), Histogram::default());
    loop {
        let begin = Instant::now();
        if begin >= end {
            let measured = Measured::default().with_histogram("fault", fault);
            return Ok(measured.with_histogram("map", map));
        }
        let mut piece = Arena::new(PIECE, PAGE).context("cannot map a piece")?;
        map.record(nanoseconds(begin.elapsed()));
        for offset in (0..PIECE).step_by(PAGE) {
            let begin = Instant::now();
            piece.set(offset, 1);
            fault.record(nanoseconds(begin.elapsed()));
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> Demo {
        let scenario = kinds::DemoScenario::Tail;
        let params = kinds::Demo { mib: 10, scenario, free_percent: 70 };
        let setup = Setup { seed: 1, advise: false, scratch: None, root: "/".into() };
        let mut demo = Demo::new(&params, &setup).expect("mapped");
        let filled = demo.fill(&mut Progress::silent()).expect("filled");
        assert_eq!(filled.report.histograms["first_touch"].count(), PAGES as u64);
        assert!(filled.report.parts.values().all(|part| part.end - part.start >= HUGE as u64));
        demo
    }

    /// Used pages of 10 MiB: dense 3 regions, idle 1, of the sparse one a sixteenth.
    const PAGES: usize = 4 * 512 + 512 / SPARSE_STEP;

    fn verify(demo: &mut Demo) -> Verdict {
        demo.verify(&mut Progress::silent()).expect("compared")
    }

    #[test]
    fn verify_finds_a_flipped_bit_and_nothing_else() {
        let mut demo = filled();
        let read = demo.access(Duration::from_millis(20));
        assert!(read.wrong == 0 && read.report.values["access_ns"] > 0.0, "{read:?}");
        let all = (PAGES * PAGE_WORDS) as u64;
        assert_eq!(verify(&mut demo), Verdict { checked: all, wrong: 0 });
        demo.corrupt();
        assert_eq!(verify(&mut demo), Verdict { checked: all, wrong: 1 });
    }

    #[test]
    fn what_is_freed_is_gone_and_the_rest_stays() -> anyhow::Result<()> {
        let mut demo = filled();
        demo.free(70)?;
        let Verdict { checked, wrong } = verify(&mut demo);
        let kept = usize::try_from(checked)? / PAGE_WORDS;
        assert!((PAGES * 2 / 10..PAGES * 4 / 10).contains(&kept) && wrong == 0, "{kept}");
        assert!(demo.also(Request::Access(0.01)).is_err());
        let part = &mut demo.parts.idle;
        let kept = part.kept().next().context("nothing is kept")?;
        let lost = (0..part.generations.len()).find(|page| part.freed[page * PAGE / FREED_PIECE]);
        let lost = part.offset(lost.context("nothing is freed")?);
        assert!(part.bytes()[lost..lost + PAGE].iter().all(|byte| *byte == 0));
        let kept = part.offset(kept);
        part.bytes_mut()[kept] ^= 1;
        assert_eq!(verify(&mut demo).wrong, 1);
        Ok(())
    }

    #[test]
    fn pages_are_rewritten_while_they_are_read() {
        let mut demo = filled();
        demo.access(Duration::from_millis(50));
        assert!(demo.parts.dense.generations.iter().any(|generation| *generation > 0));
        assert_eq!(verify(&mut demo).wrong, 0);
    }

    #[test]
    fn small_pieces_fault_once_a_page() -> anyhow::Result<()> {
        let found = faults(Duration::from_millis(5))?.report.histograms;
        assert_eq!(found["fault"].count(), (PIECE / PAGE) as u64 * found["map"].count());
        Ok(())
    }
}
