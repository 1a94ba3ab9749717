//! From samples of TLB misses to how many base pages of each region were accessed.
//!
//! A sample proves that its page was accessed: so many pages at least. How many at most, the pages
//! tell that were sampled only once: the more of them, next to those that were sampled twice, the
//! more were accessed and never sampled (A. Chao, 1984). Pages that were sampled more often are so
//! hot that none like them was missed (the idea of Chao and Lee, 1992), and say nothing of their
//! neighbours: a few hot pages do not make a region look full.
//!
//! That holds where pages, but for the hottest, miss about as often as each other. Where they do
//! not, it holds for the fewest pages that have three fifths of all misses: what misses rarely
//! beside them counts as not accessed (`docs/measurements.md#access-tracking`).

use super::Access;
use hugewise_base::units::{Addr, Geometry, saturating_u64};

/// With fewer samples of base pages nothing is said (`docs/measurements.md#access-tracking`).
pub const LEAST_SAMPLES: u64 = 32;
/// Quantile of the normal distribution for 95 % on one side.
const Z: f64 = 1.645;
/// From so many samples on a page is so hot that pages like it are not missed.
const HOT_FROM: u32 = 3;

/// One region of a program's memory, and its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// Where it starts.
    pub at: Addr,
    /// Base pages of it that are there.
    pub present: u64,
    /// Whether it is one huge page.
    pub huge: bool,
    /// How often each base page was sampled that was.
    pub counts: Vec<u32>,
}

impl Sampled {
    fn hot(&self) -> u64 {
        self.counts.iter().filter(|count| **count >= HOT_FROM).count() as u64
    }
}

/// What the samples say of these regions, in their order; `None`: too few to tell anything.
///
/// A huge page misses so rarely that no sample of it says nothing: it is left out then, and known
/// to be accessed otherwise. Regions of which nothing is known are left out as well.
#[must_use]
pub fn accesses(regions: &[Sampled], geometry: Geometry) -> Option<Vec<Access>> {
    let share = share_seen(regions)?;
    let access = |region: &Sampled| {
        let seen = region.counts.len() as u64;
        let present = region.present.max(seen);
        let (least_pages, most_pages) = match (region.huge, seen) {
            (true, 0) => return None,
            (true, _) => (1, present),
            (false, _) => {
                let hot = region.hot();
                let rest = saturating_u64((upper(seen - hot) / share).ceil());
                (seen, hot.saturating_add(rest).min(present))
            }
        };
        // Any number of its pages, or none: that is not worth saying.
        let anything = least_pages == 0 && most_pages >= present;
        let (from, to) = (region.at, Addr(region.at.0.saturating_add(geometry.huge.0)));
        (!anything).then_some(Access { from, to, least_pages, most_pages })
    };
    Some(regions.iter().filter_map(access).collect())
}

/// Share of the accessed base pages, but for the hottest ones, that were sampled at all: at least
/// so many, at 95 %. `None`: that cannot be told, as too few were sampled twice.
fn share_seen(regions: &[Sampled]) -> Option<f64> {
    let counts = || regions.iter().filter(|region| !region.huge).flat_map(|region| &region.counts);
    let samples: u64 = counts().map(|count| u64::from(*count)).sum();
    if samples < LEAST_SAMPLES {
        return None;
    }
    let seen = |times| counts().filter(|count| **count == times).count() as u64;
    let (once, twice) = (seen(1), seen(2));
    if once == 0 {
        return Some(1.0);
    }
    let least_twice = lower(twice);
    if least_twice <= 0.0 {
        return None;
    }
    let never = (once as f64) * (once as f64) / (2.0 * least_twice);
    let some = (once + twice) as f64;
    Some(some / (some + never))
}

/// What a Poisson variable that was seen as `n` is at most, at 95 % (N. Gehrels, 1986).
fn upper(n: u64) -> f64 {
    let n = n as f64 + 1.0;
    n * (1.0 - 1.0 / (9.0 * n) + Z / (3.0 * libm::sqrt(n))).powi(3)
}

/// ... and at least.
fn lower(n: u64) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let n = n as f64;
    n * (1.0 - 1.0 / (9.0 * n) - Z / (3.0 * libm::sqrt(n))).max(0.0).powi(3)
}

#[cfg(test)]
mod tests;
