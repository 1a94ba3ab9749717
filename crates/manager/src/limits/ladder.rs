//! A quantity that falls at once when it does harm, and rises again step by step.

use hugewise_base::units::Ns;

/// After a step down the next one waits for so long: what it is judged by has to follow first
/// (`docs/measurements.md#defaults-by-choice`).
const SETTLES: Ns = Ns::s(10);
/// Time without harm before a step up: at first, and at most. It doubles with each fall, so that
/// what does harm whenever it is tried is tried 24 times in a day at most.
const PATIENCE: (Ns, Ns) = (Ns::s(60), Ns::s(3600));

/// What one observation says of the present level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has to end now.
    Drop,
    /// One step less.
    Down,
    /// It may stay, and must not rise.
    Hold,
    /// Nothing speaks against more.
    Up,
}

/// Levels from 0 (off) to `top`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder {
    level: usize,
    top: usize,
    changed: Ns,
    calm_since: Ns,
    patience: Ns,
    steps: u64,
}

impl Ladder {
    /// It begins at `level`.
    pub const fn new(level: usize, top: usize, now: Ns) -> Self {
        Self { level, top, changed: now, calm_since: now, patience: PATIENCE.0, steps: 0 }
    }

    /// The level in force.
    pub const fn level(&self) -> usize {
        self.level
    }

    /// How often it changed.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes a verdict. Returns whether the level changed: by one step, or to 0.
    pub fn step(&mut self, verdict: Verdict, now: Ns) -> bool {
        if verdict != Verdict::Up {
            self.calm_since = now;
        }
        let settled = self.steps == 0 || now.since(self.changed) >= SETTLES;
        let level = match verdict {
            Verdict::Drop => 0,
            Verdict::Down if settled => self.level.saturating_sub(1),
            Verdict::Up if now.since(self.calm_since) >= self.patience => {
                (self.level + 1).min(self.top)
            }
            Verdict::Down | Verdict::Hold | Verdict::Up => self.level,
        };
        // At the top for as long as it waits at most: what did harm has gone.
        if self.level == self.top && now.since(self.changed) >= PATIENCE.1 {
            self.patience = PATIENCE.0;
        }
        if level == self.level {
            return false;
        }
        if level < self.level {
            self.patience = Ns(2 * self.patience.0).min(PATIENCE.1);
        }
        (self.level, self.changed, self.calm_since) = (level, now, now);
        self.steps += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_falls_at_once_and_rises_with_patience() {
        let mut ladder = Ladder::new(3, 3, Ns(0));
        assert!(ladder.step(Verdict::Down, Ns::s(1)), "nothing has to settle at the start");
        assert!(!ladder.step(Verdict::Down, Ns::s(5)));
        assert!(ladder.step(Verdict::Down, Ns::s(11)));
        assert!(ladder.step(Verdict::Drop, Ns::s(12)));
        assert_eq!(ladder.level(), 0);
        // Three falls: eight times the first patience.
        let rises: Vec<_> =
            (12..2_000).filter(|s| ladder.step(Verdict::Up, Ns::s(*s))).map(|s| s - 12).collect();
        assert_eq!(rises, [480, 960, 1440]);
    }

    #[test]
    fn one_hold_begins_the_wait_anew() {
        let mut ladder = Ladder::new(1, 1, Ns(0));
        ladder.step(Verdict::Drop, Ns::s(1));
        assert!((2..100).all(|s| !ladder.step(Verdict::Up, Ns::s(s))));
        ladder.step(Verdict::Hold, Ns::s(100));
        assert!((101..220).all(|s| !ladder.step(Verdict::Up, Ns::s(s))));
        assert!(ladder.step(Verdict::Up, Ns::s(220)));
    }

    proptest! {
        /// Whatever is seen second by second, it does not flap: rises lie a minute apart, and a
        /// day has few changes.
        #[test]
        fn it_does_not_flap(verdicts in prop::collection::vec(0..40_u8, 3_600)) {
            let mut ladder = Ladder::new(3, 3, Ns(0));
            let (mut level, mut last_rise) = (3, None);
            for (second, verdict) in verdicts.iter().enumerate() {
                let now = Ns::s(second as u64);
                let verdict = match verdict {
                    0 => Verdict::Drop,
                    1 => Verdict::Down,
                    2 => Verdict::Hold,
                    _ => Verdict::Up,
                };
                ladder.step(verdict, now);
                if ladder.level() > level {
                    prop_assert_eq!(ladder.level(), level + 1);
                    prop_assert!(last_rise.is_none_or(|last| now.since(last) >= PATIENCE.0));
                    last_rise = Some(now);
                }
                level = ladder.level();
            }
            prop_assert!(ladder.steps() <= 63, "{}", ladder.steps());
        }
    }
}
