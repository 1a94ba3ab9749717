//! How many pages of memory that is not huge hold only zeros, estimated from sampled regions.
//!
//! Faults that hand out several pages at a time populate pages that no program asked for. A page
//! table does not show which: only contents do, and they are read of some regions. Of each program
//! the share of zeros in what was sampled stands for all of it (a ratio estimate over clusters,
//! W. G. Cochran, Sampling Techniques, 3rd edition, 2.11).

use super::region::Region;
use serde::{Deserialize, Serialize};

/// Sums over a program's regions that are not huge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Regions, and their populated pages.
    regions: u64,
    populated: u64,
    /// Of those that were sampled: how many, populated pages, zeros, and sums of products.
    sampled: u64,
    pages: u64,
    zeros: u64,
    pages_pages: u64,
    pages_zeros: u64,
    zeros_zeros: u64,
}

/// Pages that hold only zeros, and how much that may be off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Pages.
    pub pages: f64,
    /// Variance of that number.
    pub variance: f64,
}

impl Estimate {
    /// Half of the interval that holds the true number 19 times in 20.
    pub fn error(&self) -> f64 {
        1.96 * self.variance.sqrt()
    }
}

impl std::ops::AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        self.pages += other.pages;
        self.variance += other.variance;
    }
}

impl Sums {
    /// Adds a region that is not huge.
    pub fn add(&mut self, region: &Region) {
        self.regions += 1;
        self.populated += u64::from(region.populated);
        let Some(zeros) = region.zeros else { return };
        let (pages, zeros) = (u64::from(region.populated), u64::from(zeros.min(region.populated)));
        self.sampled += 1;
        self.pages += pages;
        self.zeros += zeros;
        self.pages_pages += pages * pages;
        self.pages_zeros += pages * zeros;
        self.zeros_zeros += zeros * zeros;
    }

    /// Zeros in all of it; `None` where nothing was sampled.
    pub fn estimate(&self) -> Option<Estimate> {
        if self.pages == 0 {
            return None;
        }
        let (sampled, regions) = (self.sampled as f64, self.regions as f64);
        let share = self.zeros as f64 / self.pages as f64;
        let pages = share * self.populated as f64;
        if self.sampled < 2 {
            // One region says nothing of how much regions differ: they may all be different.
            let unseen = (self.populated - self.pages) as f64;
            return Some(Estimate { pages, variance: unseen * unseen / 4.0 });
        }
        let residual = (self.zeros_zeros as f64 - 2.0 * share * self.pages_zeros as f64
            + share * share * self.pages_pages as f64)
            .max(0.0);
        let unseen = (1.0 - sampled / regions).max(0.0);
        let variance = regions * regions * unseen * residual / (sampled * (sampled - 1.0));
        Some(Estimate { pages, variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugewise_base::rng::Rng;

    fn region(populated: u16, zeros: Option<u16>) -> Region {
        Region { populated, zeros, ..Region::default() }
    }

    #[test]
    fn what_was_sampled_stands_for_the_rest() {
        let mut sums = Sums::default();
        assert_eq!(sums.estimate(), None);
        (0..10).for_each(|_| sums.add(&region(400, None)));
        assert_eq!(sums.estimate(), None, "nothing was sampled");
        (0..10).for_each(|_| sums.add(&region(400, Some(100))));
        let estimate = sums.estimate().expect("ten were");
        assert!((estimate.pages - 2_000.0).abs() < 1e-6, "{estimate:?}");
        assert!(estimate.error() < 1e-6, "all alike: {estimate:?}");
    }

    /// The interval holds the truth about as often as it says, over many draws.
    #[test]
    fn the_stated_error_holds() {
        let (mut rng, mut held) = (Rng::new(7), 0);
        const DRAWS: u32 = 400;
        for _ in 0..DRAWS {
            let (mut sums, mut truth) = (Sums::default(), 0_u64);
            for number in 0..200_u64 {
                let populated = u16::try_from(100 + rng.below(413)).unwrap_or(512);
                let zeros = u16::try_from(rng.below(u64::from(populated))).unwrap_or(0);
                truth += u64::from(zeros);
                sums.add(&region(populated, (number % 5 == 0).then_some(zeros)));
            }
            let estimate = sums.estimate().expect("a fifth was sampled");
            held += u32::from((estimate.pages - truth as f64).abs() <= estimate.error());
        }
        assert!((360..=396).contains(&held), "{held} of {DRAWS}");
    }
}
