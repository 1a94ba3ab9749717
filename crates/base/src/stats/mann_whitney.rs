//! The rank test of Mann and Whitney (1947): does one sample tend to lie above the other?

use super::{finite, normal};
use serde::{Deserialize, Serialize};

/// Up to so many values in both samples together the distribution of U is counted out.
pub const EXACT_UP_TO: usize = 100;

/// How the chance was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Counted over all orders of the values, which must all differ.
    Exact,
    /// From the normal distribution, with corrections for ties and continuity.
    Normal,
}

/// The result of a two-sided test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// In how many pairs the first sample's value is the larger one; equal ones count half.
    pub u: f64,
    /// The chance of samples at least as far apart, were there no difference.
    pub p: f64,
    /// How `p` was computed.
    pub method: Method,
}

/// U of the first sample, and the sum of t^3 - t over all groups of t equal values.
fn ranks(one: &[f64], two: &[f64]) -> Option<(f64, f64)> {
    let mut all: Vec<(f64, bool)> = finite(one, 2)?.iter().map(|value| (*value, true)).collect();
    all.extend(finite(two, 2)?.iter().map(|value| (*value, false)));
    // Partial comparison, so that -0 and 0 are equal; all are finite.
    all.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
    let (mut below, mut u, mut ties) = (0.0, 0.0, 0.0);
    for equal in all.chunk_by(|a, b| a.0 == b.0) {
        let first = equal.iter().filter(|(_, first)| *first).count() as f64;
        let second = equal.len() as f64 - first;
        u += first * (below + 0.5 * second);
        below += second;
        ties += (equal.len() as f64).powi(3) - equal.len() as f64;
    }
    Some((u, ties))
}

/// Exact where all values differ and there are at most [`EXACT_UP_TO`], else the
/// [`normal_approximation`]. `None` unless both samples have at least two values, all finite.
pub fn test(one: &[f64], two: &[f64]) -> Option<Test> {
    let few = one.len() + two.len() <= EXACT_UP_TO;
    few.then(|| exact(one, two)).flatten().or_else(|| normal_approximation(one, two))
}

/// The exact test; `None` with equal values, more than [`EXACT_UP_TO`] of them, or too few.
pub fn exact(one: &[f64], two: &[f64]) -> Option<Test> {
    let (u, ties) = ranks(one, two)?;
    let (n, m) = (one.len(), two.len());
    if ties > 0.0 || n + m > EXACT_UP_TO {
        return None;
    }
    let smaller = u.min((n * m) as f64 - u);
    let smaller = usize::try_from(crate::units::saturating_u64(smaller)).ok()?;
    let p = (2.0 * lower_tail(n, m).get(smaller)?).min(1.0);
    Some(Test { u, p, method: Method::Exact })
}

/// The normal approximation with corrections for ties and continuity. `None` with too few values,
/// or when all are equal.
pub fn normal_approximation(one: &[f64], two: &[f64]) -> Option<Test> {
    let (u, ties) = ranks(one, two)?;
    let (n, m) = (one.len() as f64, two.len() as f64);
    let all = n + m;
    let deviation = (n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).sqrt();
    let z = (u.max(n * m - u) - 0.5 * n * m - 0.5) / deviation;
    let p = (2.0 * normal::upper_tail(z)).min(1.0);
    z.is_finite().then_some(Test { u, p, method: Method::Normal })
}

/// The chance that U is at most 0, 1, 2 ... n * m for samples of `n` and `m` different values, were
/// there no difference. At most [`EXACT_UP_TO`] values in all: the counts fit into 128 bits.
///
/// The numbers of orders with a given U are the coefficients of the Gaussian binomial, the product
/// over i = 1 ... n of (1 - q^(m + i)) / (1 - q^i).
fn lower_tail(n: usize, m: usize) -> Vec<f64> {
    debug_assert!(n + m <= EXACT_UP_TO, "the counts would overflow");
    let mut orders = vec![0i128; n * m + 1];
    orders[0] = 1;
    for i in 1..=n {
        for u in (m + i..orders.len()).rev() {
            orders[u] -= orders[u - m - i];
        }
        for u in i..orders.len() {
            orders[u] += orders[u - i];
        }
    }
    let all = orders.iter().sum::<i128>() as f64;
    let mut seen = 0i128;
    let tail = orders.iter().map(|count| {
        seen += count;
        seen as f64 / all
    });
    tail.collect()
}

/// The two-sided test without ties as a table: p for each U up to half of all pairs, so that a
/// decision and an interval rest on the same numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    sizes: (usize, usize),
    /// The lower tail; empty where the normal approximation stands in.
    tail: Vec<f64>,
}

impl Table {
    /// For samples of these sizes.
    pub(crate) fn new(n: usize, m: usize) -> Self {
        let exact = n + m <= EXACT_UP_TO;
        Self { sizes: (n, m), tail: if exact { lower_tail(n, m) } else { Vec::new() } }
    }

    fn pairs(&self) -> usize {
        self.sizes.0.saturating_mul(self.sizes.1)
    }

    /// The chance of a U as small as `u`, or as large as its mirror image. Grows with `u`.
    pub(crate) fn p(&self, u: usize) -> f64 {
        if let Some(tail) = self.tail.get(u) {
            return (2.0 * tail).min(1.0);
        }
        let (n, m) = (self.sizes.0 as f64, self.sizes.1 as f64);
        let deviation = (n * m / 12.0 * (n + m + 1.0)).sqrt();
        (2.0 * normal::cdf((u as f64 + 0.5 - 0.5 * n * m) / deviation)).min(1.0)
    }

    /// How many of U = 0, 1, 2 ... have a chance of at most `alpha`.
    pub(crate) fn rejected(&self, alpha: f64) -> usize {
        // Beyond the middle p is 1, so the half is enough unless alpha is 1 or more.
        let (mut low, mut high) = (0, self.pairs() / 2 + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.p(middle) <= alpha { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// How many values each of two samples must have for a p of at most `alpha` to be possible: the
/// smallest n with 2 / C(2n, n) <= alpha. `None` unless 0 < alpha.
pub fn values_needed(alpha: f64) -> Option<usize> {
    let mut smallest = 2.0;
    // 2 / C(1000, 500) is about 1e-299.
    (1..=500usize).find(|n| {
        let n = *n as f64;
        smallest *= n / (2.0 * (2.0 * n - 1.0));
        smallest <= alpha
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_of_u_is_that_of_all_orders() {
        // C(5, 2) = 10 orders of two and three values; U = 0 1 2 3 4 5 6 has 1 1 2 2 2 1 1 of them.
        let want = [0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0];
        let got = lower_tail(2, 3);
        assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-15), "{got:?}");
        for (n, m) in [(1, 1), (7, 3), (50, 50), (2, 98), (98, 2)] {
            let tail = lower_tail(n, m);
            assert!(tail.is_sorted() && tail[0] > 0.0 && tail.last() == Some(&1.0), "{n} {m}");
            let mirrored = 1.0 - tail[n * m / 2];
            assert!(mirrored <= 0.5, "{n} {m}");
        }
    }

    #[test]
    fn how_many_values_are_needed() {
        // 2 / C(2n, n): 1, 0.333, 0.1, 0.0286, 0.0079, 0.0022.
        let needed = [1.0, 0.34, 0.1, 0.05, 0.0125, 0.005].map(values_needed);
        assert_eq!(needed, [1, 2, 3, 4, 5, 6].map(Some));
        assert_eq!((values_needed(0.0), values_needed(f64::NAN)), (None, None));
    }

    #[test]
    fn the_table_is_the_exact_test_and_its_inverse() {
        let (one, two) = ([1.0, 4.0, 6.0, 9.0], [5.0, 7.0, 11.0, 12.0, 13.0]);
        let test = exact(&one, &two).expect("no ties");
        let table = Table::new(4, 5);
        assert_eq!((test.u, test.p), (3.0, table.p(3)));
        for (n, m) in [(3, 3), (4, 5), (10, 10), (60, 60), (2, 300)] {
            let table = Table::new(n, m);
            for alpha in [0.0, 0.001, 0.0125, 0.05, 0.1, 0.5] {
                let k = table.rejected(alpha);
                assert!(k == 0 || table.p(k - 1) <= alpha, "{n} {m} {alpha}: {k}");
                assert!(table.p(k) > alpha, "{n} {m} {alpha}: {k}");
            }
        }
    }

    #[test]
    fn equal_values_have_no_exact_chance() {
        assert_eq!(exact(&[1.0, 2.0], &[2.0, 3.0]), None);
        assert_eq!(test(&[1.0; 3], &[1.0; 3]), None);
        let zeros = test(&[0.0, 1.0], &[-0.0, 2.0]).expect("they scatter");
        assert_eq!((zeros.u, zeros.method), (1.5, Method::Normal));
    }
}
