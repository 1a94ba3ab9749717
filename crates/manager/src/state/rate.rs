//! How fast regions become huge, and how long the rest will take.

use hugewise_base::units::Ns;

/// After this time a region counts half: long enough for targets that are served a few times a
/// second, short enough to follow a program that wakes up.
const HALF_LIFE: Ns = Ns::s(5);
/// Less history than this says nothing.
const LEAST: Ns = Ns::s(1);
/// A count that has faded to this is over: what comes then is a new beginning.
const OVER: f64 = 0.5;

/// Promotions lately, fading.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rate {
    regions: f64,
    at: Ns,
    /// When counting began; `None`: nothing was promoted yet.
    since: Option<Ns>,
}

impl Rate {
    /// One more region, at `now`.
    pub(super) fn add(&mut self, now: Ns) {
        let regions = self.faded(now);
        let since = self.since.filter(|_| regions >= OVER).unwrap_or(now);
        *self = Self { regions: regions + 1.0, at: now, since: Some(since) };
    }

    fn faded(self, now: Ns) -> f64 {
        self.regions * 0.5f64.powf(now.since(self.at).as_s() / HALF_LIFE.as_s())
    }

    /// Regions a second; `None` where nothing was promoted lately, or not for long enough.
    pub fn per_s(self, now: Ns) -> Option<f64> {
        let passed = now.since(self.since?);
        let regions = self.faded(now);
        if passed < LEAST || regions < OVER {
            return None;
        }
        // At a steady pace of one a second this much would be left of what was counted.
        let steady = |from: f64| (1.0 - 0.5f64.powf(from / HALF_LIFE.as_s())) / decay_per_s();
        Some(regions / steady(passed.as_s()))
    }

    /// Seconds until `waiting` regions are huge at this rate.
    pub fn left_s(self, waiting: u64, now: Ns) -> Option<f64> {
        let rate = self.per_s(now).filter(|_| waiting > 0)?;
        Some(waiting as f64 / rate)
    }
}

fn decay_per_s() -> f64 {
    std::f64::consts::LN_2 / HALF_LIFE.as_s()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` regions, one every `gap`, from `from` on.
    fn steady(rate: &mut Rate, from: Ns, gap: Ns, count: u64) -> Ns {
        (0..count).fold(from, |at, _| {
            rate.add(at);
            at + gap
        })
    }

    #[test]
    fn a_steady_pace_is_found_at_any_age() {
        for count in [12, 50, 200, 2000] {
            let mut rate = Rate::default();
            let now = steady(&mut rate, Ns::s(100), Ns::ms(100), count);
            let found = rate.per_s(now).expect("long enough");
            assert!((9.0..11.0).contains(&found), "{found} after {count}");
            let left = rate.left_s(100, now).expect("known");
            assert!((9.0..11.5).contains(&left), "{left}");
            assert_eq!(rate.left_s(0, now), None, "nothing is left");
        }
    }

    #[test]
    fn too_little_is_unknown_and_a_pause_is_a_new_beginning() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_s(Ns::s(1)), None);
        let now = steady(&mut rate, Ns::s(0), Ns::ms(10), 50);
        assert_eq!(rate.per_s(now), None, "half a second says nothing");
        assert_eq!(rate.per_s(now + Ns::s(60)), None, "it is over");
        let now = steady(&mut rate, Ns::s(100), Ns::ms(500), 20);
        let found = rate.per_s(now).expect("long enough");
        assert!((1.8..2.3).contains(&found), "the pause does not count: {found}");
    }
}
