//! What a region holds: how many of its base pages are zeros and nothing else, by reading a
//! sample of them.
//!
//! No kernel interface counts the zero pages inside a folio, so this reads the memory of another
//! program, unless the operator forbids it. Whether a page is zero is all that leaves these
//! functions. Read pages count as accessed afterwards, and a page that was never populated would
//! get the shared zero page: only pages that are there are read.

use crate::address_space::{self, SpaceFile};
use crate::reason::reason_of_io;
use crate::root::Root;
use hugewise_base::rng::Rng;
use hugewise_base::units::{Addr, Geometry};
use hugewise_manager::reason::SkipReason;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;

/// Base pages that a sample reads of one region: one of each 16 on x86-64, at a fifth of the cost
/// of reading all (`docs/measurements.md#sampled-contents`). The standard error of one region's
/// estimate is at worst 45 pages of 512, when zeros and data alternate; that of a sum over `n`
/// regions grows only with the square root of `n`.
pub const SAMPLE: u16 = 32;

/// The memory of one address space. After an exec it reads nothing any more, whereas
/// `process_vm_readv`, which goes by pid, would read the next program's memory. The price: about
/// 80 us for the sample of a huge region instead of 40 (`docs/measurements.md#sampled-contents`).
#[derive(Debug)]
pub struct Contents {
    file: File,
    buffer: Vec<u8>,
}

impl Contents {
    /// Opens the memory of `pid` as it is now. Whether that is the address space that the caller
    /// has in mind, [`crate::pages::check_alive`] tells, asked afterwards of a pagemap file that
    /// was opened earlier.
    ///
    /// # Errors
    /// `Gone` when there is no such process; `NoPermission` without the right to trace it.
    pub fn open(root: &Root, pid: u32) -> Result<Self, SkipReason> {
        let opened = address_space::open(root, pid, SpaceFile::Memory);
        let file = opened.map_err(|error| reason_of_io(&error))?;
        Ok(Self { file, buffer: Vec::new() })
    }

    /// About how many of these base pages of the region at `at` hold only zeros: those found in a
    /// sample, times the pages that each stands for. The sample takes one page at a random place
    /// out of each of [`SAMPLE`] equal stretches; the same `seed` takes the same pages.
    ///
    /// # Errors
    /// `AddressSpaceChanged` when the address space is gone, `NoPermission`, or `Unreadable` when
    /// some of the region cannot be read: unmapped, or a page of it failed.
    pub fn zero_pages(
        &mut self,
        at: Addr,
        own: &[u32],
        geometry: Geometry,
        seed: u64,
    ) -> Result<u16, SkipReason> {
        let mut rng = Rng::new(seed ^ at.0);
        let (all, stretches) = (own.len(), own.len().min(usize::from(SAMPLE)));
        let mut zeros = 0;
        for stretch in 0..stretches {
            let (first, end) = (stretch * all / stretches, (stretch + 1) * all / stretches);
            let within = rng.below((end - first) as u64);
            let index = first + usize::try_from(within).unwrap_or(0);
            let Some(page) = own.get(index) else { continue };
            if self.are_zeros(at, *page..=*page, geometry)?.contains(&true) {
                zeros += end - first;
            }
        }
        Ok(u16::try_from(zeros).unwrap_or(u16::MAX))
    }

    /// Which of these base pages hold only zeros: all are read, neighbours at once.
    ///
    /// # Errors
    /// As [`Contents::zero_pages`].
    pub fn zeros_among(
        &mut self,
        at: Addr,
        own: &[u32],
        geometry: Geometry,
    ) -> Result<Vec<bool>, SkipReason> {
        let mut zeros = Vec::with_capacity(own.len());
        for run in own.chunk_by(|page, next| page + 1 == *next) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            zeros.extend(self.are_zeros(at, *first..=*last, geometry)?);
        }
        Ok(zeros)
    }

    fn are_zeros(
        &mut self,
        at: Addr,
        run: RangeInclusive<u32>,
        geometry: Geometry,
    ) -> Result<Vec<bool>, SkipReason> {
        let page = usize::try_from(geometry.base.0).map_err(|_| SkipReason::Unreadable)?;
        self.buffer.resize(page * run.clone().count(), 0);
        let address = at.0.saturating_add(geometry.bytes((*run.start()).into()).0);
        self.file.read_exact_at(&mut self.buffer, address).map_err(|e| reason(&e))?;
        Ok(self.buffer.chunks(page).map(is_zero).collect())
    }
}

/// Base pages of the smallest folio that faults hand out beyond a base page: 16 KiB.
const SMALLEST: u32 = 4;
/// Base pages of the one that they begin with: 64 KiB.
const USUAL: u32 = 16;
/// Least share of such a stretch that is not used for which folios are split: one of four pages. Of
/// denser ones more would be lost than comes back.
const WORTH: u32 = 4;

/// Of these base pages, all that are there, those on which a call splits every folio that may be
/// held for nothing: in each aligned stretch of [`USUAL`] pages, or of `largest` where folios of so
/// many are in pieces, of which enough hold zeros or are missing, one of each of the smallest
/// folios. On a base page the call does nothing.
pub fn pieces(own: &[u32], zeros: &[bool], largest: u32) -> Vec<u32> {
    let marked: Vec<_> = own.iter().copied().zip(zeros.iter().copied()).collect();
    let mut pieces = BTreeSet::new();
    for pages in [USUAL, largest.max(USUAL)] {
        for stretch in marked.chunk_by(|(page, _), (next, _)| page / pages == next / pages) {
            let used = stretch.iter().filter(|(_, zero)| !zero).count();
            let used = u32::try_from(used).unwrap_or(pages);
            if (pages - used) * WORTH < pages {
                continue;
            }
            let folios =
                stretch.chunk_by(|(page, _), (next, _)| page / SMALLEST == next / SMALLEST);
            pieces.extend(folios.filter_map(<[_]>::first).map(|(page, _)| *page));
        }
    }
    pieces.into_iter().collect()
}

/// The file ends where the address space does: a living one answers EIO for what is not mapped.
fn reason(error: &io::Error) -> SkipReason {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => SkipReason::AddressSpaceChanged,
        _ => reason_of_io(error),
    }
}

/// Whether a page holds only zeros. By blocks: within one the compiler uses wide registers, and
/// data mostly shows in the first.
fn is_zero(page: &[u8]) -> bool {
    page.chunks(256).all(|block| block.iter().fold(0, |all, byte| all | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_sys::memory::{Arena, LocalAdvice};
    use std::process::Command;
    use std::sync::LazyLock;

    const HUGE: usize = 2 << 20;
    const PAGE: usize = 4096;
    const GEOMETRY: Geometry = Geometry::X86_64;
    static WHOLE: LazyLock<Vec<u32>> = LazyLock::new(|| (0..512).collect());

    #[test]
    fn one_page_of_each_folio_with_zeros_is_named() {
        // One page of each 64 KiB was written.
        let own: Vec<u32> = (0..32).collect();
        let zeros: Vec<_> = own.iter().map(|page| page % 16 != 0).collect();
        assert_eq!(pieces(&own, &zeros, 0), [0, 4, 8, 12, 16, 20, 24, 28]);
        // Half of a larger folio was dropped: it counts only where there are some.
        let half: Vec<u32> = (16..32).collect();
        assert_eq!(pieces(&half, &[false; 16], 16), [0; 0]);
        assert_eq!(pieces(&half, &[false; 16], 32), [16, 20, 24, 28]);
        // Dense ones stay.
        let zeros: Vec<_> = own.iter().map(|page| page % 16 > 12).collect();
        assert_eq!(pieces(&own, &zeros, 0), [0; 0]);
        // Of these all but a page of each folio were dropped, and of one a few.
        let own: Vec<u32> = [5, 40].into_iter().chain(64..78).collect();
        assert_eq!(pieces(&own, &vec![false; own.len()], 0), [5, 40]);
        assert_eq!(pieces(&[], &[], 0), [0; 0]);
    }

    fn own() -> Contents {
        Contents::open(&Root::live(), std::process::id()).expect("this process may read itself")
    }

    fn estimates(regions: &mut Arena, advice: LocalAdvice, data: fn(usize) -> bool) -> Vec<u16> {
        let len = regions.len();
        regions.advise(0..len, LocalAdvice::DontNeed).expect("own memory");
        // Fails on a kernel without huge pages: the same contents then lie in base pages.
        let _ = regions.advise(0..len, advice);
        for page in 0..len / PAGE {
            // Populated either way: zeros were written, data is one bit in the last byte.
            regions.set(page * PAGE, 0);
            regions.set((page + 1) * PAGE - 1, u8::from(data(page)) << 7);
        }
        let (mut contents, start) = (own(), regions.addr());
        let each = (0..len).step_by(HUGE).map(|at| Addr(start + at as u64));
        // The address goes into the draw, and differs from run to run: without it, all runs of the
        // test read the same pages, so that its bounds hold always or never.
        let seed = |at: Addr| at.0 ^ ((at.0 - start) / HUGE as u64 + 7);
        let found = each.map(|at| contents.zero_pages(at, &WHOLE, GEOMETRY, seed(at)));
        found.collect::<Result<_, _>>().expect("own memory can be read")
    }

    #[test]
    fn zero_pages_are_estimated() -> io::Result<()> {
        let mut regions = Arena::new(8 * HUGE, HUGE)?;
        for advice in [LocalAdvice::HugePage, LocalAdvice::NoHugePage] {
            assert_eq!(estimates(&mut regions, advice, |_| false), [512; 8]);
            assert_eq!(estimates(&mut regions, advice, |_| true), [0; 8]);
            // Whole stretches are counted exactly, whatever is drawn.
            assert_eq!(estimates(&mut regions, advice, |page| page % 512 < 256), [256; 8]);
            let few = estimates(&mut regions, advice, |page| page % 512 != 100);
            assert!(few.iter().all(|zeros| [0, 16].contains(zeros)), "{few:?}");
            // Evenly mixed: the mean of 8 regions is off by at most 3 standard errors (16 each).
            let mixed = estimates(&mut regions, advice, |page| page % 2 == 0);
            let mean = mixed.iter().map(|zeros| u32::from(*zeros)).sum::<u32>() / 8;
            assert!((208..=304).contains(&mean), "{mixed:?}");
        }
        Ok(())
    }

    #[test]
    fn a_seed_repeats_its_sample() -> io::Result<()> {
        let mut region = Arena::new(HUGE, HUGE)?;
        for page in (0..HUGE / PAGE).filter(|page| page.count_ones() % 2 == 0) {
            region.set(page * PAGE, 1);
        }
        let mut contents = own();
        let mut ask = |seed| contents.zero_pages(Addr(region.addr()), &WHOLE, GEOMETRY, seed);
        let (first, again): (Vec<_>, Vec<_>) = (0..32).map(|seed| (ask(seed), ask(seed))).unzip();
        assert_eq!(first, again);
        assert!(first.iter().any(|estimate| *estimate != first[0]), "{first:?}");
        Ok(())
    }

    #[test]
    fn memory_that_is_not_there_is_unreadable() {
        assert_eq!(own().zero_pages(Addr(0), &WHOLE, GEOMETRY, 1), Err(SkipReason::Unreadable));
        let last = Addr(u64::MAX - 4095);
        assert_eq!(own().zero_pages(last, &WHOLE, GEOMETRY, 1), Err(SkipReason::Unreadable));
    }

    #[test]
    fn a_dead_address_space_is_not_read_on() -> io::Result<()> {
        let mut child = Command::new("sleep").arg("60").spawn()?;
        let contents = Contents::open(&Root::live(), child.id());
        child.kill()?;
        child.wait()?;
        let answer =
            contents.and_then(|mut c| c.zero_pages(Addr(HUGE as u64), &WHOLE, GEOMETRY, 1));
        assert_eq!(answer, Err(SkipReason::AddressSpaceChanged));
        // Above the largest pid that a kernel gives out (PID_MAX_LIMIT, 4 Mi).
        let nobody = Contents::open(&Root::live(), (4 << 20) + 1).map(|_| ());
        assert_eq!(nobody, Err(SkipReason::Gone));
        Ok(())
    }
}
