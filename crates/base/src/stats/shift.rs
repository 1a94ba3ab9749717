//! How far one sample lies from the other, and how sure that is: the estimate of Hodges and Lehmann
//! (1963) and the interval that inverts the rank test of Mann and Whitney.
//!
//! The interval holds exactly the shifts that the test does not reject, and [`Pairs::p`] is that
//! test for no shift: "0 lies in the interval of level 1 - alpha" and "p is above alpha" are one
//! statement.
//!
//! Equal values across the samples count for "no difference". Breaking ties at random would give a
//! valid test, and this p is never below that one's. So with ties it is larger than the p of
//! [`super::mann_whitney::test`], whose normal approximation can be too small for few values: 1 1 1
//! against 2 2 2 gives 0.047, but one in ten splits of these six is as extreme.

use super::mann_whitney::Table;
use super::{Interval, finite};

/// More pairs are not looked at (128 MiB): nobody repeats a run that often.
const MAX_PAIRS: usize = 1 << 24;

/// The differences or ratios of all pairs of a value of `other` and one of `baseline`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    sorted: Vec<f64>,
    table: Table,
    /// What a pair without difference gives: 0 or 1.
    neutral: f64,
}

impl Pairs {
    /// `other - baseline`, in the values' unit. `None` unless both have at least two values, all
    /// finite, whose differences are finite.
    pub fn differences(baseline: &[f64], other: &[f64]) -> Option<Self> {
        Self::of(baseline, other, 0.0, |base, value| value - base)
    }

    /// `other / baseline`, on a logarithmic scale. `None` unless both have at least two values, all
    /// finite and above 0, whose ratios are finite and above 0.
    pub fn ratios(baseline: &[f64], other: &[f64]) -> Option<Self> {
        if baseline.iter().chain(other).any(|value| *value <= 0.0) {
            return None;
        }
        // Not through logarithms: those of neighbouring numbers may be equal, and the order of the
        // pairs must be that of the differences.
        let pairs = Self::of(baseline, other, 1.0, |base, value| value / base)?;
        (pairs.sorted.first()? > &0.0).then_some(pairs)
    }

    fn of(
        baseline: &[f64],
        other: &[f64],
        neutral: f64,
        pair: impl Fn(f64, f64) -> f64,
    ) -> Option<Self> {
        let (baseline, other) = (finite(baseline, 2)?, finite(other, 2)?);
        let count = baseline.len().checked_mul(other.len())?;
        if count > MAX_PAIRS {
            return None;
        }
        let mut sorted = Vec::with_capacity(count);
        for base in baseline {
            sorted.extend(other.iter().map(|value| pair(*base, *value)));
        }
        sorted.sort_by(f64::total_cmp);
        let finite = sorted.first()?.is_finite() && sorted.last()?.is_finite();
        let table = Table::new(baseline.len(), other.len());
        finite.then_some(Self { sorted, table, neutral })
    }

    /// The middle of all pairs: the estimated shift, or ratio.
    pub fn estimate(&self) -> f64 {
        let last = self.sorted.len() - 1;
        let (low, high) = (self.sorted[last / 2], self.sorted[last - last / 2]);
        // Neither way leaves the range of numbers, however far apart the two are.
        match self.neutral == 0.0 {
            true => low.midpoint(high),
            false => (low.sqrt() * high.sqrt()).clamp(low, high),
        }
    }

    /// The interval of level `1 - alpha`; `None` where so few values allow none but the whole line.
    pub fn interval(&self, alpha: f64) -> Option<Interval> {
        let first = self.table.rejected(alpha).checked_sub(1)?;
        let last = self.sorted.len().checked_sub(1 + first)?;
        Interval::new(*self.sorted.get(first)?, *self.sorted.get(last)?)
    }

    /// The chance of samples at least as far apart, were there no difference.
    pub fn p(&self) -> f64 {
        let below = self.sorted.partition_point(|pair| *pair < self.neutral);
        let above = self.sorted.len() - self.sorted.partition_point(|pair| *pair <= self.neutral);
        self.table.p(self.sorted.len() - below.max(above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mann_whitney;
    use proptest::prelude::*;

    #[test]
    fn a_known_shift() {
        let baseline = [10.0, 11.0, 12.0, 13.0, 14.0];
        let other = baseline.map(|value| value * 2.0);
        let ratios = Pairs::ratios(&baseline, &other).expect("positive");
        assert!((ratios.estimate() - 2.0).abs() < 1e-12, "{}", ratios.estimate());
        assert_eq!(ratios.p(), 2.0 / 252.0);
        let shift = Pairs::differences(&baseline, &other).expect("finite");
        assert_eq!((shift.estimate(), shift.p()), (12.0, ratios.p()));
        assert!(shift.interval(0.05).is_some_and(|at| at.contains(12.0) && !at.contains(0.0)));
        // 2 / 252 is the smallest p: no interval below.
        assert_eq!(shift.interval(0.007), None);
        assert_eq!(Pairs::ratios(&baseline, &[1.0, 0.0]), None);
    }

    #[test]
    fn the_middle_of_pairs_that_lie_far_apart_is_a_number() {
        let far = Pairs::ratios(&[9.6, 8.0], &[f64::MIN_POSITIVE, 3.3e69]).expect("finite");
        assert!(far.estimate() > 1e-130 && far.estimate() < 1e-110, "{}", far.estimate());
        let most = [-8e307, 8e307];
        let wide = Pairs::differences(&most, &most).expect("finite");
        assert_eq!(wide.estimate(), 0.0);
    }

    #[test]
    fn equal_values_count_for_no_difference() {
        let p = |one: &[f64], two: &[f64]| Pairs::differences(one, two).map(|pairs| pairs.p());
        assert_eq!(p(&[1.0; 3], &[2.0; 3]), Some(0.1));
        assert_eq!(p(&[1.0; 3], &[1.0; 3]), Some(1.0));
        let approximate = mann_whitney::normal_approximation(&[1.0; 3], &[2.0; 3]);
        assert!(approximate.is_some_and(|test| test.p < 0.05), "{approximate:?}");
        // As if 2.0 and 2.0 were in the other order: U is 1, not 0.5.
        assert_eq!(p(&[1.0, 2.0], &[2.0, 3.0]), p(&[1.0, 2.1], &[2.0, 3.0]));
    }

    fn few() -> impl Strategy<Value = Vec<f64>> {
        // Small whole numbers, so that there are ties.
        prop::collection::vec((1u8..20).prop_map(f64::from), 2..9)
    }

    proptest! {
        #[test]
        fn interval_and_p_agree(a in few(), b in few(), alpha in 0.001..0.5f64) {
            for pairs in [Pairs::differences(&a, &b), Pairs::ratios(&a, &b)] {
                let pairs = pairs.expect("positive and finite");
                let inside = pairs.interval(alpha).is_none_or(|at| at.contains(pairs.neutral));
                prop_assert_eq!(inside, pairs.p() > alpha);
                // At the p itself the test rejects.
                let excludes = |at: Interval| !at.contains(pairs.neutral);
                let at_p = pairs.interval(pairs.p()).is_some_and(excludes);
                prop_assert!(pairs.p() >= 1.0 || at_p);
            }
        }

        #[test]
        fn without_ties_p_is_that_of_the_exact_test(
            a in prop::collection::vec(-1e6..1e6f64, 2..12),
            b in prop::collection::vec(-1e6..1e6f64, 2..12),
        ) {
            if let Some(exact) = mann_whitney::exact(&a, &b) {
                let pairs = Pairs::differences(&a, &b).expect("finite");
                prop_assert_eq!(pairs.p(), exact.p);
            }
        }
    }
}
