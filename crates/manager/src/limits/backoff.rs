//! Exponential waiting after failures, one instance per error class and scope.

use crate::decision::FailureClass;
use hugewise_base::units::Ns;
use std::collections::BTreeMap;

/// Waits `base`, then twice as long after each further failure, up to `cap`; success forgets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    until: Ns,
    /// The last wait; 0: no failure since the last success.
    wait: Ns,
}

/// Cap of every back-off: one minute, khugepaged's own `alloc_sleep_millisecs` default.
pub const CAP: Ns = Ns::s(60);
/// First wait of everybody after the kernel tried to make a huge page and failed: where page cache
/// fills memory about every second attempt does, and takes 3 ms of CPU time, which has a budget of
/// its own (`docs/measurements.md#blocks-made-of-page-cache`).
pub const ALLOCATION_BASE: Ns = Ns::ms(100);
/// ... after no block was there to ask for.
pub const NO_BLOCK_BASE: Ns = Ns::s(1);
/// First wait of a cgroup at its limit.
pub const CGROUP_BASE: Ns = Ns::s(2);
/// The next attempt is only seconds away, after waits of up to so long.
const SOON: Ns = Ns::s(8);
/// First wait of compaction after a run that was not worth its time, or was refused.
pub const COMPACTION_BASE: Ns = Ns::s(10);

impl Backoff {
    /// A failure at `now`.
    pub fn fail(&mut self, now: Ns, base: Ns) {
        self.wait = Ns(self.wait.0.saturating_mul(2)).max(base).min(CAP);
        self.until = now + self.wait;
    }

    /// A success: the next failure starts from the base again.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Whether there were failures, but so few that the next attempt is only seconds away. Two
    /// seconds after the wait it is not: whoever wanted to try again has.
    pub fn is_fresh(&self, now: Ns) -> bool {
        self.wait > Ns(0) && self.wait <= SOON && self.until + Ns::s(2) > now
    }

    /// The end of the wait, while it lasts.
    pub fn active(&self, now: Ns) -> Option<Ns> {
        (self.until > now).then_some(self.until)
    }
}

/// Waits after failed promotions: everybody's, and those of single cgroups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backoffs {
    allocation: Backoff,
    cgroups: BTreeMap<String, Backoff>,
}

impl Backoffs {
    /// The end of everybody's wait after a failed allocation, while it lasts.
    pub fn allocation(&self, now: Ns) -> Option<Ns> {
        self.allocation.active(now)
    }

    /// Whether this cgroup waits after hitting its limit.
    pub fn cgroup_waits(&self, cgroup: &str, now: Ns) -> bool {
        self.cgroups.get(cgroup).is_some_and(|backoff| backoff.active(now).is_some())
    }

    /// Whether any of them is fresh ([`Backoff::is_fresh`]).
    pub fn is_fresh(&self, now: Ns) -> bool {
        self.allocation.is_fresh(now) || self.cgroups.values().any(|backoff| backoff.is_fresh(now))
    }

    /// A promotion succeeded in this cgroup.
    pub fn succeed(&mut self, cgroup: Option<&str>) {
        self.allocation.succeed();
        cgroup.and_then(|cgroup| self.cgroups.remove(cgroup));
    }

    /// No block was there to ask for.
    pub fn finds_no_block(&mut self, now: Ns) {
        self.allocation.fail(now, NO_BLOCK_BASE);
    }

    /// There are free blocks again.
    pub fn blocks_were_made(&mut self) {
        self.allocation.succeed();
    }

    /// A promotion failed in this cgroup.
    pub fn fail(&mut self, class: FailureClass, cgroup: Option<&str>, now: Ns) {
        match (class, cgroup) {
            (FailureClass::Allocation, _) => self.allocation.fail(now, ALLOCATION_BASE),
            (FailureClass::Cgroup, Some(cgroup)) => {
                self.cgroups.entry(cgroup.to_owned()).or_default().fail(now, CGROUP_BASE);
            }
            _ => {}
        }
    }

    /// Forgets cgroups whose wait is over.
    pub fn forget_ended(&mut self, now: Ns) {
        self.cgroups.retain(|_, backoff| backoff.active(now).is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_success_forgets() {
        let mut backoff = Backoff::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            backoff.fail(Ns(0), Ns::s(1));
            waits.push(backoff.active(Ns(0)).map(Ns::as_s));
        }
        assert_eq!(waits[..3], [Some(1.0), Some(2.0), Some(4.0)]);
        assert_eq!(waits[7], Some(60.0));
        backoff.succeed();
        assert_eq!(backoff.active(Ns(0)), None);
    }
}
