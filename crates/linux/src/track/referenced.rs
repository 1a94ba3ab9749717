//! `clear_refs` and `Referenced`: the accessed bits of a whole program are cleared, and counted
//! again in smaps, one sum for each mapping. Works on every kernel.
//!
//! Clearing holds the mm lock for writing over the whole walk
//! (`docs/measurements.md#cost-of-a-look`): no fault and no `mmap` of the program gets through
//! meanwhile. So it is estimated first, and not begun where it would take too long. Huge pages
//! make it cheap: one bit in place of 512.

use super::bounds::{self, Populated};
use super::candidates::Candidates;
use super::look::Look;
use crate::address_space::SpaceFile;
use crate::bounded::BoundedLines;
use crate::mappings::Span;
use crate::reason::reason_of_io;
use hugewise_base::parse::pid_status::{self, PidStatus};
use hugewise_base::parse::smaps::{self, SmapsLine};
use hugewise_base::units::{Geometry, Ns};
use hugewise_manager::access::Access;
use hugewise_manager::reason::SkipReason;
use std::fs::File;
use std::io::Write;
use std::time::Instant;

/// Bits of anonymous memory (`CLEAR_REFS_ANON` in the kernel's fs/proc/task_mmu.c): those of files
/// are nobody's business here, and tell reclaim which ones are in use.
const ANONYMOUS: &[u8] = b"2";

/// Time of the walk that clears, and of the one that counts, for each base page, ...
const CLEAR_PAGE: u64 = 80;
const COUNT_PAGE: u64 = 100;
/// ... huge page, ...
const HUGE_PAGE: u64 = 200;
/// ... page table, were it empty, ...
const TABLE: u64 = 1_000;
/// ... and mapping, ns (`docs/measurements.md#cost-of-a-look`).
const CLEAR_MAPPING: u64 = 500;
const COUNT_MAPPING: u64 = 4_000;

/// A look that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    /// Opened before: it shows that address space and no other.
    smaps: File,
    /// What its end may take, as estimated.
    expected: Ns,
}

/// What there is to walk through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    mappings: u64,
    /// Page tables.
    tables: u64,
    /// Base pages of anonymous memory, those in huge pages included.
    anon: u64,
    /// Those of files and of shared memory.
    file: u64,
    /// Huge pages.
    huge: u64,
}

impl Size {
    /// With no huge page: what is certain.
    fn new(status: &PidStatus, mappings: u64, geometry: Geometry) -> Option<Self> {
        let pages = |bytes: u64| bytes / geometry.base.0.max(1);
        let file = status.rss_file_bytes?.saturating_add(status.rss_shmem_bytes.unwrap_or(0));
        let tables = pages(status.vm_pte_bytes?);
        let anon = pages(status.rss_anon_bytes?);
        Some(Self { mappings, tables, anon, file: pages(file), huge: 0 })
    }

    fn small(&self, geometry: Geometry) -> u64 {
        self.anon.saturating_sub(self.huge.saturating_mul(geometry.pages_per_huge().into()))
    }

    /// How long clearing holds the lock.
    fn clearing(&self, geometry: Geometry) -> Ns {
        let pages = self.small(geometry).saturating_mul(CLEAR_PAGE);
        self.with(pages, CLEAR_MAPPING)
    }

    /// How long counting takes.
    fn counting(&self, geometry: Geometry) -> Ns {
        let pages = self.small(geometry).saturating_add(self.file).saturating_mul(COUNT_PAGE);
        self.with(pages, COUNT_MAPPING)
    }

    fn with(&self, pages: u64, mapping: u64) -> Ns {
        let rest = [(self.tables, TABLE), (self.mappings, mapping), (self.huge, HUGE_PAGE)];
        Ns(rest.iter().fold(pages, |sum, (n, each)| sum.saturating_add(n.saturating_mul(*each))))
    }
}

/// Forgets what was accessed so far.
pub(super) fn begin(look: &mut Look<'_>) -> Result<Begun, SkipReason> {
    let clear_refs = look.open(SpaceFile::ClearRefs).map_err(|error| reason_of_io(&error))?;
    let smaps = look.open(SpaceFile::Smaps).map_err(|error| reason_of_io(&error))?;
    look.verify()?;
    let size = measure(look)?;
    let (clearing, counting) = (size.clearing(look.geometry), size.counting(look.geometry));
    if clearing > look.ask.lock || look.cost.cpu() + clearing + counting > look.ask.budget {
        return Err(SkipReason::TrackingTooExpensive);
    }
    look.verify()?;
    let began = Instant::now();
    let written = (&clear_refs).write_all(ANONYMOUS);
    look.cost.lock += Ns(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    written.map_err(|error| reason_of_io(&error))?;
    // Between the check and the write it may have become another program.
    look.verify()?;
    Ok(Begun { smaps, expected: counting })
}

/// Finds out how much there is to walk through; counts huge pages only where they matter.
fn measure(look: &mut Look<'_>) -> Result<Size, SkipReason> {
    let (lock, budget, geometry) = (look.ask.lock, look.ask.budget, look.geometry);
    let status = format!("proc/{}/status", look.target.id.pid);
    let status = look.root.read(status).map_err(|error| reason_of_io(&error))?;
    let status = pid_status::parse(&status).value;
    let candidates = Candidates::read(look, budget)?;
    let size = Size::new(&status, candidates.mappings, geometry).ok_or(SkipReason::Unreadable)?;
    if size.clearing(geometry) <= lock && size.counting(geometry) <= budget {
        return Ok(size);
    }
    // As if all but the base pages counted so far were huge.
    let least = |small: u64| Ns(small.saturating_mul(CLEAR_PAGE));
    let (mut huge, mut small, mut dear) = (0, 0, false);
    candidates.regions(look, |look, region| {
        huge += u64::from(region.huge);
        small += if region.huge { 0 } else { u64::from(region.populated) };
        dear = least(small) > lock || look.fits(budget).is_err();
        !dear
    })?;
    if dear { Err(SkipReason::TrackingTooExpensive) } else { Ok(Size { huge, ..size }) }
}

/// Says what was accessed since, mapping by mapping.
pub(super) fn end(begun: Begun, look: &mut Look<'_>) -> Result<Vec<Access>, SkipReason> {
    let Begun { smaps, expected } = begun;
    // The budget may be spent by now: what was planned when it began is done all the same, but no
    // more than twice that, whatever the program has mapped since.
    let bound = look.ask.budget.max(Ns(expected.0.saturating_mul(2)));
    let (mut lines, geometry) = (BoundedLines::new(smaps), look.geometry);
    let (mut seen, mut any, mut sums) = (Vec::new(), false, Sums::default());
    while let Some(line) = lines.next().map_err(|error| reason_of_io(&error))? {
        match smaps::line(line) {
            Ok(SmapsLine::Mapping(range)) => sums = Sums { span: Some(Span::of(range)), ..EMPTY },
            Ok(SmapsLine::Rss(bytes)) => sums.rss = Some(bytes),
            Ok(SmapsLine::Referenced(bytes)) => sums.referenced = Some(bytes),
            Ok(SmapsLine::AnonHuge(bytes)) => sums.huge = Some(bytes),
            Ok(SmapsLine::Flags) => {
                any = true;
                seen.extend(std::mem::take(&mut sums).access(geometry));
                look.fits(bound)?;
            }
            // Of its mapping nothing is said.
            Err(_) => sums = Sums::default(),
            Ok(SmapsLine::Other) => {}
        }
    }
    // Not even its code is mapped: what this file shows is gone.
    if any { Ok(seen) } else { Err(SkipReason::AddressSpaceChanged) }
}

/// What smaps says of one mapping, bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    span: Option<Span>,
    rss: Option<u64>,
    referenced: Option<u64>,
    huge: Option<u64>,
}

const EMPTY: Sums = Sums { span: None, rss: None, referenced: None, huge: None };

impl Sums {
    /// Accessed pages of its aligned part; `None`: it has none, holds nothing, is no candidate, or
    /// not all of it could be read.
    fn access(self, geometry: Geometry) -> Option<Access> {
        let span = self.span.filter(|span| span.excluded.is_none())?;
        let range = span.aligned(geometry);
        let pages = |bytes: u64| bytes / geometry.base.0.max(1);
        let (all, referenced, huge) = (self.rss?, self.referenced?, self.huge?);
        if range.is_empty() || all == 0 {
            return None;
        }
        // What lies before and behind the aligned part may be all that was accessed.
        let outside = pages(span.end.0 - span.start.0 - (range.end - range.start));
        let most = pages(referenced);
        let memory = Populated { pages: pages(all), in_huge: pages(huge) };
        let bounds = (most.saturating_sub(outside), most);
        Some(bounds::access((range.start, range.end), bounds, memory, geometry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::parse::maps::Part;
    use hugewise_base::units::Addr;

    const GEOMETRY: Geometry = Geometry::X86_64;

    fn sums(start: u64, end: u64, [rss, referenced, huge]: [u64; 3]) -> Sums {
        let part = Part::default();
        let span = Span { start: Addr(start), end: Addr(end), excluded: None, part, text: false };
        Sums { span: Some(span), rss: Some(rss), referenced: Some(referenced), huge: Some(huge) }
    }

    #[test]
    fn a_mapping_is_one_range_of_whole_regions() {
        let mib = 1 << 20;
        let access = |sums: Sums| sums.access(GEOMETRY).map(|a| (a.least_pages, a.most_pages));
        let cold = sums(2 * mib, 10 * mib, [8 * mib, 0, 0]);
        assert_eq!(access(cold), Some((0, 0)));
        let hot = sums(2 * mib, 10 * mib, [8 * mib, 4 * mib, 0]);
        assert_eq!(access(hot), Some((1024, 1024)));
        let huge = sums(2 * mib, 10 * mib, [8 * mib, 4 * mib, 8 * mib]);
        assert_eq!(access(huge), Some((2, 1024)));
        // 255 pages lie before the first whole region.
        let head = sums(mib + 4096, 10 * mib, [9 * mib, mib, 0]);
        let whole = head.access(GEOMETRY).expect("holds something");
        assert_eq!((whole.from, whole.to), (Addr(2 * mib), Addr(10 * mib)));
        assert_eq!((whole.least_pages, whole.most_pages), (1, 256));
        assert_eq!(access(sums(mib, mib + 4096, [4096, 4096, 0])), None);
        assert_eq!(access(sums(2 * mib, 10 * mib, [0, 0, 0])), None);
        assert_eq!(access(Sums { huge: None, ..hot }), None, "unknown is not zero");
    }

    #[test]
    fn huge_pages_are_cheap_and_base_pages_are_not() {
        let gib = |huge| Size { mappings: 30, tables: 2, anon: 262_144, file: 500, huge };
        assert!(gib(0).clearing(GEOMETRY) > Ns::ms(15), "{:?}", gib(0).clearing(GEOMETRY));
        assert!(gib(512).clearing(GEOMETRY) < Ns::us(200), "{:?}", gib(512).clearing(GEOMETRY));
        let many = Size { mappings: 60_000, tables: 200, anon: 60_000, file: 0, huge: 0 };
        assert!(many.counting(GEOMETRY) > Ns::ms(200));
    }
}
