//! `MADV_COLD` on single huge pages: it takes the accessed bit of one away, and by how much the
//! mapping's `Referenced` then falls says whether the bit was set.
//!
//! The kernel believes that those pages are cold, and takes them first when memory is short: not
//! used unless it is asked for by name. A few huge pages a look, one after the other.

use super::candidates::next_huge;
use super::look::Look;
use crate::address_space::{self, SpaceFile};
use crate::bounded::BoundedLines;
use crate::reason::{reason_of_errno, reason_of_io};
use hugewise_base::parse::smaps::{self, SmapsLine};
use hugewise_base::units::{Addr, Ns};
use hugewise_manager::access::Access;
use hugewise_manager::reason::SkipReason;
use hugewise_sys::madvise::RemoteAdvice;
use std::os::fd::AsFd;

/// Huge pages in one look.
const MOST: usize = 8;
/// One that is accessed again before the count is read looks as if it never was: one in four of a
/// hot program (`docs/measurements.md#cost-of-a-look`). So the answer "no" is asked for so often.
const TRIES: u32 = 3;
/// smaps up to a mapping, twice, for a program of a few hundred mappings: 2 ms.
const LEAST_BUDGET: Ns = Ns::ms(4);

/// Takes the bits of some huge pages away, from `cursor` on, and moves it behind them.
pub(super) fn begin(look: &mut Look<'_>, cursor: &mut u64) -> Result<Vec<u64>, SkipReason> {
    look.verify()?;
    let chosen = next_huge(look, cursor, MOST)?;
    if chosen.is_empty() {
        return Err(SkipReason::NoLongerHuge);
    }
    look.verify()?;
    for at in &chosen {
        cool(look, *at)?;
    }
    Ok(chosen)
}

fn cool(look: &Look<'_>, at: u64) -> Result<(), SkipReason> {
    let huge = look.geometry.huge.0;
    let advised = address_space::advise(look.target.pidfd.as_fd(), at, huge, RemoteAdvice::Cold);
    advised.map(drop).map_err(reason_of_errno)
}

/// Says which of them were accessed since; those that are no longer huge are left out.
pub(super) fn end(chosen: &[u64], look: &mut Look<'_>) -> Result<Vec<Access>, SkipReason> {
    let bound = look.ask.budget.max(LEAST_BUDGET);
    let mut seen = Vec::new();
    for at in chosen {
        if !look.pages.region(&look.target.pagemap, *at).map_err(reason_of_errno)?.huge {
            continue;
        }
        look.verify()?;
        let Some(accessed) = accessed(look, *at)? else { continue };
        let pages = u64::from(look.geometry.pages_per_huge());
        let (least_pages, most_pages) = if accessed { (1, pages) } else { (0, 0) };
        let to = Addr(at + look.geometry.huge.0);
        seen.push(Access { from: Addr(*at), to, least_pages, most_pages });
        if look.fits(bound).is_err() {
            break;
        }
    }
    seen.sort_by_key(|access| access.from);
    Ok(seen)
}

/// Whether its bit was set; `None`: it is not mapped any more.
fn accessed(look: &Look<'_>, at: u64) -> Result<Option<bool>, SkipReason> {
    for _ in 0..TRIES {
        let Some(before) = referenced(look, at)? else { return Ok(None) };
        cool(look, at)?;
        let Some(after) = referenced(look, at)? else { return Ok(None) };
        // Others of the mapping may have been accessed in between.
        if before.saturating_sub(after) >= look.geometry.huge.0 / 2 {
            return Ok(Some(true));
        }
        if before == 0 {
            break;
        }
    }
    Ok(Some(false))
}

/// `Referenced` of the mapping that holds `at`, bytes; `None`: there is none any more.
fn referenced(look: &Look<'_>, at: u64) -> Result<Option<u64>, SkipReason> {
    let file = look.open(SpaceFile::Smaps).map_err(|error| reason_of_io(&error))?;
    let (mut lines, mut inside) = (BoundedLines::new(file), false);
    while let Some(line) = lines.next().map_err(|error| reason_of_io(&error))? {
        match smaps::line(line) {
            Ok(SmapsLine::Mapping(range)) if range.start > at => return Ok(None),
            Ok(SmapsLine::Mapping(range)) => inside = range.end > at,
            Ok(SmapsLine::Referenced(bytes)) if inside => return Ok(Some(bytes)),
            _ => {}
        }
    }
    Ok(None)
}
