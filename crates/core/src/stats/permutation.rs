//! The permutation test: how often would chance alone split the values as far apart?

use super::{finite, mean};
use crate::sim::rng::Rng;
use serde::{Deserialize, Serialize};

/// Up to so many splits all are looked at (8 and 8 values have 12,870), else random ones.
pub const EXACT_UP_TO: u64 = 20_000;

/// How many random splits are looked at: the smallest p is then 0.0002.
pub const RANDOM_SPLITS: u64 = 9_999;

/// Statistics that differ by less than this share of the largest value are equal: the same values
/// summed in another order.
const ROUNDING: f64 = 1e-12;

/// The result of a two-sided permutation test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Permutation {
    /// The chance of a statistic at least as extreme, were there no difference: twice the smaller
    /// of both sides. Random splits count the observed one among them, so it is never 0.
    pub p: f64,
    /// How many splits were looked at.
    pub splits: u64,
    /// Whether these were all there are.
    pub exact: bool,
}

/// How many ways there are to choose `n` of `all`; `None` beyond 64 bits.
fn choices(all: usize, n: usize) -> Option<u64> {
    let (all, n) = (u64::try_from(all).ok()?, u64::try_from(n.min(all - n)).ok()?);
    (0..n).try_fold(1u64, |ways, i| Some(ways.checked_mul(all - i)? / (i + 1)))
}

/// The difference of the means: the statistic to take when nothing speaks against it.
#[must_use]
pub fn mean_difference(one: &[f64], two: &[f64]) -> f64 {
    mean(two).zip(mean(one)).map_or(f64::NAN, |(two, one)| two - one)
}

/// Over all splits where there are at most [`EXACT_UP_TO`], else over [`RANDOM_SPLITS`] random
/// ones. `None` unless both samples have at least two values, all finite, and so is the statistic.
#[must_use]
pub fn test(
    one: &[f64],
    two: &[f64],
    statistic: impl Fn(&[f64], &[f64]) -> f64,
    seed: u64,
) -> Option<Permutation> {
    let few = choices(one.len().checked_add(two.len())?, one.len());
    if few.is_some_and(|splits| splits <= EXACT_UP_TO) {
        exact(one, two, statistic)
    } else {
        random(one, two, statistic, RANDOM_SPLITS, seed)
    }
}

/// How many splits lie on each side of the observed one.
struct Tally {
    observed: f64,
    equal_within: f64,
    low: u64,
    high: u64,
    all: u64,
}

impl Tally {
    fn new(all: &[f64], observed: f64) -> Option<Self> {
        let largest = all.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        let equal_within = ROUNDING * largest;
        let start = Self { observed, equal_within, low: 0, high: 0, all: 0 };
        observed.is_finite().then_some(start)
    }

    fn add(&mut self, value: f64) -> Option<()> {
        self.low += u64::from(value <= self.observed + self.equal_within);
        self.high += u64::from(value >= self.observed - self.equal_within);
        self.all += 1;
        value.is_finite().then_some(())
    }

    /// `observed` is 1 where the observed split is not among those looked at.
    fn result(&self, observed: u64) -> Permutation {
        let side = (self.low.min(self.high) + observed) as f64 / (self.all + observed) as f64;
        Permutation { p: (2.0 * side).min(1.0), splits: self.all, exact: observed == 0 }
    }
}

/// Over all splits, however many; see [`test`].
#[must_use]
pub fn exact(
    one: &[f64],
    two: &[f64],
    statistic: impl Fn(&[f64], &[f64]) -> f64,
) -> Option<Permutation> {
    let all = [finite(one, 2)?, finite(two, 2)?].concat();
    let mut tally = Tally::new(&all, statistic(one, two))?;
    let n = one.len();
    let mut chosen: Vec<usize> = (0..n).collect();
    let (mut first, mut second) = (Vec::with_capacity(n), Vec::with_capacity(two.len()));
    loop {
        first.clear();
        second.clear();
        let mut next = chosen.iter().peekable();
        for (index, value) in all.iter().enumerate() {
            let side = if next.next_if_eq(&&index).is_some() { &mut first } else { &mut second };
            side.push(*value);
        }
        tally.add(statistic(&first, &second))?;
        // The next choice in lexical order: move the last index that can still move.
        let Some(at) = (0..n).rev().find(|at| chosen[*at] < all.len() - n + at) else { break };
        let start = chosen[at] + 1;
        for (place, index) in chosen[at..].iter_mut().zip(start..) {
            *place = index;
        }
    }
    Some(tally.result(0))
}

/// Over `splits` random ones; see [`test`].
#[must_use]
pub fn random(
    one: &[f64],
    two: &[f64],
    statistic: impl Fn(&[f64], &[f64]) -> f64,
    splits: u64,
    seed: u64,
) -> Option<Permutation> {
    let mut all = [finite(one, 2)?, finite(two, 2)?].concat();
    let mut tally = Tally::new(&all, statistic(one, two))?;
    let mut rng = Rng::new(seed);
    for _ in 0..splits {
        // The first part of a shuffle (Fisher and Yates) is a random choice.
        for at in 0..one.len() {
            let left = u64::try_from(all.len() - at).ok()?;
            all.swap(at, at + usize::try_from(rng.below(left)).ok()?);
        }
        let (first, second) = all.split_at(one.len());
        tally.add(statistic(first, second))?;
    }
    Some(tally.result(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_splits_of_a_small_sample() {
        // The observed split is the most extreme of C(5, 2) = 10.
        let result = exact(&[1.0, 2.0], &[10.0, 11.0, 12.0], mean_difference);
        assert_eq!(result, Some(Permutation { p: 0.2, splits: 10, exact: true }));
        let equal = exact(&[1.0, 1.0], &[1.0, 1.0], mean_difference);
        assert_eq!(equal.map(|result| result.p), Some(1.0));
        assert_eq!(
            (choices(16, 8), choices(4, 4), choices(200, 100)),
            (Some(12_870), Some(1), None)
        );
    }

    #[test]
    fn random_splits_come_near_and_repeat() {
        let one = [3.1, 4.7, 2.2, 5.8, 3.9, 4.1, 3.3];
        let two = [4.9, 6.1, 5.2, 3.8, 6.6, 7.0];
        let all = exact(&one, &two, mean_difference).expect("finite");
        let some = random(&one, &two, mean_difference, 20_000, 1).expect("finite");
        assert!((all.p - some.p).abs() < 0.006, "{all:?} {some:?}");
        assert_eq!(Some(some), random(&one, &two, mean_difference, 20_000, 1));
        let far: Vec<f64> = (0..20).map(f64::from).collect();
        let further: Vec<f64> = far.iter().map(|value| value + 100.0).collect();
        let never_zero = test(&far, &further, mean_difference, 2).expect("finite");
        assert_eq!((never_zero.p, never_zero.exact), (2.0 / 10_000.0, false));
    }
}
