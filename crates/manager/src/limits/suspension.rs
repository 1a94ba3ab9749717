//! A target in which nothing succeeds is suspended as a whole.
//!
//! Memory that was forked, pinned or write-protected is refused region by region, and there may be
//! thousands of regions: each of them asked again and again costs others their turn.

use super::waits::{REFUSED, Wait};
use crate::reason::SkipReason;
use hugewise_base::units::Ns;

/// Attempts in a row without success after which the target is suspended: a few regions are
/// always in use just then.
const PATIENCE: u32 = 32;
/// Attempts in a row without success after which others are tried than the next ones in order: as
/// many as say that a mapping is refused as a whole.
const SPREAD_AFTER: u32 = 4;
/// The first suspension, twice as long each further time, up to [`REFUSED`]. One attempt after each
/// tells whether it was the last.
const BASE: Ns = Ns::s(5);

/// The longest while the NUMA node of its pages is full: what others free there comes at any time.
const NODE_FULL: Ns = Ns::s(60);

/// Attempts in a row without success, and the suspension that they led to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Suspension {
    fruitless: u32,
    wait: Option<Wait>,
    times: u8,
}

impl Suspension {
    /// An attempt succeeded: all is forgotten.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// An attempt did not succeed.
    pub fn failed(&mut self, reason: SkipReason, now: Ns) {
        self.fruitless = self.fruitless.saturating_add(1);
        if self.fruitless >= PATIENCE && self.active(now).is_none() {
            let most = match reason {
                SkipReason::NoFreeHugePageOnNode => NODE_FULL,
                _ => REFUSED,
            };
            let length = BASE.0.saturating_mul(1 << self.times.min(16)).min(most.0);
            self.wait = Some(Wait { until: now + Ns(length), reason });
            self.times = self.times.saturating_add(1);
        }
    }

    /// Why the target is suspended at `now`.
    pub fn active(&self, now: Ns) -> Option<SkipReason> {
        self.wait.filter(|wait| wait.lasts(now)).map(|wait| wait.reason)
    }

    /// Which of so many candidates is tried next. What is refused lies together, as what a fork
    /// shares or ksmd merged does: after a few attempts in a row without success the next ones are
    /// spread over all that is left, so that a program is not suspended for its first part.
    pub fn next_of(&self, candidates: usize) -> usize {
        if self.fruitless < SPREAD_AFTER {
            return 0;
        }
        // Multiples of the golden ratio's fraction lie evenly between 0 and 1, in no short cycle.
        let part = u64::from(self.fruitless).wrapping_mul(40_503) % 65_536;
        usize::try_from(part * candidates as u64 / 65_536).unwrap_or(0)
    }

    /// Attempts in a row without success: they count in the target's claim as if they had been
    /// served, or whoever never succeeds would be next for ever.
    pub const fn fruitless(&self) -> u32 {
        self.fruitless
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_succeeds_is_asked_less_and_less() {
        let (mut suspension, mut now, mut attempts) = (Suspension::default(), Ns(0), 0);
        while now < Ns::s(3_600) {
            if suspension.active(now).is_none() {
                suspension.failed(SkipReason::SharedPages, now);
                attempts += 1;
            }
            now += Ns::ms(100);
        }
        assert!((35..55).contains(&attempts), "{attempts} attempts in an hour");
        assert_eq!(suspension.active(now), Some(SkipReason::SharedPages));
        suspension.succeeded();
        assert_eq!(suspension.active(now), None);
    }

    /// The first half of a program is refused, and what was refused is no candidate any more.
    #[test]
    fn what_is_refused_in_one_part_does_not_hide_the_rest() {
        for refused in [64_usize, 100] {
            let mut left: Vec<usize> = (0..128).collect();
            let (mut suspension, mut huge) = (Suspension::default(), 0);
            while suspension.active(Ns(0)).is_none() && !left.is_empty() {
                let next = left.remove(suspension.next_of(left.len()));
                if next < refused {
                    suspension.failed(SkipReason::SharedPages, Ns(0));
                } else {
                    suspension.succeeded();
                    huge += 1;
                }
            }
            assert_eq!(huge, 128 - refused, "{refused} are refused");
        }
        let mut suspension = Suspension::default();
        for attempt in 0..PATIENCE {
            assert!(suspension.next_of(7) < 7, "after {attempt}");
            assert!(attempt >= SPREAD_AFTER || suspension.next_of(7) == 0);
            suspension.failed(SkipReason::SharedPages, Ns(0));
        }
        assert!(suspension.active(Ns(0)).is_some(), "nothing of it can be had");
    }

    #[test]
    fn now_and_then_a_success_suspends_nobody() {
        let mut suspension = Suspension::default();
        for second in 0..1_000 {
            suspension.failed(SkipReason::RetryLater, Ns::s(second));
            if second % 30 == 0 {
                suspension.succeeded();
            }
            assert_eq!(suspension.active(Ns::s(second)), None, "after {second} attempts");
        }
    }
}
