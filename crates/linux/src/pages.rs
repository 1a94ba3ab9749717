//! Counting a process's pages: `PAGEMAP_SCAN` where the kernel has it (6.7), else plain pagemap
//! reads (`docs/measurements.md#page-scan-cost`).
//!
//! Traps handled here: at most 512 buffered ranges a call (a larger buffer gives a stale
//! `walk_end`), the shared zero page counts as present, and a reader that never pauses starves
//! the target's writers.

use hugewise_base::units::Geometry;
use hugewise_sys::Errno;
use hugewise_sys::pagemap::{MAX_REGIONS, PageRegion, ScanQuery, category, scan};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Bytes walked by one call: the mm lock is read-held that long
/// (`docs/measurements.md#scan-pauses`).
const CHUNK: u64 = 8 << 20;
/// Largest step through empty address space. Where a program left its page tables behind, the
/// kernel reads them entry by entry even there, in one piece and under the lock.
const SKIP_MAX: u64 = 4 << 30;
/// Most pages that one call may find: those of a chunk. Bounds the time that the lock is held
/// when a large step meets memory after all.
const FIND: u64 = CHUNK >> 12;
/// Lock-holding time after which a pause is due: about one chunk of dense base pages.
const HOLD: Duration = Duration::from_micros(50);
/// Most page frames that an inspection asks the kernel about, the likeliest first: about 1 us
/// each. One base page in 512 is placed like a part of a huge page by chance.
const BLOCKS: usize = 16;
/// The pause; without it waiting writers starve for about 4 ms
/// (`docs/measurements.md#scan-pauses`).
const PAUSE: Duration = Duration::from_micros(100);

/// Pagemap entry bits (Documentation/admin-guide/mm/pagemap.rst).
mod bit {
    pub(super) const PRESENT: u64 = 1 << 63;
    pub(super) const SWAPPED: u64 = 1 << 62;
    /// A page of a file, or of shared anonymous memory.
    pub(super) const FILE: u64 = 1 << 61;
    pub(super) const UFFD_WP: u64 = 1 << 57;
    pub(super) const EXCLUSIVE: u64 = 1 << 56;
    pub(super) const PFN: u64 = (1 << 55) - 1;
    /// Of /proc/kpageflags (include/uapi/linux/kernel-page-flags.h): first page of a compound
    /// page, further page of one, part of a transparent huge page.
    pub(super) const KPF_COMPOUND_HEAD: u64 = 1 << 15;
    pub(super) const KPF_COMPOUND_TAIL: u64 = 1 << 16;
    pub(super) const KPF_THP: u64 = 1 << 22;
}

/// Base pages of one region by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Present, the shared zero page included.
    pub present: u32,
    /// The shared zero page.
    pub zero: u32,
    /// Swapped or under migration.
    pub swapped: u32,
    /// Mapped by one PMD entry, and not the huge zero page.
    pub huge: bool,
}

impl Counts {
    /// Populated base pages: present or swapped, the zero page not counted.
    pub fn populated(self) -> u32 {
        self.present.saturating_sub(self.zero) + self.swapped
    }
}

/// What an inspection of one region's pagemap entries shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Detail {
    /// Populated pages that some other process maps too.
    pub shared: u32,
    /// Pages of files or of shared anonymous memory.
    pub file: u32,
    /// Pages under userfaultfd write protection.
    pub write_protected: u32,
    /// Base pages of a huge folio that are not mapped here any more and still allocated; 0: no
    /// such block; `None` when page frames are hidden.
    pub held: Option<u16>,
    /// Addresses of base pages, at most three, any of which names its huge page or block.
    pub named: [Option<u64>; 3],
}

/// Whether an inspection asks the kernel about page frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    /// To find blocks that are held, and pages that name them.
    Wanted,
    /// A promotion has no use for them.
    Ignored,
}

/// The next step through space that was empty: twice as long, but half as long after one that took
/// long. Whole chunks, so that no region is cut in two.
fn next_skip(skip: u64, chunk: u64, took: Duration) -> u64 {
    let next = if took < HOLD { (2 * skip).clamp(chunk, SKIP_MAX.max(chunk)) } else { skip / 2 };
    next / chunk * chunk
}

/// How this kernel shows pages.
#[derive(Debug)]
pub struct PageReader {
    method: Method,
    kpageflags: Option<File>,
    geometry: Geometry,
    buffer: Vec<PageRegion>,
    /// Lock-holding time since the last pause, over all mappings and calls.
    held: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Scan,
    /// Page frames tell the zero page and huge pages apart; they need CAP_SYS_ADMIN.
    Frames {
        zero: u64,
    },
}

/// Why there is no way to count pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("pages cannot be counted: before Linux 6.7 that needs CAP_SYS_ADMIN")]
pub struct NoPageReader;

impl PageReader {
    /// Finds out what works here, by reading this process itself.
    ///
    /// # Errors
    /// When neither `PAGEMAP_SCAN` nor page frames are available.
    pub fn new(geometry: Geometry) -> Result<Self, NoPageReader> {
        let own = File::open("/proc/self/pagemap").map_err(|_| NoPageReader)?;
        let kpageflags = File::open("/proc/kpageflags").ok();
        let wanted = category::PRESENT | category::PFNZERO | category::HUGE;
        let method = match hugewise_sys::pagemap::scan_supported(own.as_fd(), wanted) {
            Ok(()) => Method::Scan,
            Err(_) if kpageflags.is_some() => {
                Method::Frames { zero: zero_frame(&own, geometry).ok_or(NoPageReader)? }
            }
            Err(_) => return Err(NoPageReader),
        };
        let buffer = vec![PageRegion::default(); MAX_REGIONS];
        Ok(Self { method, kpageflags, geometry, buffer, held: Duration::ZERO })
    }

    /// Whether `PAGEMAP_SCAN` is used.
    pub fn scans(&self) -> bool {
        self.method == Method::Scan
    }

    /// Counts the regions from `start` to `end` (both aligned), handing each to `each` in
    /// ascending order; a region may be left out when nothing of it is present. Stops early,
    /// between chunks, when `stop` says so, and returns where.
    ///
    /// # Errors
    /// ESRCH when the address space is gone, else as the kernel says.
    pub fn count(
        &mut self,
        pagemap: &File,
        start: u64,
        end: u64,
        mut each: impl FnMut(u64, Counts),
        mut stop: impl FnMut() -> bool,
    ) -> Result<u64, Errno> {
        let (mut at, mut skip) = (start, 0);
        while at < end {
            if at > start && stop() {
                return Ok(at);
            }
            let chunk = CHUNK.max(self.geometry.huge.0);
            let chunk_end = (at / chunk + 1).saturating_mul(chunk).saturating_add(skip).min(end);
            let began = Instant::now();
            let mut empty = true;
            self.chunk(pagemap, at, chunk_end, &mut |at, counts: Counts| {
                empty &= counts.present == 0 && counts.swapped == 0;
                each(at, counts);
            })?;
            let took = began.elapsed();
            // Address space that was only reserved, terabytes of it with some programs, is walked
            // in ever larger steps: the kernel skips it by whole page tables, where there are
            // none.
            skip = if empty && self.scans() { next_skip(skip, chunk, took) } else { 0 };
            self.pause_when_due(took);
            at = chunk_end;
        }
        Ok(end)
    }

    /// Lets writers of the target have the lock once it was held for [`HOLD`] in all: many small
    /// mappings hold it as long as one large one.
    fn pause_when_due(&mut self, took: Duration) {
        self.held += took;
        if self.held >= HOLD {
            std::thread::sleep(PAUSE);
            self.held = Duration::ZERO;
        }
    }

    /// Counts one region.
    ///
    /// # Errors
    /// As [`PageReader::count`].
    pub fn region(&mut self, pagemap: &File, at: u64) -> Result<Counts, Errno> {
        let mut counts = Counts::default();
        self.chunk(pagemap, at, at + self.geometry.huge.0, &mut |_, found| counts = found)?;
        Ok(counts)
    }

    fn chunk(
        &mut self,
        pagemap: &File,
        start: u64,
        end: u64,
        each: &mut impl FnMut(u64, Counts),
    ) -> Result<(), Errno> {
        match self.method {
            Method::Scan => self.chunk_scan(pagemap, start, end, each),
            Method::Frames { zero } => {
                let mut at = start;
                while at < end {
                    let counts = self.region_frames(pagemap, at, zero)?;
                    each(at, counts);
                    at += self.geometry.huge.0;
                }
                Ok(())
            }
        }
    }

    fn chunk_scan(
        &mut self,
        pagemap: &File,
        start: u64,
        end: u64,
        each: &mut impl FnMut(u64, Counts),
    ) -> Result<(), Errno> {
        let huge = self.geometry.huge.0;
        let (mut at, mut region, mut counts) = (start, start, Counts::default());
        while at < end {
            let query = ScanQuery {
                start: at,
                end,
                any_of: category::PRESENT | category::SWAPPED,
                returned: category::PRESENT
                    | category::SWAPPED
                    | category::PFNZERO
                    | category::HUGE,
                max_pages: FIND,
            };
            let scanned = scan(pagemap.as_fd(), &query, &mut self.buffer)?;
            for range in &self.buffer[..scanned.regions] {
                // Ranges behind the cursor: docs/measurements.md#stale-walk_end.
                let mut from = range.start.max(at);
                while from < range.end {
                    if from / huge * huge != region {
                        each(region, counts);
                        (region, counts) = (from / huge * huge, Counts::default());
                    }
                    let to = range.end.min(region + huge);
                    counts.add(range.categories, (to - from) / self.geometry.base.0);
                    from = to;
                }
            }
            // A walk that ended early met one of its bounds; a buffer that is not full rules out
            // the stale walk_end (docs/measurements.md#stale-walk_end).
            at = scanned.walk_end.max(at + self.geometry.base.0);
        }
        each(region, counts);
        Ok(())
    }

    fn entries(&self, pagemap: &File, at: u64) -> Result<Vec<u64>, Errno> {
        let pages = usize::try_from(self.geometry.pages_per_huge()).unwrap_or(0);
        let mut bytes = vec![0u8; pages * 8];
        let offset = at / self.geometry.base.0 * 8;
        let read = pagemap.read_at(&mut bytes, offset).map_err(|error| Errno::of(&error))?;
        if read == 0 {
            // End of file: the address space behind this file is gone (ESRCH).
            return Err(Errno::SRCH);
        }
        let words = bytes.chunks_exact(8).map(|b| b.try_into().map_or(0, u64::from_ne_bytes));
        Ok(words.collect())
    }

    fn region_frames(&self, pagemap: &File, at: u64, zero: u64) -> Result<Counts, Errno> {
        let entries = self.entries(pagemap, at)?;
        let mut counts = Counts::default();
        let first = entries.first().map_or(0, |entry| entry & bit::PFN);
        let mut contiguous = first != 0 && first.is_multiple_of(entries.len() as u64);
        for (index, entry) in entries.iter().enumerate() {
            let present = entry & bit::PRESENT != 0;
            counts.present += u32::from(present);
            counts.swapped += u32::from(entry & bit::SWAPPED != 0);
            counts.zero += u32::from(present && entry & bit::PFN == zero);
            contiguous &= present && entry & bit::PFN == first + index as u64;
        }
        counts.huge =
            contiguous && self.flags(first).is_some_and(|flags| flags & bit::KPF_THP != 0);
        Ok(counts)
    }

    /// Inspects one region: 4 KiB of pagemap, about 24 us
    /// (`docs/measurements.md#closer-inspection-of-a-region`). Only with `frames` is it found out
    /// which block its pages belong to.
    ///
    /// # Errors
    /// As [`PageReader::count`].
    pub fn detail(
        &self,
        pagemap: &File,
        at: u64,
        counts: Counts,
        frames: Frames,
    ) -> Result<Detail, Errno> {
        let entries = self.entries(pagemap, at)?;
        let mut detail = Detail::default();
        let mut not_exclusive = 0;
        for entry in &entries {
            let present = entry & bit::PRESENT != 0;
            not_exclusive += u32::from(present && entry & bit::EXCLUSIVE == 0);
            detail.file += u32::from(present && entry & bit::FILE != 0);
            detail.write_protected += u32::from(entry & bit::UFFD_WP != 0);
        }
        // The shared zero page is never mapped exclusively, and belongs to no process.
        detail.shared = not_exclusive.saturating_sub(counts.zero);
        let block = match frames {
            Frames::Ignored => return Ok(detail),
            Frames::Wanted if counts.huge => Some(None),
            Frames::Wanted => self.block(&entries),
        };
        detail.held = block.map(|block| block.map_or(0, |(_, held)| held));
        let of_block = |entry: &u64| match block {
            Some(Some((first, _))) => (entry & bit::PFN) / entries.len() as u64 == first,
            _ => true,
        };
        let named = entries.iter().enumerate().filter(|(_, entry)| {
            **entry & (bit::PRESENT | bit::EXCLUSIVE) == bit::PRESENT | bit::EXCLUSIVE
                && of_block(entry)
        });
        let named: Vec<_> = named.map(|(n, _)| at + n as u64 * self.geometry.base.0).collect();
        // Far from each other: without page frames one of them may be a page that came later.
        detail.named =
            [named.last(), named.first(), named.get(named.len() / 2)].map(|n| n.copied());
        Ok(detail)
    }

    /// Base pages of one region, by number, that are there and are this process's alone: no shared
    /// zero page, nothing in swap, nothing of a file.
    ///
    /// # Errors
    /// As [`PageReader::count`].
    pub(crate) fn own_pages(&self, pagemap: &File, at: u64) -> Result<Vec<u32>, Errno> {
        let own = bit::PRESENT | bit::EXCLUSIVE;
        let entries = self.entries(pagemap, at)?;
        let numbered = (0..).zip(entries);
        let is_own = |(_, entry): &(u32, u64)| entry & (own | bit::FILE) == own;
        Ok(numbered.filter(is_own).map(|(number, _)| number).collect())
    }

    /// Page frames of one region's base pages; `None` for those that are not there, are not this
    /// process's alone, or whose frame is hidden (without `CAP_SYS_ADMIN`).
    ///
    /// # Errors
    /// As [`PageReader::count`].
    pub(crate) fn own_frames(&self, pagemap: &File, at: u64) -> Result<Vec<Option<u64>>, Errno> {
        let own = bit::PRESENT | bit::EXCLUSIVE;
        let frame = |entry: u64| {
            let whole = entry & (own | bit::FILE) == own;
            Some(entry & bit::PFN).filter(|frame| whole && *frame != 0)
        };
        Ok(self.entries(pagemap, at)?.into_iter().map(frame).collect())
    }

    /// The huge page's block of which some pages are mapped here: its number, and how many of its
    /// pages are not. `Some(None)`: none; `None`: page frames are hidden.
    fn block(&self, entries: &[u64]) -> Option<Option<(u64, u16)>> {
        let whole = entries.len() as u64;
        let mut mapped = BTreeMap::<u64, u16>::new();
        let mut hidden = false;
        // The zero page is mapped, but never exclusively.
        let own = |entry: u64| entry & bit::EXCLUSIVE != 0 && entry & bit::FILE == 0;
        for (index, entry) in (0u64..).zip(entries).filter(|(_, e)| own(**e)) {
            let frame = entry & bit::PFN;
            hidden |= frame == 0;
            // A huge page is as aligned in memory as it is here: other frames are none of it.
            if frame % whole == index {
                *mapped.entry(frame / whole).or_default() += 1;
            }
        }
        if hidden || self.kpageflags.is_none() {
            return None;
        }
        let held = |mapped: u16| u16::try_from(whole).unwrap_or(u16::MAX).saturating_sub(mapped);
        let mut blocks: Vec<_> = mapped.into_iter().collect();
        blocks.sort_by_key(|(_, mapped)| std::cmp::Reverse(*mapped));
        for (block, mapped) in blocks.into_iter().take(BLOCKS) {
            if self.is_block(block * whole, whole)? {
                return Some(Some((block, held(mapped))));
            }
        }
        Some(None)
    }

    /// Whether the aligned frames from `first` on are one huge page; `None`: cannot be read.
    fn is_block(&self, first: u64, whole: u64) -> Option<bool> {
        let head = self.flags(first)?;
        let head_of_thp = bit::KPF_COMPOUND_HEAD | bit::KPF_THP;
        // A smaller compound page would end before the middle.
        let tail = || Some(self.flags(first + whole / 2)? & bit::KPF_COMPOUND_TAIL != 0);
        if head & head_of_thp == head_of_thp { tail() } else { Some(false) }
    }

    fn flags(&self, frame: u64) -> Option<u64> {
        let mut bytes = [0u8; 8];
        self.kpageflags.as_ref()?.read_exact_at(&mut bytes, frame.checked_mul(8)?).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}

impl Counts {
    fn add(&mut self, categories: u64, pages: u64) {
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        let zero = categories & category::PFNZERO != 0;
        if categories & category::SWAPPED != 0 {
            self.swapped += pages;
        } else {
            self.present += pages;
            self.zero += if zero { pages } else { 0 };
        }
        self.huge |= categories & category::HUGE != 0 && !zero;
    }
}

/// Whether the address space behind an open pagemap file still exists. A read shows it on every
/// kernel, `PAGEMAP_SCAN` does not (`docs/measurements.md#address-space-lifetime`).
///
/// # Errors
/// ESRCH when it is gone, else as the kernel says.
pub fn check_alive(pagemap: &File) -> Result<(), Errno> {
    let mut entry = [0u8; 8];
    // Address 0: mapped or not, a living address space has an entry for it.
    match pagemap.read_at(&mut entry, 0) {
        Ok(0) => Err(Errno::SRCH),
        Ok(_) => Ok(()),
        Err(error) => Err(Errno::of(&error)),
    }
}

/// Frame of the shared zero page: that of a page that was read and never written.
fn zero_frame(own_pagemap: &File, geometry: Geometry) -> Option<u64> {
    let page = usize::try_from(geometry.base.0).ok()?;
    // A single base page: a larger arena might get the huge zero page instead.
    let arena = hugewise_sys::memory::Arena::new(page, page).ok()?;
    std::hint::black_box(arena.as_slice().first().copied());
    let mut entry = [0u8; 8];
    own_pagemap.read_exact_at(&mut entry, arena.addr() / geometry.base.0 * 8).ok()?;
    Some(u64::from_ne_bytes(entry) & bit::PFN).filter(|frame| *frame != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that ended within a region would show it as two regions, each half empty.
    #[test]
    fn steps_through_empty_space_end_between_regions() {
        for chunk in [CHUNK, 32 << 20, 512 << 20] {
            let (mut skip, mut steps) = (0, Vec::new());
            for took in [0, 0, 0, 900, 900, 0, 900, 900, 900, 900, 0].map(Duration::from_micros) {
                skip = next_skip(skip, chunk, took);
                steps.push(skip);
            }
            assert!(steps.iter().all(|skip| skip % chunk == 0), "{steps:?}");
            assert!(steps.contains(&0), "slow steps end in single chunks: {steps:?}");
        }
        let longest = (0..64).fold(0, |skip, _| next_skip(skip, CHUNK, Duration::ZERO));
        assert_eq!(longest, SKIP_MAX);
    }
}
