//! Idle page tracking: page frames are marked idle, and the kernel takes the mark away from those
//! that were accessed. Of a region that is small a few pages are marked, spread evenly; of a huge
//! page its one frame that counts.
//!
//! Only frames that this program alone maps are marked: others would tell of others.

use super::bounds::{self, Populated};
use super::candidates::{Candidates, Region};
use super::look::Look;
use super::offers::IDLE_BITMAP;
use crate::reason::{reason_of_errno, reason_of_io};
use hugewise_base::units::{Geometry, Ns, saturating_u64};
use hugewise_manager::access::Access;
use hugewise_manager::reason::SkipReason;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// Most pages of a small region that are marked: 64 of 512 tell a share to within 12 percentage
/// points, ...
const MOST: u64 = 64;
/// ... and fewer than 8 tell next to nothing.
const LEAST: u64 = 8;
/// What both halves may take for a region and for each marked page, ns: two reads of its pagemap,
/// and two calls that look at who maps the page. Estimated: no kernel at hand has this tracker
/// (`docs/measurements.md#cost-of-a-look`).
const REGION: u64 = 60_000;
const PAGE: u64 = 6_000;
/// Frames in one word of the bitmap.
const WORD: u64 = 64;

/// A look that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    bitmap: File,
    marked: Vec<Marked>,
}

/// One region and its marked pages: their places in it, and their frames.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Marked {
    region: Region,
    frames: Vec<(usize, u64)>,
}

#[cfg(test)]
impl Begun {
    /// Marked frames of one region.
    pub(super) fn frames_of(&self, at: u64) -> Vec<u64> {
        let of = self.marked.iter().filter(|marked| marked.region.at == at);
        of.flat_map(|marked| &marked.frames).map(|(_, frame)| *frame).collect()
    }
}

/// Marks pages idle.
pub(super) fn begin(look: &mut Look<'_>) -> Result<Begun, SkipReason> {
    let path = look.root.path(IDLE_BITMAP);
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let bitmap = opened.map_err(|error| match reason_of_io(&error) {
        SkipReason::Gone => SkipReason::NoMechanism,
        reason => reason,
    })?;
    look.verify()?;
    let budget = look.ask.budget;
    let mut regions = Vec::new();
    Candidates::read(look, budget)?.regions(look, |look, region| {
        regions.push(region);
        look.fits(budget).is_ok()
    })?;
    look.fits(budget)?;
    let left = Ns(budget.0.saturating_sub(look.cost.cpu().0));
    let each = pages_a_region(&regions, left).ok_or(SkipReason::TrackingTooExpensive)?;
    let mut marked = Vec::new();
    for region in regions {
        let frames = look.pages.own_frames(&look.target.pagemap, region.at);
        let frames = frames.map_err(reason_of_errno)?;
        let most = if region.huge { 1 } else { each };
        marked.push(Marked { region, frames: spread(&frames, most) });
    }
    if marked.iter().all(|marked| marked.frames.is_empty()) && !marked.is_empty() {
        // Frames are hidden from who lacks CAP_SYS_ADMIN.
        return Err(SkipReason::NoPermission);
    }
    look.verify()?;
    let frames = marked.iter().flat_map(|marked| &marked.frames).map(|(_, frame)| *frame);
    for (word, bits) in words(frames) {
        match bitmap.write_all_at(&bits.to_ne_bytes(), word * 8) {
            Err(error) if error.kind() != std::io::ErrorKind::InvalidInput => {
                return Err(reason_of_io(&error));
            }
            _ => {}
        }
    }
    Ok(Begun { bitmap, marked })
}

/// How many pages of each small region can be marked within `left`; `None`: too few.
fn pages_a_region(regions: &[Region], left: Ns) -> Option<u64> {
    let huge = regions.iter().filter(|region| region.huge).count() as u64;
    let (all, small) = (regions.len() as u64, regions.len() as u64 - huge);
    let fixed = all.saturating_mul(REGION).saturating_add(huge.saturating_mul(PAGE));
    let rest = left.0.checked_sub(fixed)?;
    match small {
        0 => Some(LEAST),
        _ => Some((rest / PAGE / small).min(MOST)).filter(|each| *each >= LEAST),
    }
}

/// At most so many of the known frames, far from each other.
fn spread(frames: &[Option<u64>], most: u64) -> Vec<(usize, u64)> {
    let known: Vec<_> =
        frames.iter().enumerate().filter_map(|(n, frame)| Some((n, (*frame)?))).collect();
    let most = usize::try_from(most).unwrap_or(usize::MAX).clamp(1, known.len().max(1));
    (0..most).filter_map(|n| known.get(n * known.len() / most).copied()).collect()
}

/// Bits of the bitmap by its words.
fn words(frames: impl Iterator<Item = u64>) -> BTreeMap<u64, u64> {
    let mut words = BTreeMap::new();
    for frame in frames {
        *words.entry(frame / WORD).or_default() |= 1 << (frame % WORD);
    }
    words
}

/// Says which pages are no longer idle.
pub(super) fn end(begun: Begun, look: &mut Look<'_>) -> Result<Vec<Access>, SkipReason> {
    let mut seen = Vec::new();
    for Marked { region, frames } in begun.marked {
        // A page that moved meanwhile took no mark with it.
        let now = look.pages.own_frames(&look.target.pagemap, region.at);
        let now = now.map_err(reason_of_errno)?;
        let stayed = frames.iter().filter(|(n, frame)| now.get(*n) == Some(&Some(*frame)));
        let (mut tries, mut hits) = (0, 0);
        for (_, frame) in stayed {
            let mut word = [0; 8];
            if begun.bitmap.read_exact_at(&mut word, frame / WORD * 8).is_ok() {
                tries += 1;
                hits += u64::from(u64::from_ne_bytes(word) >> (frame % WORD) & 1 == 0);
            }
        }
        seen.extend(access(region, hits, tries, look.geometry));
    }
    Ok(seen)
}

/// What the sample says of its region; `None`: nothing.
fn access(region: Region, hits: u64, tries: u64, geometry: Geometry) -> Option<Access> {
    if tries == 0 {
        return None;
    }
    let range = (region.at, region.at + geometry.huge.0);
    let pages = u64::from(region.populated);
    let in_huge = if region.huge { pages } else { 0 };
    let (low, high) = match region.huge || tries >= pages {
        // All were looked at.
        true => (hits as f64 / tries as f64, hits as f64 / tries as f64),
        false => bounds::share(hits, tries),
    };
    let accessed =
        (saturating_u64(low * pages as f64), saturating_u64((high * pages as f64).ceil()));
    Some(bounds::access(range, accessed, Populated { pages, in_huge }, geometry))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry::X86_64;

    #[test]
    fn pages_are_far_from_each_other_and_share_words() {
        let mut frames = vec![None; 512];
        (0..512).step_by(2).for_each(|n| frames[n] = Some(1_000 + n as u64));
        let some = spread(&frames, 4);
        assert_eq!(some, [(0, 1_000), (128, 1_128), (256, 1_256), (384, 1_384)]);
        assert_eq!(spread(&frames, 1_000).len(), 256);
        assert_eq!(spread(&[None, None], 4), []);
        let words = words([0, 1, 63, 64, 130].into_iter());
        assert_eq!(words, BTreeMap::from([(0, 1 << 63 | 3), (1, 1), (2, 4)]));
    }

    #[test]
    fn a_sample_gives_bounds_and_a_huge_page_is_known() {
        let region = |populated, huge| Region { at: 2 << 20, populated, huge };
        let pages = |region, hits, tries| {
            access(region, hits, tries, GEOMETRY).map(|a| (a.least_pages, a.most_pages))
        };
        assert_eq!(pages(region(512, true), 1, 1), Some((1, 512)));
        assert_eq!(pages(region(512, true), 0, 1), Some((0, 0)));
        assert_eq!(pages(region(8, false), 3, 8), Some((3, 3)));
        let (least, most) = pages(region(512, false), 32, 64).expect("sampled");
        assert!((190..=200).contains(&least) && (310..=325).contains(&most), "{least} {most}");
        assert_eq!(pages(region(512, false), 0, 0), None);
    }

    #[test]
    fn more_regions_get_fewer_pages_each() {
        let regions = |n| vec![Region { at: 0, populated: 512, huge: false }; n];
        assert_eq!(pages_a_region(&regions(10), Ns::ms(50)), Some(64));
        assert_eq!(pages_a_region(&regions(300), Ns::ms(50)), Some(17));
        assert_eq!(pages_a_region(&regions(2_000), Ns::ms(50)), None);
    }
}
