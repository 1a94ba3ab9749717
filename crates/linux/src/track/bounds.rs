//! From what a tracker counts to how many base pages were accessed: at least, and at most.

use hugewise_base::units::{Addr, Geometry, saturating_u64};
use hugewise_manager::access::Access;

/// Quantile of the normal distribution for 95 %, both sides.
const Z: f64 = 1.96;

/// Between which shares the true one lies, where `hits` of `tries` at random places were hits:
/// Wilson's interval at 95 % (E. B. Wilson, 1927). Without a try anything is possible.
pub(super) fn share(hits: u64, tries: u64) -> (f64, f64) {
    if tries == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (tries as f64, hits.min(tries) as f64 / tries as f64);
    let z2 = Z * Z;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At the ends the formula gives exactly 0 and 1 but for rounding.
    let low = if hits == 0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if hits >= tries { 1.0 } else { (middle + half).min(1.0) };
    (low, high)
}

/// Memory of a range: base pages, those of huge pages included, and how many of them belong to huge
/// pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Populated {
    pub(super) pages: u64,
    pub(super) in_huge: u64,
}

/// Accessed base pages of a range, where accessed bits cover between `least` and `most` of them.
///
/// The bit of a huge page covers all its base pages, and one of them is enough to set it: in the
/// least case all that can be is of huge pages.
pub(super) fn access(
    (from, to): (u64, u64),
    (least, most): (u64, u64),
    memory: Populated,
    geometry: Geometry,
) -> Access {
    let in_huge = least.min(memory.in_huge);
    let huge = in_huge.div_ceil(u64::from(geometry.pages_per_huge()).max(1));
    let room = ((to - from) / geometry.base.0.max(1)).min(memory.pages);
    let most_pages = most.min(room);
    let least_pages = (least - in_huge + huge).min(most_pages);
    Access { from: Addr(from), to: Addr(to), least_pages, most_pages }
}

/// The same where a share of the addresses of a range was accessed.
pub(super) fn access_by_share(
    (from, to): (u64, u64),
    (low, high): (f64, f64),
    memory: Populated,
    geometry: Geometry,
) -> Access {
    let pages = ((to - from) / geometry.base.0.max(1)) as f64;
    let bounds = (saturating_u64(low * pages), saturating_u64((high * pages).ceil()));
    let least = bounds.0.min(memory.pages);
    access((from, to), (least, bounds.1), memory, geometry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hit_of_twenty_leaves_a_sixth_possible() {
        let close = |(low, high): (f64, f64), a: f64, b: f64| {
            assert!((low - a).abs() < 0.002 && (high - b).abs() < 0.002, "{low} {high}");
        };
        close(share(0, 20), 0.0, 0.161);
        close(share(20, 20), 0.839, 1.0);
        close(share(10, 20), 0.299, 0.701);
        close(share(0, 0), 0.0, 1.0);
        assert!(share(0, 2000).1 < 0.002);
    }

    #[test]
    fn a_huge_page_counts_as_one_page_at_least_and_as_all_at_most() {
        let range = (0, 8 << 20);
        let geometry = Geometry::X86_64;
        let pages = |least, most, memory| {
            let access = access(range, (least, most), memory, geometry);
            (access.least_pages, access.most_pages)
        };
        let half_huge = Populated { pages: 2048, in_huge: 1024 };
        assert_eq!(pages(0, 0, half_huge), (0, 0));
        // 512 pages under one bit, or 512 bits.
        assert_eq!(pages(512, 512, half_huge), (1, 512));
        assert_eq!(pages(1536, 1536, half_huge), (512 + 2, 1536));
        let base = Populated { pages: 100, in_huge: 0 };
        assert_eq!(pages(30, 30, base), (30, 30));
        assert_eq!(pages(30, 5_000, base), (30, 100), "no more than are populated");
    }

    #[test]
    fn shares_are_of_addresses_and_pages_of_what_is_populated() {
        let geometry = Geometry::X86_64;
        let full = Populated { pages: 512, in_huge: 0 };
        let found = access_by_share((0, 2 << 20), (0.5, 0.75), full, geometry);
        assert_eq!((found.least_pages, found.most_pages), (256, 384));
        let sparse = Populated { pages: 10, in_huge: 0 };
        let found = access_by_share((0, 2 << 20), (0.5, 0.75), sparse, geometry);
        assert_eq!((found.least_pages, found.most_pages), (10, 10));
    }
}
