//! Waits of one region: until when it is not promoted, or not split, and why.
//!
//! They end by time alone, so whatever a policy wants, nothing flaps and nothing that the kernel
//! refused is asked of it over and over.

use crate::decision::{FailureClass, Motive, Outcome};
use crate::reason::SkipReason;
use hugewise_base::units::Ns;

/// A region that lost its huge page is not promoted for this long, so that nothing flaps.
pub const COOLDOWN: Ns = Ns::s(30);
/// First wait after the actuator's re-check said no, four times longer each further time: what is
/// shared with a child may stay so for hours.
pub const RECHECK: Ns = Ns::s(5);
/// First wait after EAGAIN, four times longer each further time: page locks and LRU isolation
/// pass within milliseconds, pins (O_DIRECT, RDMA) may last.
pub const TRANSIENT_BASE: Ns = Ns::s(2);
/// First wait after what mostly lies not in this region: no block was free, which all promotions
/// wait for together; or an EINVAL that nothing explains, for a page that is just being moved is
/// refused like one that is not there (`SCAN_PTE_NON_PRESENT` of mm/khugepaged.c).
pub const PASSING_BASE: Ns = Ns::ms(500);
/// First wait after an EINVAL that is explained, or the second after one that is not; four times
/// longer each further time, up to [`REFUSED`].
pub const REFUSED_BASE: Ns = Ns::s(15);
/// Longest wait after a refusal by the kernel, while the mapping stays the same.
pub const REFUSED: Ns = Ns::s(600);
/// First wait before a region whose waste was taken back may become huge again, twice as long
/// each further time, up to [`GIVEN_BACK_CAP`].
pub const GIVEN_BACK_BASE: Ns = Ns::s(60);
/// Longest such wait.
pub const GIVEN_BACK_CAP: Ns = Ns::s(3600);
/// First wait before a region whose waste was taken back is split once more, because somebody made
/// it huge again; twice as long each further time, up to [`REFUSED`].
pub const MADE_AGAIN_BASE: Ns = Ns::s(5);

/// The end of a wait, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// From here on it may be done.
    pub until: Ns,
    /// Why not before.
    pub reason: SkipReason,
}

impl Wait {
    /// Whether it still lasts.
    pub fn lasts(self, now: Ns) -> bool {
        self.until > now
    }
}

/// `base`, `factor` times longer for each failure before this one, for at most `most` of them.
fn longer(base: Ns, factor: u64, failures: u8, most: u8) -> Ns {
    Ns(base.0.saturating_mul(factor.saturating_pow(failures.min(most).into())))
}

/// Waits of one region, and the failures in a row that make them longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Not promoted before.
    pub no_promote_until: Option<Wait>,
    /// Not split before.
    pub no_split_until: Option<Wait>,
    /// Transient failures to promote it in a row.
    pub transient_failures: u8,
    /// Refusals to promote it in a row.
    pub refusals: u8,
    /// Re-checks in a row that said no.
    pub skips: u8,
    /// Failures to split it in a row.
    pub failed_splits: u8,
    /// Times that its waste was taken back, or that it lost what the bloat budget had paid for,
    /// since it was last well used.
    pub given_back: u8,
}

impl Waits {
    /// What still speaks against a promotion.
    pub fn against_promotion(&self, now: Ns) -> Option<SkipReason> {
        self.no_promote_until.filter(|wait| wait.lasts(now)).map(|wait| wait.reason)
    }

    /// What still speaks against a split; `short`: memory is short for everybody, and work for
    /// nothing is better than none.
    pub fn against_split(&self, now: Ns, short: bool) -> Option<SkipReason> {
        let wait = self.no_split_until.filter(|wait| wait.lasts(now))?;
        (!short || wait.reason != SkipReason::MadeHugeAgain).then_some(wait.reason)
    }

    /// Whether a promotion of it failed a moment ago and will soon be tried again: not worth
    /// giving up for. Two seconds after the wait it was tried, or is not wanted any more.
    pub fn retries_soon(&self, now: Ns) -> bool {
        let failed = [FailureClass::Transient, FailureClass::Allocation, FailureClass::Cgroup]
            .map(FailureClass::reason);
        (1..=2).contains(&self.transient_failures)
            && self
                .no_promote_until
                .is_some_and(|wait| wait.until + Ns::s(2) > now && failed.contains(&wait.reason))
    }

    /// Its mapping was replaced, or only grew or was merged: what the kernel refused before may be
    /// allowed now.
    pub fn mapping_changed(&mut self) {
        let stays =
            |wait: &Wait| matches!(wait.reason, SkipReason::Cooldown | SkipReason::GivenBack);
        let no_promote_until = self.no_promote_until.filter(stays);
        // Moving a mapping by a page must not end it.
        let no_split_until =
            self.no_split_until.filter(|wait| wait.reason == SkipReason::MadeHugeAgain);
        let given_back = self.given_back;
        *self = Self { no_promote_until, no_split_until, given_back, ..Self::default() };
    }

    /// A scan found that it is not huge any more.
    pub fn huge_page_lost(&mut self, now: Ns) {
        let cooldown = Wait { until: now + COOLDOWN, reason: SkipReason::Cooldown };
        let longer = self.no_promote_until.filter(|wait| wait.lasts(cooldown.until));
        self.no_promote_until = longer.or(Some(cooldown));
        self.no_split_until =
            self.no_split_until.filter(|wait| wait.reason != SkipReason::MadeHugeAgain);
    }

    /// It was promoted: all is forgotten but how often its waste was taken back.
    pub fn promoted(&mut self) {
        *self = Self { given_back: self.given_back, ..Self::default() };
    }

    /// Somebody else made it huge. Where its waste was taken back before, that may go on for ever.
    pub fn made_huge(&mut self, now: Ns) {
        if let Some(before) = self.given_back.checked_sub(1) {
            let until = now + longer(MADE_AGAIN_BASE, 2, before, 7).min(REFUSED);
            let wait = Wait { until, reason: SkipReason::MadeHugeAgain };
            let longer = self.no_split_until.filter(|wait| wait.lasts(until));
            self.no_split_until = longer.or(Some(wait));
        }
    }

    /// What the bloat budget paid for was for nothing.
    pub fn wasted(&mut self) {
        self.given_back = self.given_back.saturating_add(1);
    }

    /// It was split.
    pub fn split(&mut self, motive: Motive, now: Ns) {
        let (wait, reason) = match motive {
            // It was no huge page any more, and the program itself gave its pages back: what it
            // kept may be worth a huge page as it is. Nothing flaps.
            motive if !motive.loses_a_huge_page() => (COOLDOWN, SkipReason::Cooldown),
            _ => {
                let wait = longer(GIVEN_BACK_BASE, 2, self.given_back, 6);
                self.wasted();
                (wait.min(GIVEN_BACK_CAP), SkipReason::GivenBack)
            }
        };
        self.no_promote_until = Some(Wait { until: now + wait, reason });
        (self.no_split_until, self.failed_splits) = (None, 0);
    }

    /// A promotion was not carried out, or failed.
    pub fn not_promoted(&mut self, outcome: &Outcome, now: Ns) {
        let (wait, reason) = match outcome {
            Outcome::Promoted { .. } | Outcome::Demoted { .. } => return,
            Outcome::Withheld { .. } => (REFUSED, SkipReason::WithheldByMode),
            Outcome::Skipped { reason, .. } => (self.after_skip(*reason), *reason),
            Outcome::Failed { class, reason, .. } => (self.after_failure(*class, *reason), *reason),
        };
        self.no_promote_until = Some(Wait { until: now + wait, reason });
    }

    fn after_skip(&mut self, reason: SkipReason) -> Ns {
        if !reason.lies_in_region() {
            return RECHECK;
        }
        let wait = longer(RECHECK, 4, self.skips, 4).min(REFUSED);
        self.skips = self.skips.saturating_add(1);
        wait
    }

    fn after_failure(&mut self, class: FailureClass, reason: SkipReason) -> Ns {
        match class {
            // For the last two the back-off is everybody's or the cgroup's; but the fault may lie
            // in this region (EBUSY: userfaultfd holes; ENOMEM: partly unmapped), which must not
            // be the first to be tried again every time.
            FailureClass::Transient | FailureClass::Allocation | FailureClass::Cgroup => {
                let mut base = TRANSIENT_BASE;
                if class == FailureClass::Allocation {
                    base = PASSING_BASE;
                }
                let wait = longer(base, 4, self.transient_failures, 4);
                self.transient_failures = self.transient_failures.saturating_add(1);
                wait
            }
            // It may pass: after a fork kernels before 6.18 refuse pages that are exclusive again
            // until the program writes one of them.
            FailureClass::Refused | FailureClass::Other => {
                let explained = reason != SkipReason::RefusedByKernel;
                let before = self.refusals.checked_sub(u8::from(!explained));
                self.refusals = self.refusals.saturating_add(1);
                before
                    .map_or(PASSING_BASE, |before| longer(REFUSED_BASE, 4, before, 4).min(REFUSED))
            }
            FailureClass::Permission => REFUSED,
        }
    }

    /// A split was not carried out, or failed.
    pub fn not_split(&mut self, outcome: &Outcome, now: Ns) {
        let (base, reason) = match outcome {
            Outcome::Promoted { .. } | Outcome::Demoted { .. } => return,
            Outcome::Withheld { .. } => {
                let (until, reason) = (now + REFUSED, SkipReason::WithheldByMode);
                self.no_split_until = Some(Wait { until, reason });
                return;
            }
            Outcome::Skipped { reason, .. } => (RECHECK, *reason),
            Outcome::Failed { class, reason, .. } => match class {
                FailureClass::Refused | FailureClass::Permission => (REFUSED_BASE, *reason),
                _ => (TRANSIENT_BASE, *reason),
            },
        };
        let wait = longer(base, 4, self.failed_splits, 4).min(REFUSED);
        self.failed_splits = self.failed_splits.saturating_add(1);
        self.no_split_until = Some(Wait { until: now + wait, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: FailureClass, reason: SkipReason) -> Outcome {
        let (call, cpu) = (Ns::us(700).into(), Ns::us(800));
        Outcome::Failed { class, reason, errno: None, warm: None, call, cpu }
    }

    fn lengths(mut one: impl FnMut(Ns) -> Option<Wait>) -> Vec<f64> {
        let now = Ns::s(1000);
        let waits = (0..6).filter_map(|_| one(now));
        waits.map(|wait| wait.until.since(now).as_s()).collect()
    }

    #[test]
    fn failures_to_promote_wait_longer_each_time() {
        let after = |class: FailureClass, why| {
            let mut waits = Waits::default();
            lengths(|now| {
                waits.not_promoted(&failed(class, why), now);
                waits.no_promote_until
            })
        };
        let transient = [2.0, 8.0, 32.0, 128.0, 512.0, 512.0];
        for class in [FailureClass::Transient, FailureClass::Cgroup] {
            assert_eq!(after(class, class.reason()), transient);
        }
        // That no block is free, all of them wait for already.
        let allocation = FailureClass::Allocation;
        let no_block = [0.5, 2.0, 8.0, 32.0, 128.0, 128.0];
        assert_eq!(after(allocation, allocation.reason()), no_block);
        let refused = FailureClass::Refused;
        let explained = after(refused, SkipReason::AdvisedAgainst);
        assert_eq!(explained, [15.0, 60.0, 240.0, 600.0, 600.0, 600.0]);
        // A page that was just being moved costs a victim half a second, not fifteen.
        let unexplained = after(refused, refused.reason());
        assert_eq!(unexplained, [0.5, 15.0, 60.0, 240.0, 600.0, 600.0]);
        assert_eq!(after(FailureClass::Permission, SkipReason::NoPermission), [600.0; 6]);
    }

    #[test]
    fn what_was_given_back_waits_twice_as_long_each_time() {
        let mut waits = Waits::default();
        let lengths = lengths(|now| {
            waits.split(Motive::OverBloatBudget, now);
            waits.no_promote_until
        });
        assert_eq!(lengths, [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0]);
        waits.split(Motive::Pressure, Ns(0));
        let longest = waits.no_promote_until.map(|wait| wait.until);
        assert_eq!(longest, Some(GIVEN_BACK_CAP));
        waits.promoted();
        assert_eq!(waits.given_back, 7);
        assert_eq!(waits.against_promotion(Ns(0)), None);
    }

    #[test]
    fn what_somebody_makes_huge_again_is_split_less_often_each_time() {
        let mut waits = Waits::default();
        waits.made_huge(Ns(0));
        assert_eq!(waits, Waits::default(), "nothing was taken back");
        let lengths = lengths(|now| {
            waits.split(Motive::Pressure, now);
            assert_eq!(waits.against_split(now, false), None);
            waits.made_huge(now);
            waits.mapping_changed();
            assert_eq!(waits.against_split(now, false), Some(SkipReason::MadeHugeAgain));
            assert_eq!(waits.against_split(now, true), None, "memory is short for everybody");
            waits.no_split_until
        });
        assert_eq!(lengths, [5.0, 10.0, 20.0, 40.0, 80.0, 160.0]);
        waits.huge_page_lost(Ns(0));
        assert_eq!(waits.no_split_until, None, "its rest holds the block");
        waits.given_back = u8::MAX;
        waits.made_huge(Ns(0));
        assert_eq!(waits.no_split_until.map(|wait| wait.until), Some(REFUSED));
        waits.given_back = 1;
        waits.made_huge(Ns(0));
        assert_eq!(waits.no_split_until.map(|wait| wait.until), Some(REFUSED), "the longer one");
    }

    #[test]
    fn what_the_program_freed_itself_was_not_given_back() {
        let mut waits = Waits::default();
        waits.split(Motive::PartiallyMapped, Ns(0));
        assert_eq!(waits.given_back, 0);
        assert_eq!(waits.against_promotion(Ns(1)), Some(SkipReason::Cooldown));
        assert_eq!(waits.against_promotion(COOLDOWN), None);
    }

    #[test]
    fn a_new_mapping_ends_refusals_and_no_cooldown() {
        let mut waits = Waits::default();
        let refused = FailureClass::Refused;
        waits.not_promoted(&failed(refused, refused.reason()), Ns(0));
        assert_eq!(waits.against_promotion(Ns(1)), Some(SkipReason::RefusedByKernel));
        waits.mapping_changed();
        assert_eq!(waits, Waits::default());
        waits.huge_page_lost(Ns(0));
        waits.mapping_changed();
        assert_eq!(waits.against_promotion(Ns(1)), Some(SkipReason::Cooldown));
        assert_eq!(waits.against_promotion(COOLDOWN), None);
    }
}
