//! A budget that refills with time.

use hugewise_base::units::Ns;

/// A token bucket that may go into debt: the cost of a call is known only afterwards, so it is
/// taken then, and the next call waits until the debt is paid. Over any time `T` the amount taken
/// is at most `rate x T + burst + one call`.
///
/// The debt of a [forgiving](Self::forgiving) bucket has an end, so that whoever pays from it is
/// mute for a bounded time, whatever others made it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    level: f64,
    burst: f64,
    per_s: f64,
    at: Ns,
    forgiving: bool,
    /// The largest debt of a forgiving one.
    debt: f64,
}

impl Bucket {
    /// A full bucket that gains `per_s` a second and holds at most `burst`.
    pub fn new(per_s: f64, burst: f64, now: Ns) -> Self {
        Self { level: burst, burst, per_s, at: now, forgiving: false, debt: burst }
    }

    /// The same bucket, whose debt ends at one burst, or where [`Self::end_debt_at`] says.
    pub fn forgiving(self) -> Self {
        Self { forgiving: true, ..self }
    }

    /// Changes the rate (a reloaded configuration) and keeps level or debt.
    pub fn set_rate(&mut self, per_s: f64, burst: f64, now: Ns) {
        self.refill(now);
        (self.per_s, self.burst, self.debt) = (per_s, burst, burst);
        self.level = self.level.min(burst);
    }

    /// Ends the debt of a forgiving one at `most`, until the rate is set anew.
    pub const fn end_debt_at(&mut self, most: f64) {
        self.debt = most;
    }

    /// Takes `amount`, into debt if need be.
    pub fn take(&mut self, amount: f64, now: Ns) {
        self.refill(now);
        self.level -= amount;
        if self.forgiving {
            self.level = self.level.max(-self.debt);
        }
    }

    /// Earliest time, at or after `now`, at which `amount` (or a full bucket, if less) is there.
    pub fn ready_at(&self, amount: f64, now: Ns) -> Ns {
        let level = self.level_at(now);
        let lack = amount.min(self.burst) - level;
        if lack <= 0.0 {
            return now;
        }
        // One extra ns, so that rounding down never makes it early.
        now + Ns(self.time_for(lack).0 + 1)
    }

    /// How long it takes to gain so much.
    pub fn time_for(&self, amount: f64) -> Ns {
        Ns::from_s(amount / self.per_s)
    }

    /// What it holds at most.
    pub const fn burst(&self) -> f64 {
        self.burst
    }

    /// What is there at `now`; negative: debt.
    pub fn level_at(&self, now: Ns) -> f64 {
        (self.level + self.per_s * now.since(self.at).as_s()).min(self.burst)
    }

    fn refill(&mut self, now: Ns) {
        self.level = self.level_at(now);
        self.at = self.at.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn debt_delays_the_next_call() {
        let mut bucket = Bucket::new(15e6, 3e6, Ns(0));
        assert_eq!(bucket.ready_at(1e6, Ns(0)), Ns(0));
        bucket.take(18e6, Ns(0));
        let ready = bucket.ready_at(0.0, Ns(0));
        assert!((ready.as_s() - 1.0).abs() < 1e-6, "{ready:?}");
    }

    /// An hour at 80 ms/s left debts that kept the manager mute for 36 minutes.
    #[test]
    fn a_forgiving_buckets_debt_ends_at_one_burst() {
        let mut bucket = Bucket::new(50e6, 50e6, Ns(0)).forgiving();
        for second in 0..3_600 {
            bucket.take(80e6, Ns::s(second));
        }
        let ready = bucket.ready_at(0.0, Ns::s(3_599));
        assert!(ready.since(Ns::s(3_599)) <= Ns(Ns::s(1).0 + 1), "{ready:?}");
    }

    #[test]
    fn an_amount_above_the_burst_waits_for_a_full_bucket_only() {
        let mut bucket = Bucket::new(1.0, 1.0, Ns(0));
        bucket.take(1.0, Ns(0));
        assert!(bucket.ready_at(100.0, Ns(0)) <= Ns(Ns::s(1).0 + 1));
    }

    proptest! {
        #[test]
        fn what_is_taken_stays_below_rate_times_time_plus_burst_plus_one(
            costs in prop::collection::vec(1u32..20_000_000, 1..200)
        ) {
            let mut bucket = Bucket::new(15e6, 3e6, Ns(0));
            let mut now = Ns(0);
            let mut taken = 0.0;
            let mut largest = 0.0f64;
            for cost in costs {
                now = bucket.ready_at(1e6, now);
                bucket.take(f64::from(cost), now);
                taken += f64::from(cost);
                largest = largest.max(f64::from(cost));
                prop_assert!(taken <= 15e6 * now.as_s() + 3e6 + largest + 1.0);
            }
        }
    }
}
