//! Whether a program gives memory back just now: what is about to be freed is not promoted.
//!
//! A program that frees most of its memory leaves regions behind that are nearly full and are freed
//! next. It is watched before anything of it is promoted: where it was there before the manager,
//! until a second list shows that it does not shrink, and whenever it begins to shrink.

use hugewise_base::units::{Bytes, Ns};

/// It shrank if more than this part of it went between two lists: allocators give memory back in
/// steps.
const PART: u64 = 64;
/// A program that shrinks and grows all the time waits for so many times `promote.watch_ms` ...
const LONGEST: u64 = 5;
/// ... once in so many.
const SELDOM: u64 = 40;

/// What is known of one program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shrinking {
    until: Ns,
    began: Option<Ns>,
}

impl Shrinking {
    /// Of a program that was there before the manager: it waits for its second list.
    pub fn unknown(watch: Ns, now: Ns) -> Self {
        Self { until: now + watch, began: None }
    }

    /// Whether it waits.
    pub fn holds(self, now: Ns) -> bool {
        now < self.until
    }

    /// Takes its size in two lists, one after the other.
    pub fn listed(&mut self, before: Bytes, after: Bytes, watch: Ns, now: Ns) {
        if before.0.saturating_sub(after.0) <= before.0 / PART {
            if self.began.is_none() {
                self.until = Ns(0);
            }
            return;
        }
        let times = |count| Ns(watch.0.saturating_mul(count));
        let lately = self.began.filter(|began| now.since(*began) < times(SELDOM));
        let began = lately.unwrap_or(now);
        self.began = Some(began);
        self.until = (now + watch).min(began + times(LONGEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(mib: &[u64]) -> Vec<bool> {
        const WATCH: Ns = Ns::s(3);
        let mut shrinking = Shrinking::unknown(WATCH, Ns::s(1));
        let mut holds = Vec::new();
        for (second, pair) in (2..).zip(mib.windows(2)) {
            let [before, after] = [pair[0], pair[1]].map(Bytes::mib);
            shrinking.listed(before, after, WATCH, Ns::s(second));
            holds.push(shrinking.holds(Ns::s(second)));
        }
        holds
    }

    #[test]
    fn who_stays_waits_for_the_second_list_only() {
        assert!(Shrinking::unknown(Ns::s(3), Ns::s(1)).holds(Ns::s(1)));
        assert_eq!(sizes(&[100, 100, 101]), [false, false]);
    }

    #[test]
    fn who_shrinks_waits_until_it_is_calm() {
        let seen = sizes(&[1000, 700, 500, 500, 500, 500, 500]);
        assert_eq!(seen, [true, true, true, true, false, false]);
    }

    #[test]
    fn who_moves_all_the_time_is_not_kept_waiting() {
        let saw: Vec<u64> =
            (0..121).map(|second| if second % 2 == 0 { 1000 } else { 500 }).collect();
        let waits = sizes(&saw).iter().filter(|holds| **holds).count();
        assert!((14..=16).contains(&waits), "{waits}");
    }
}
