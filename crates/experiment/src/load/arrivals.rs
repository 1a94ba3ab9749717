//! Intended start times of a profile.

use super::profile::{Phase, Profile, Shape, Who};
use super::spec::ArrivalKind;
use hugewise_base::rng::Rng;
use hugewise_base::units::{Ns, saturating_u64};

/// Somebody comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, from the begin of the profile. Never earlier than the arrival before.
    pub at: Ns,
    /// A request, or a user.
    pub who: Who,
}

/// The arrivals of a profile in their order. The same profile, kind and seed give the same ones.
#[derive(Debug, Clone)]
pub struct Arrivals {
    phases: Vec<Phase>,
    kind: ArrivalKind,
    rng: Rng,
    phase: usize,
    done: u64,
    /// Where a Poisson process of rate 1 stands, in arrivals from the begin of the phase.
    passed: f64,
}

impl Arrivals {
    /// From the first one on.
    pub fn new(profile: &Profile, kind: ArrivalKind, seed: u64) -> Self {
        let phases = profile.phases().to_vec();
        Self { phases, kind, rng: Rng::new(seed), phase: 0, done: 0, passed: 0.0 }
    }

    /// How many are still to come. Poisson arrivals are drawn for it, which takes some
    /// nanoseconds each.
    pub fn left(&self) -> u64 {
        match self.kind {
            ArrivalKind::Even => {
                let phases = self.phases.iter().skip(self.phase);
                let all = phases.fold(0u64, |sum, phase| sum.saturating_add(phase.arrivals()));
                all.saturating_sub(self.done)
            }
            ArrivalKind::Poisson => u64::try_from(self.clone().count()).unwrap_or(u64::MAX),
        }
    }

    /// Time from the begin of the phase; `None` when the phase has no more arrivals.
    fn offset(&mut self, phase: &Phase) -> Option<Ns> {
        match (self.kind, phase.shape) {
            (_, Shape::Nothing) => None,
            (_, Shape::Peak(count)) => (self.done < count).then_some(Ns(0)),
            (ArrivalKind::Even, _) => {
                let more = self.done < phase.arrivals();
                more.then(|| even(phase, self.done))
            }
            (ArrivalKind::Poisson, _) => {
                // A process whose rate changes is one of rate 1 on a stretched clock: gaps are
                // drawn in arrivals, and mapped to time by the inverse of the expected count.
                self.passed += exponential(&mut self.rng);
                let (expected, seconds) = (expected(phase), phase.time.as_s());
                (self.passed < expected)
                    .then(|| Ns::from_s(inverse(phase, self.passed).min(seconds)).min(phase.time))
            }
        }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let phase = *self.phases.get(self.phase)?;
            if let Some(offset) = self.offset(&phase) {
                self.done += 1;
                return Some(Arrival { at: phase.begin + offset, who: phase.who });
            }
            self.phase += 1;
            (self.done, self.passed) = (0, 0.0);
        }
    }
}

/// When arrival number `index` (from 0) of evenly spread ones comes.
fn even(phase: &Phase, index: u64) -> Ns {
    let exact = |numerator: u128, divisor: u64| {
        Ns(u64::try_from(numerator / u128::from(divisor.max(1))).unwrap_or(u64::MAX))
    };
    match phase.shape {
        Shape::Rate(from, to) if from == to => exact(u128::from(index) * 1_000_000_000_000, from.0),
        Shape::Spread(count) => exact(u128::from(index) * u128::from(phase.time.0), count),
        _ => Ns::from_s(inverse(phase, index as f64)).min(phase.time),
    }
}

/// Expected arrivals of a whole phase.
fn expected(phase: &Phase) -> f64 {
    match phase.shape {
        Shape::Rate(from, to) => f64::midpoint(from.per_s(), to.per_s()) * phase.time.as_s(),
        Shape::Spread(count) | Shape::Peak(count) => count as f64,
        Shape::Nothing => 0.0,
    }
}

/// Seconds into a phase at which `count` arrivals are expected.
fn inverse(phase: &Phase, count: f64) -> f64 {
    let seconds = phase.time.as_s();
    let (from, to) = match phase.shape {
        Shape::Rate(from, to) => (from.per_s(), to.per_s()),
        _ => (expected(phase) / seconds, expected(phase) / seconds),
    };
    if count <= 0.0 {
        return 0.0;
    }
    // from * t + (to - from) / (2 * seconds) * t^2 = count, solved without cancellation.
    let slope = (to - from) / seconds;
    let root = (from * from + 2.0 * slope * count).max(0.0).sqrt();
    2.0 * count / (from + root)
}

/// A draw from the exponential distribution with mean 1.
pub fn exponential(rng: &mut Rng) -> f64 {
    // 53 random bits are a number below 1; one minus it is above 0, so its logarithm is finite.
    let below_one = (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
    -(1.0 - below_one).ln()
}

/// A draw from the exponential distribution with this mean.
pub fn exponential_time(rng: &mut Rng, mean: Ns) -> Ns {
    Ns(saturating_u64(exponential(rng) * mean.0 as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals(lines: &[&str], kind: ArrivalKind, seed: u64) -> Arrivals {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Arrivals::new(&Profile::parse(&lines).expect("steps"), kind, seed)
    }

    fn times(lines: &[&str]) -> Vec<u64> {
        arrivals(lines, ArrivalKind::Even, 0).map(|arrival| arrival.at.0).collect()
    }

    #[test]
    fn constant_rates_are_exact() {
        let all = times(&["nothing for 1 s", "constant 3/s for 2 s"]);
        let third = 1_000_000_000 / 3;
        let want = [0, third, 2 * third, 3 * third + 1, 4 * third + 1, 5 * third + 1];
        assert_eq!(all, want.map(|offset: u64| offset + 1_000_000_000));
        let day = arrivals(&["constant 1000/s for 30 s"], ArrivalKind::Even, 0);
        assert_eq!((day.left(), day.clone().count()), (30_000, 30_000));
        assert_eq!(day.last().map(|last| last.at), Some(Ns::ms(29_999)));
    }

    #[test]
    fn a_ramp_gets_faster() {
        let all = times(&["ramp 0/s to 100/s over 10 s"]);
        assert_eq!(all.len(), 500);
        // Half of the time, a quarter of the arrivals.
        assert_eq!(all.iter().filter(|at| **at < Ns::s(5).0).count(), 125);
        let down = times(&["ramp 100/s to 0/s over 10 s"]);
        assert_eq!(down.iter().filter(|at| **at < Ns::s(5).0).count(), 375);
    }

    #[test]
    fn users_are_spread_and_peaks_come_at_once() {
        assert_eq!(times(&["ramp 4 users over 2 s"]), [0, 500, 1000, 1500].map(|ms| Ns::ms(ms).0));
        assert_eq!(times(&["nothing for 1 s", "peak 3 at once"]), [Ns::s(1).0; 3]);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread() {
        let all = arrivals(&["constant 1000/s for 100 s"], ArrivalKind::Poisson, 7);
        let count = all.clone().count() as f64;
        // Standard deviation is the root of 100000, 316: six of them.
        assert!((count - 100_000.0).abs() < 1_900.0, "{count}");
        assert_eq!(all.left() as f64, count);
        let mut bins = [0.0f64; 1000];
        for arrival in all {
            bins[usize::try_from(arrival.at.0 / Ns::ms(100).0).expect("a bin")] += 1.0;
        }
        let mean = count / 1000.0;
        let variance = bins.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1000.0;
        // A Poisson count has a variance as large as its mean; even arrivals have none.
        assert!((0.7..1.4).contains(&(variance / mean)), "{variance} {mean}");
        let ramp = arrivals(&["ramp 0/s to 2000/s over 100 s"], ArrivalKind::Poisson, 7);
        let early = ramp.clone().filter(|arrival| arrival.at < Ns::s(50)).count() as f64;
        assert!((early / ramp.count() as f64 - 0.25).abs() < 0.02, "{early}");
    }

    #[test]
    fn a_seed_decides() {
        let draw = |seed| {
            let all = arrivals(&["constant 50/s for 10 s"], ArrivalKind::Poisson, seed);
            all.map(|arrival| arrival.at.0).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    proptest! {
        #[test]
        fn arrivals_are_ordered_and_counted(
            from in 0..2_000u64, to in 1..2_000u64, ms in 1..3_000u64, seed: u64, poisson: bool,
        ) {
            let kind = if poisson { ArrivalKind::Poisson } else { ArrivalKind::Even };
            let ramp = format!("ramp {from}/s to {to}/s over {ms} ms");
            let all = arrivals(&[&ramp, "peak 3 at once", "ramp 7 users over 1 s"], kind, seed);
            let (left, end) = (all.left(), Ns::ms(ms + 1000));
            let times: Vec<Ns> = all.map(|arrival| arrival.at).collect();
            prop_assert_eq!(left, times.len() as u64);
            prop_assert!(times.is_sorted());
            prop_assert!(times.iter().all(|at| *at <= end));
        }
    }
}
