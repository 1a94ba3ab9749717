//! The memory of a program that a tracker looks at: what could be huge.

use super::bounds::Populated;
use super::look::Look;
use crate::mappings::MapsReader;
use crate::reason::{reason_of_errno, reason_of_io};
use hugewise_base::units::Ns;
use hugewise_manager::reason::SkipReason;
use std::ops::Range;

/// The budget is asked for once in so many mappings: that costs as much as reading a few.
const MAPPINGS_A_CHECK: u64 = 16;
/// Most mappings that are told apart: the policy keeps as many ranges of a program.
const MOST: usize = 4_096;

/// A program's mappings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Candidates {
    /// Aligned parts of private anonymous mappings, ascending.
    pub(super) ranges: Vec<Range<u64>>,
    /// All its mappings.
    pub(super) mappings: u64,
}

/// One region and what is populated of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) at: u64,
    pub(super) populated: u32,
    pub(super) huge: bool,
}

impl Candidates {
    /// Reads them while CPU time is within `bound`.
    pub(super) fn read(look: &Look<'_>, bound: Ns) -> Result<Self, SkipReason> {
        let open = MapsReader::open(look.root, look.target.id.pid);
        let mut maps = open.map_err(|error| reason_of_io(&error))?;
        let mut found = Self::default();
        while let Some(span) = maps.next().map_err(|error| reason_of_io(&error))? {
            found.mappings += 1;
            let range = span.aligned(look.geometry);
            if span.excluded.is_none() && !range.is_empty() {
                found.ranges.push(range);
            }
            if found.mappings.is_multiple_of(MAPPINGS_A_CHECK) {
                look.fits(bound)?;
            }
            if found.ranges.len() > MOST {
                return Err(SkipReason::TrackingTooExpensive);
            }
        }
        Ok(found)
    }

    /// Hands populated regions to `each` in ascending order, until it says `false`.
    pub(super) fn regions(
        &self,
        look: &mut Look<'_>,
        mut each: impl FnMut(&Look<'_>, Region) -> bool,
    ) -> Result<(), SkipReason> {
        for range in &self.ranges {
            let mut found = Vec::new();
            let mut at = range.start;
            while at < range.end {
                // In pieces, so that `each` can stop it, and has the look's other parts meanwhile.
                let end = range.end.min(at.saturating_add(PIECE));
                found.clear();
                let keep = |at, counts: crate::pages::Counts| {
                    if counts.populated() > 0 {
                        let populated = counts.populated();
                        found.push(Region { at, populated, huge: counts.huge });
                    }
                };
                let pagemap = &look.target.pagemap;
                look.pages.count(pagemap, at, end, keep, || false).map_err(reason_of_errno)?;
                if !found.iter().all(|region| each(look, *region)) {
                    return Ok(());
                }
                at = end;
            }
        }
        Ok(())
    }
}

/// At most `most` huge pages, from `cursor` on, which moves behind them: after the last ones of the
/// program come its first ones.
pub(super) fn next_huge(
    look: &mut Look<'_>,
    cursor: &mut u64,
    most: usize,
) -> Result<Vec<u64>, SkipReason> {
    let (from, budget) = (*cursor, look.ask.budget);
    let (mut behind, mut before) = (Vec::new(), Vec::new());
    Candidates::read(look, budget)?.regions(look, |look, region| {
        let chosen = if region.at >= from { &mut behind } else { &mut before };
        if region.huge && chosen.len() < most {
            chosen.push(region.at);
        }
        behind.len() < most && look.fits(budget).is_ok()
    })?;
    look.fits(budget)?;
    let chosen: Vec<u64> = behind.into_iter().chain(before).take(most).collect();
    if let Some(last) = chosen.last() {
        *cursor = last.saturating_add(look.geometry.huge.0);
    }
    Ok(chosen)
}

/// Address space that is scanned in one piece: 64 regions of 2 MiB.
const PIECE: u64 = 128 << 20;

/// What is populated of a range; `regions` are ascending.
pub(super) fn populated(regions: &[Region], range: &Range<u64>, huge: u64) -> Populated {
    let first = regions.partition_point(|region| region.at.saturating_add(huge) <= range.start);
    let within = regions.iter().skip(first).take_while(|region| region.at < range.end);
    within.fold(Populated::default(), |sum, region| {
        let in_huge = if region.huge { u64::from(region.populated) } else { 0 };
        let pages = u64::from(region.populated);
        Populated { pages: sum.pages + pages, in_huge: sum.in_huge + in_huge }
    })
}
