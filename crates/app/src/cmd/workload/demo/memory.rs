//! The memory itself, and what is done with it.

use crate::trial::pattern::{self, PAGE_WORDS};
use crate::trial::protocol::{
    BATCH, FREED_PIECE, PIECE, Parts, Reply, SPARSE_STEP, Variant, layout,
};
use anyhow::Context;
use hugewise_core::sim::rng::Rng;
use hugewise_core::stats::Histogram;
use hugewise_core::units::Bytes;
use hugewise_linux::memory::{Arena, LocalAdvice};
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

const PAGE: usize = PAGE_WORDS * 8;
const HUGE: usize = 2 << 20;
/// An empty region at both ends of a part, with advice of its own: without it the kernel would
/// merge neighbouring mappings into one, and nobody could tell the parts' huge pages apart.
const FENCE: usize = HUGE;
/// What is random in freeing is the same for every variant.
const SEED: u64 = 1;
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
    fn map(bytes: u64, step: usize, variant: Variant) -> anyhow::Result<Self> {
        let len = usize::try_from(bytes)?;
        let end = FENCE + len;
        let arena = Arena::new(end + FENCE, HUGE);
        let mut arena = arena.context("cannot map the workload's memory")?;
        for fence in [0..FENCE, end..end + FENCE] {
            // Fails where the kernel has no huge pages: then nobody looks for them either.
            let _ = arena.advise(fence, LocalAdvice::NoHugePage);
        }
        if variant == Variant::Always {
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

    fn fill(&mut self, first_touch: &mut Histogram) {
        for page in 0..self.generations.len() {
            let offset = self.offset(page);
            let begin = Instant::now();
            self.arena.touch(FENCE + offset);
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

    /// Gives random pieces back; the number of pages among them that were in use.
    fn free(&mut self, rng: &mut Rng, percent: u8) -> anyhow::Result<usize> {
        for piece in 0..self.len / FREED_PIECE {
            let free = rng.percent(percent.into());
            if free {
                let start = FENCE + piece * FREED_PIECE;
                let range = start..start + FREED_PIECE;
                self.arena.advise(range, LocalAdvice::DontNeed).context("cannot free a piece")?;
            }
            self.freed.push(free);
        }
        Ok(self.generations.len() - self.kept().count())
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

/// See the module's text.
#[derive(Debug)]
pub(super) struct Memory {
    parts: Parts<Part>,
    /// Where the chain of reads is.
    cursor: u64,
    filled: bool,
}

impl Memory {
    /// Maps all parts, touches none.
    pub(super) fn map(variant: Variant, bytes: u64) -> anyhow::Result<Self> {
        let layout = layout(Bytes(bytes), HUGE as u64);
        // New mappings are placed below older ones, and a manager that cannot see accesses goes
        // upwards: what is mapped last is promoted first, should time run out.
        let idle = Part::map(layout.idle, 1, variant)?;
        let sparse = Part::map(layout.sparse, SPARSE_STEP, variant)?;
        let dense = Part::map(layout.dense, 1, variant)?;
        Ok(Self { parts: Parts { dense, sparse, idle }, cursor: 1, filled: false })
    }

    /// Where each part is.
    pub(super) fn parts(&self) -> Parts<Range<u64>> {
        Parts {
            dense: self.parts.dense.range(),
            sparse: self.parts.sparse.range(),
            idle: self.parts.idle.range(),
        }
    }

    /// Writes everything for the first time.
    pub(super) fn fill(&mut self) -> Reply {
        let (begin, mut first_touch) = (Instant::now(), Histogram::default());
        self.parts.dense.fill(&mut first_touch);
        self.parts.sparse.fill(&mut first_touch);
        self.parts.idle.fill(&mut first_touch);
        self.filled = true;
        Reply::Filled { seconds: begin.elapsed().as_secs_f64(), first_touch }
    }

    /// Reads random words of the dense part for `time`; each address depends on the word before,
    /// so that the processor cannot hide a TLB miss behind other reads.
    pub(super) fn access(&mut self, time: Duration) -> Reply {
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
        if self.filled && wrong > 0 {
            return Reply::Mismatch { words: wrong, during: "access".into() };
        }
        Reply::Accessed { ns: spent as f64 / reads.max(1) as f64, batches }
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
    pub(super) fn free(&mut self, percent: u8) -> anyhow::Result<Reply> {
        let (mut rng, mut pages) = (Rng::new(SEED), 0);
        for part in [&mut self.parts.dense, &mut self.parts.sparse, &mut self.parts.idle] {
            pages += part.free(&mut rng, percent)?;
        }
        Ok(Reply::Freed { bytes: Bytes((pages * PAGE) as u64) })
    }

    /// Whether pieces were given back.
    pub(super) fn is_freed(&self) -> bool {
        !self.parts.dense.freed.is_empty()
    }

    /// Compares every word that was not given back with what was written.
    pub(super) fn verify(&self) -> Reply {
        let parts = [&self.parts.dense, &self.parts.sparse, &self.parts.idle];
        let pages: usize = parts.iter().map(|part| part.kept().count()).sum();
        match parts.iter().map(|part| part.mismatches()).sum() {
            0 => Reply::Verified { words: (pages * PAGE_WORDS) as u64 },
            words => Reply::Mismatch { words, during: "verify".into() },
        }
    }

    /// Flips one bit in the middle of the dense part.
    pub(super) fn corrupt(&mut self) {
        let part = &mut self.parts.dense;
        let middle = part.len / 2;
        part.bytes_mut()[middle] ^= 4;
    }
}

/// Maps small pieces, touches each of their pages and unmaps them, for `time`.
pub(super) fn faults(time: Duration) -> anyhow::Result<Reply> {
    let (end, mut fault, mut map) =
        (Instant::now() + time, Histogram::default(), Histogram::default());
    loop {
        let begin = Instant::now();
        if begin >= end {
            return Ok(Reply::Faulted { fault, map });
        }
        let mut piece = Arena::new(PIECE, PAGE).context("cannot map a piece")?;
        map.record(nanoseconds(begin.elapsed()));
        for offset in (0..PIECE).step_by(PAGE) {
            let begin = Instant::now();
            piece.touch(offset);
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

    #[test]
    fn verify_finds_a_flipped_bit_and_nothing_else() -> anyhow::Result<()> {
        let mut memory = Memory::map(Variant::Hugewise, 10 << 20)?;
        assert!(matches!(memory.fill(), Reply::Filled { .. }));
        let access = memory.access(Duration::from_millis(20));
        assert!(matches!(access, Reply::Accessed { ns, .. } if ns > 0.0), "{access:?}");
        // Dense 3 regions, idle 1, of the sparse one a sixteenth.
        let words = (4 * 512 + 512 / SPARSE_STEP) * PAGE_WORDS;
        let verified = memory.verify();
        assert!(
            matches!(verified, Reply::Verified { words: w } if w == words as u64),
            "{verified:?}"
        );
        memory.corrupt();
        assert!(matches!(memory.verify(), Reply::Mismatch { words: 1, .. }));
        Ok(())
    }

    #[test]
    fn what_is_freed_is_gone_and_the_rest_stays() -> anyhow::Result<()> {
        let mut memory = Memory::map(Variant::Hugewise, 10 << 20)?;
        memory.fill();
        let Reply::Freed { bytes } = memory.free(70)? else { panic!("not freed") };
        let pages = 4 * 512 + 512 / SPARSE_STEP;
        let freed = usize::try_from(bytes.0)? / PAGE;
        assert!((pages * 6 / 10..pages * 8 / 10).contains(&freed), "{freed} of {pages}");
        let Reply::Verified { words } = memory.verify() else { panic!("not intact") };
        assert_eq!(usize::try_from(words)?, (pages - freed) * PAGE_WORDS);
        let part = &mut memory.parts.idle;
        let kept = part.kept().next().context("nothing is kept")?;
        let lost = (0..part.generations.len()).find(|page| part.freed[page * PAGE / FREED_PIECE]);
        let lost = part.offset(lost.context("nothing is freed")?);
        assert!(part.bytes()[lost..lost + PAGE].iter().all(|byte| *byte == 0));
        let kept = part.offset(kept);
        part.bytes_mut()[kept] ^= 1;
        assert!(matches!(memory.verify(), Reply::Mismatch { words: 1, .. }));
        Ok(())
    }

    #[test]
    fn pages_are_rewritten_while_they_are_read() -> anyhow::Result<()> {
        let mut memory = Memory::map(Variant::Hugewise, 10 << 20)?;
        memory.fill();
        memory.access(Duration::from_millis(50));
        assert!(memory.parts.dense.generations.iter().any(|generation| *generation > 0));
        assert!(matches!(memory.verify(), Reply::Verified { .. }));
        Ok(())
    }

    #[test]
    fn small_pieces_fault_once_a_page() -> anyhow::Result<()> {
        let reply = faults(Duration::from_millis(5))?;
        let Reply::Faulted { fault, map } = reply else { panic!("{reply:?}") };
        assert_eq!(fault.count(), 16 * map.count());
        Ok(())
    }
}
