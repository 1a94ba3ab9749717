//! What is remembered of one region.

use crate::policy::{Action, Decision, FailureClass, Motive, Outcome};
use crate::reason::SkipReason;
use crate::snapshot::RegionSample;
use crate::units::{Addr, Geometry, Ns};

/// A region that lost its huge page is left alone for this long, so that nothing flaps.
pub const COOLDOWN: Ns = Ns::s(30);
/// How long a region is left alone after the actuator's re-check said no.
pub const RECHECK: Ns = Ns::s(5);
/// First wait after EAGAIN, four times longer each further time: page locks and LRU isolation
/// pass within milliseconds, pins (O_DIRECT, RDMA) may last.
pub const TRANSIENT_BASE: Ns = Ns::s(2);
/// First wait after EINVAL, four times longer each further time, up to [`REFUSED`].
pub const REFUSED_BASE: Ns = Ns::s(15);
/// How long a region that the kernel refused is left alone if its mapping stays the same.
pub const REFUSED: Ns = Ns::s(600);
/// First wait before a region whose waste was taken back may become huge again, twice as long
/// each further time, up to [`GIVEN_BACK_CAP`].
pub const GIVEN_BACK_BASE: Ns = Ns::s(60);
/// Attempts to split a block that was deduced and never seen.
const DEDUCED_TRIES: u8 = 3;
/// Longest such wait.
pub const GIVEN_BACK_CAP: Ns = Ns::s(3600);

/// Until when a region is left alone, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// End of the wait.
    pub until: Ns,
    /// Its name.
    pub reason: SkipReason,
}

/// Who made a region huge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// This manager.
    Us,
    /// khugepaged, or the program itself.
    Somebody,
}

/// What a region was before it became huge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Populated base pages: just before we promoted it; as of the last scan where it was
    /// somebody else.
    pub populated: u16,
    /// Who made it huge.
    pub by: Maker,
}

/// A close look at a region, in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    /// When.
    pub at: Ns,
    /// Populated base pages then.
    pub populated: u16,
}

/// One region of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Region {
    /// Populated base pages.
    pub populated: u16,
    /// ... of which swapped.
    pub swapped: u16,
    /// Base pages mapped to the shared zero page.
    pub zero_page: u16,
    /// Mapped huge.
    pub huge: bool,
    /// Start of its mapping.
    pub mapping: Addr,
    /// What it was before, while it is huge and that is known.
    pub before: Option<Before>,
    /// Since when it is known to map pieces of a huge page only, while it does.
    pub broken: Option<Ns>,
    /// Dropped pages whose block is still held, from page frames.
    pub held: Option<u16>,
    /// Pages of zeros in a huge region: mean of the last two samples of its contents.
    pub zeros: Option<u16>,
    /// Samples of its contents since it became huge.
    pub samples: u8,
    /// Scans in a row that saw the same number of populated pages.
    pub steady: u8,
    /// The last close look.
    pub looked: Option<Looked>,
    /// Not promoted for now.
    pub hold: Option<Hold>,
    /// Not split for now.
    pub keep: Option<Hold>,
    /// Transient failures to promote it in a row.
    pub tries: u8,
    /// Refusals to promote it in a row.
    pub refusals: u8,
    /// Failures to split it in a row.
    pub keeps: u8,
    /// Times its waste was taken back.
    pub demoted: u8,
    /// Pages shared with another process, from detailed scans.
    pub shared: Option<u16>,
    /// The pass that saw it last.
    pub pass: u32,
}

impl Region {
    /// Pages of a block that this region holds without mapping them. Without page frames: those
    /// that are missing since it lost its huge page. `None`: nothing is known.
    #[must_use]
    pub fn held_pages(&self, geometry: Geometry) -> Option<u16> {
        if self.huge {
            return None;
        }
        let missing = || {
            let whole = u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX);
            whole.saturating_sub(self.populated + self.zero_page)
        };
        self.held.or_else(|| self.broken.map(|_| missing()))
    }

    /// Takes what a scan or a look saw. Returns how many pages were populated before somebody
    /// else made it huge, if that is what happened.
    pub(super) fn seen(
        &mut self,
        sample: &RegionSample,
        geometry: Geometry,
        now: Ns,
    ) -> Option<u16> {
        if self.mapping != sample.mapping {
            self.moved(sample.mapping);
        }
        let mut filled = None;
        match (self.huge, sample.huge) {
            (true, false) => self.lost(sample, geometry, now),
            (false, true) => {
                // A growing heap may have filled it since the last scan: then nothing is known.
                filled = (self.populated > 0 && self.steady > 0).then_some(self.populated);
                self.before = filled.map(|n| Before { populated: n, by: Maker::Somebody });
                self.became_huge();
            }
            _ => {}
        }
        let steady = self.populated == sample.populated && !self.huge;
        self.steady = if steady { self.steady.saturating_add(1) } else { 0 };
        self.populated = sample.populated;
        self.swapped = sample.swapped;
        self.zero_page = sample.zero_page;
        self.huge = sample.huge;
        self.shared = sample.shared.or(self.shared);
        if let Some(zeros) = sample.zeros {
            self.zeros = Some(self.zeros.map_or(zeros, |before| before.midpoint(zeros)));
            self.samples = self.samples.saturating_add(1);
        }
        if let Some(held) = sample.held.filter(|_| !sample.huge) {
            self.held = Some(held);
            self.broken = if held > 0 { self.broken.or(Some(now)) } else { None };
        }
        filled
    }

    /// Its mapping starts elsewhere now: replaced, or only grown or merged. What the kernel
    /// refused may be allowed in it; what was seen of its pages is corrected by the next scan.
    fn moved(&mut self, mapping: Addr) {
        self.mapping = mapping;
        let stays =
            |hold: &Hold| matches!(hold.reason, SkipReason::Cooldown | SkipReason::GivenBack);
        self.hold = self.hold.filter(stays);
        (self.keep, self.tries, self.refusals, self.keeps) = (None, 0, 0, 0);
    }

    fn became_huge(&mut self) {
        self.samples = 0;
        (self.broken, self.held, self.zeros, self.looked) = (None, None, None, None);
    }

    fn lost(&mut self, sample: &RegionSample, geometry: Geometry, now: Ns) {
        let here = u32::from(sample.populated) + u32::from(sample.zero_page);
        self.became_huge();
        self.before = None;
        self.broken = (here < geometry.pages_per_huge()).then_some(now);
        let cooldown = Hold { until: now + COOLDOWN, reason: SkipReason::Cooldown };
        self.hold = self.hold.filter(|hold| hold.until > cooldown.until).or(Some(cooldown));
    }

    /// Takes the outcome of a decision about it, permission failures left out.
    pub(super) fn applied(
        &mut self,
        decision: &Decision,
        outcome: &Outcome,
        now: Ns,
        geometry: Geometry,
    ) {
        let hold = |wait: Ns, reason| Some(Hold { until: now + wait, reason });
        match (decision.action, outcome) {
            (_, Outcome::Promoted { populated, .. }) => {
                self.became_huge();
                self.huge = true;
                self.before = Some(Before { populated: *populated, by: Maker::Us });
                self.populated = u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX);
                (self.hold, self.keep) = (None, None);
                (self.tries, self.refusals, self.keeps) = (0, 0, 0);
            }
            (_, Outcome::Demoted { freed, .. }) => {
                if self.huge {
                    self.populated = self.populated.saturating_sub(*freed);
                }
                self.became_huge();
                (self.huge, self.before, self.held) = (false, None, Some(0));
                self.looked = Some(Looked { at: now, populated: self.populated });
                // Counted just now, after the call.
                self.steady = 1;
                let wait = GIVEN_BACK_BASE.0 << u32::from(self.demoted.min(6));
                self.hold = match decision.motive {
                    // It was no huge page any more: nothing flaps.
                    Motive::PartiallyMapped => hold(COOLDOWN, SkipReason::Cooldown),
                    _ => hold(Ns(wait.min(GIVEN_BACK_CAP.0)), SkipReason::GivenBack),
                };
                self.demoted = self.demoted.saturating_add(1);
                (self.keep, self.keeps) = (None, 0);
            }
            (Action::Promote, _) => self.not_promoted(outcome, &hold),
            (Action::Demote, _) => self.not_split(outcome, &hold),
        }
    }

    fn not_promoted(&mut self, outcome: &Outcome, hold: &dyn Fn(Ns, SkipReason) -> Option<Hold>) {
        match outcome {
            Outcome::Withheld { .. } => self.hold = hold(REFUSED, SkipReason::WithheldByMode),
            Outcome::Skipped { reason: SkipReason::AlreadyHuge, .. } => {
                let before = Before { populated: self.populated, by: Maker::Somebody };
                self.before = (self.steady > 0).then_some(before);
                self.became_huge();
                self.huge = true;
            }
            Outcome::Skipped { reason, .. } => self.hold = hold(RECHECK, *reason),
            Outcome::Failed { class, reason, .. } => match class {
                // For the last two the back-off is everybody's or the cgroup's; but the fault may
                // lie in this region (EBUSY: userfaultfd holes; ENOMEM: partly unmapped), which
                // must not be the first to be tried again every time.
                FailureClass::Transient | FailureClass::Allocation | FailureClass::Cgroup => {
                    let wait = TRANSIENT_BASE.0 << (2 * u32::from(self.tries.min(4)));
                    self.tries = self.tries.saturating_add(1);
                    self.hold = hold(Ns(wait), *reason);
                }
                // It may pass: after a fork kernels before 6.18 refuse pages that are exclusive
                // again until the program writes one of them.
                FailureClass::Refused | FailureClass::Other => {
                    let wait = REFUSED_BASE.0 << (2 * u32::from(self.refusals.min(4)));
                    self.refusals = self.refusals.saturating_add(1);
                    self.hold = hold(Ns(wait.min(REFUSED.0)), *reason);
                }
                FailureClass::Permission => self.hold = hold(REFUSED, *reason),
            },
            Outcome::Promoted { .. } | Outcome::Demoted { .. } => {}
        }
    }

    fn not_split(&mut self, outcome: &Outcome, hold: &dyn Fn(Ns, SkipReason) -> Option<Hold>) {
        match outcome {
            Outcome::Withheld { .. } => self.keep = hold(REFUSED, SkipReason::WithheldByMode),
            // The next scan sees what it is now.
            Outcome::Skipped { reason: SkipReason::NothingHeld, .. } => {
                (self.held, self.broken) = (Some(0), None);
            }
            Outcome::Skipped { reason, .. } => self.kept(RECHECK, *reason, hold),
            Outcome::Failed { class, reason, .. } => {
                let base = match class {
                    FailureClass::Refused | FailureClass::Permission => REFUSED_BASE,
                    _ => TRANSIENT_BASE,
                };
                self.kept(base, *reason, hold);
                // What was deduced from its past may be wrong: the block went as a whole.
                if self.keeps >= DEDUCED_TRIES && self.held.is_none() {
                    self.broken = None;
                }
            }
            Outcome::Promoted { .. } | Outcome::Demoted { .. } => {}
        }
    }

    /// Waits `base`, four times longer each further time.
    fn kept(
        &mut self,
        base: Ns,
        reason: SkipReason,
        hold: &dyn Fn(Ns, SkipReason) -> Option<Hold>,
    ) {
        let wait = base.0 << (2 * u32::from(self.keeps.min(4)));
        self.keeps = self.keeps.saturating_add(1);
        self.keep = hold(Ns(wait.min(REFUSED.0)), reason);
    }
}
