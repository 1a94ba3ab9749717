//! The binomial distribution: of so many events, how many fall where a share of them would.

use super::normal;

/// From so many events on the normal distribution is close enough, and the sum would take long.
const MANY: usize = 10_000;

/// The chance that at least `k` of `n` events fall into a part in which each falls with the chance
/// `p`; `None` unless 0 <= p <= 1 and k <= n.
pub fn upper_tail(k: usize, n: usize, p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) || k > n {
        return None;
    }
    if k == 0 || p == 1.0 {
        return Some(1.0);
    }
    if p == 0.0 {
        return Some(0.0);
    }
    let (of, all) = (k as f64, n as f64);
    if n >= MANY {
        let deviation = (all * p * (1.0 - p)).sqrt();
        return Some(normal::upper_tail((of - 0.5 - all * p) / deviation));
    }
    // The first term by logarithms, which do not vanish; each next one from the one before.
    let choose: f64 = (1..=k).map(|j| ((n - k + j) as f64 / j as f64).ln()).sum();
    let mut term = (choose + of * p.ln() + (all - of) * (1.0 - p).ln()).exp();
    let mut sum = 0.0;
    for i in k..=n {
        sum += term;
        term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
    }
    Some(sum.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_definition() {
        let close = |k, n, p, wanted: f64| {
            let found = upper_tail(k, n, p).expect("a chance");
            assert!((found - wanted).abs() < 1e-9 * wanted.max(1e-3), "{k} {n} {p}: {found}");
        };
        close(8, 10, 0.5, 56.0 / 1024.0);
        close(0, 10, 0.5, 1.0);
        close(10, 10, 0.25, 0.25_f64.powi(10));
        close(1, 3, 0.1, 1.0 - 0.9_f64.powi(3));
        close(5, 5, 1.0, 1.0);
        close(1, 5, 0.0, 0.0);
        assert_eq!((upper_tail(6, 5, 0.5), upper_tail(1, 5, f64::NAN)), (None, None));
    }

    #[test]
    fn many_events_are_nearly_normal() {
        let (few, many) = (upper_tail(5100, 9999, 0.5), upper_tail(5101, 10_001, 0.5));
        let ratio = few.zip(many).map(|(few, many)| few / many).expect("chances");
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }
}
