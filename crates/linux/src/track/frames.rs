//! DAMON on page frames, for huge pages only: one region of DAMON for each, which is the first
//! base page of the huge page, as older kernels see no other one of it (`damon_get_folio` in
//! Linux 6.12 leaves tail pages out). Each has one accessed bit: what DAMON says of it is exact.

use super::candidates::next_huge;
use super::damon::{self, Tried, Watched};
use super::look::Look;
use super::slot::{Slot, Taken};
use crate::kdamond;
use crate::reason::reason_of_errno;
use hugewise_base::units::{Addr, Geometry};
use hugewise_manager::access::Access;
use hugewise_manager::reason::SkipReason;
use std::collections::BTreeMap;
use std::ops::Range;

/// Most huge pages in one look: each takes three writes to set up.
const MOST: usize = 400;

/// A look that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    taken: Taken,
    /// Addresses of huge pages by physical address.
    huge: BTreeMap<u64, u64>,
}

/// Has DAMON watch huge pages, from `cursor` on, which moves behind them.
pub(super) fn begin(
    look: &mut Look<'_>,
    slot: &mut Slot,
    cursor: &mut u64,
) -> Result<Begun, SkipReason> {
    // Before anything is looked for.
    kdamond::is_free(look.root).map_err(|(reason, _)| reason)?;
    look.verify()?;
    let chosen = next_huge(look, cursor, MOST)?;
    // Base pages have no tracker in this: another one may know them.
    if chosen.is_empty() {
        return Err(SkipReason::NoMechanism);
    }
    let mut huge = BTreeMap::new();
    for at in chosen {
        if let Some(frame) = first_frame(look, at)? {
            huge.insert(frame * look.geometry.base.0, at);
        }
    }
    if huge.is_empty() {
        // Frames are hidden from who lacks CAP_SYS_ADMIN.
        return Err(SkipReason::NoPermission);
    }
    let base = look.geometry.base.0;
    let ranges: Vec<Range<u64>> = huge.keys().map(|at| *at..at + base).collect();
    let taken = damon::start(look, slot, Watched::Frames(&ranges))?;
    Ok(Begun { taken, huge })
}

fn first_frame(look: &Look<'_>, at: u64) -> Result<Option<u64>, SkipReason> {
    let frames = look.pages.own_frames(&look.target.pagemap, at).map_err(reason_of_errno)?;
    Ok(frames.first().copied().flatten())
}

/// Says which of them were accessed since.
pub(super) fn end(begun: Begun, look: &mut Look<'_>) -> Result<Vec<Access>, SkipReason> {
    let Begun { taken, huge } = begun;
    let tried = damon::stop(taken, look.cost)?;
    let mut stayed = BTreeMap::new();
    for (physical, at) in huge {
        if first_frame(look, at)? == Some(physical / look.geometry.base.0) {
            stayed.insert(physical, at);
        }
    }
    Ok(accesses(&tried, &stayed, look.geometry))
}

fn accesses(tried: &[Tried], huge: &BTreeMap<u64, u64>, geometry: Geometry) -> Vec<Access> {
    let pages = u64::from(geometry.pages_per_huge());
    let one = |tried: &Tried| {
        let at = huge.get(&tried.start)?;
        let (least_pages, most_pages) = if tried.hits > 0 { (1, pages) } else { (0, 0) };
        let to = Addr(at + geometry.huge.0);
        Some(Access { from: Addr(*at), to, least_pages, most_pages })
    };
    let mut all: Vec<_> = tried.iter().filter_map(one).collect();
    all.sort_by_key(|access| access.from);
    all.dedup_by_key(|access| access.from);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_back_in_the_program() {
        let huge = BTreeMap::from([(8 << 20, 6 << 20), (64 << 20, 2 << 20)]);
        let tried = |start: u64, hits| Tried { start, end: start + 4096, hits };
        let found = accesses(
            &[tried(8 << 20, 3), tried(64 << 20, 0), tried(9 << 20, 20)],
            &huge,
            Geometry::X86_64,
        );
        let said: Vec<_> =
            found.iter().map(|a| (a.from.0 >> 20, a.least_pages, a.most_pages)).collect();
        assert_eq!(said, [(2, 0, 0), (6, 1, 512)]);
    }
}
