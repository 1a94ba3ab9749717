//! What is remembered of one region.

use crate::decision::{Action, Decision, Motive, Outcome};
use crate::limits::thresholds::Thresholds;
use crate::limits::waits::Waits;
use crate::reason::SkipReason;
use crate::snapshot::RegionSample;
use hugewise_base::units::{Addr, Geometry, Ns};

/// Attempts to split a block that was deduced and never seen.
const DEDUCED_TRIES: u8 = 3;

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

/// The last inspection of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspected {
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
    /// Of an object that others map, too: shared memory, or program text. It is never split, and
    /// its contents are not read.
    pub shared_memory: bool,
    /// Start of its mapping.
    pub mapping: Addr,
    /// What it was before, while it is huge and that is known.
    pub before: Option<Before>,
    /// Since when it is known to be partially mapped: not huge any more, and its rest holds the
    /// block.
    pub partially_mapped_since: Option<Ns>,
    /// Dropped pages whose block is still held, from page frames.
    pub held: Option<u16>,
    /// Populated pages that hold only zeros: mean of the last two samples of its contents.
    pub zeros: Option<u16>,
    /// Samples of its contents since it became huge, or lost its huge page.
    pub samples: u8,
    /// Pages that its program dropped, or may have, since it was last split, as long as it is not
    /// huge: pieces of larger folios may be among them, and still be held.
    pub dropped: u16,
    /// Scans in a row that saw the same number of populated pages.
    pub steady: u8,
    /// Its last inspection.
    pub inspected: Option<Inspected>,
    /// What is not done to it for now.
    pub waits: Waits,
    /// The pass that saw it last; they are numbered round and round.
    pub pass: u8,
}

/// Base pages of a region.
fn whole(geometry: Geometry) -> u16 {
    u16::try_from(geometry.pages_per_huge()).unwrap_or(u16::MAX)
}

impl Region {
    /// Pages of a block that this region holds without mapping them. Without page frames: those
    /// that are missing since it lost its huge page. `None`: nothing is known.
    pub fn held_pages(&self, geometry: Geometry) -> Option<u16> {
        if self.huge {
            return None;
        }
        let missing = || whole(geometry).saturating_sub(self.populated + self.zero_page);
        self.held.or_else(|| self.partially_mapped_since.map(|_| missing()))
    }

    /// Populated base pages that hold data, as far as samples tell; as long as it is not huge.
    pub fn written(&self) -> u16 {
        let zeros = self.zeros.filter(|_| !self.huge).unwrap_or(0);
        self.populated.saturating_sub(zeros)
    }

    /// Whether it is huge because the bloat budget paid for it.
    pub(super) fn is_on_budget(&self, thresholds: Thresholds) -> bool {
        let low = |before: Before| before.by == Maker::Us && before.populated < thresholds.always;
        self.before.is_some_and(low)
    }

    /// Takes what a scan or an inspection saw. Returns how many pages were populated before
    /// somebody else made it huge, if that is what happened.
    pub(super) fn seen(
        &mut self,
        sample: &RegionSample,
        geometry: Geometry,
        now: Ns,
    ) -> Option<u16> {
        if self.mapping != sample.mapping {
            self.mapping = sample.mapping;
            // What was seen of its pages is corrected by the next scan.
            self.waits.mapping_changed();
        }
        let mut filled = None;
        match (self.huge, sample.huge) {
            (true, false) => self.lost(sample, geometry, now),
            (false, true) => {
                // A growing heap may have filled it since the last scan: then nothing is known.
                filled = (self.populated > 0 && self.steady > 0).then_some(self.populated);
                self.before = filled.map(|n| Before { populated: n, by: Maker::Somebody });
                self.became_huge();
                self.waits.made_huge(now);
            }
            _ => {}
        }
        let steady = self.populated == sample.populated && !self.huge;
        self.steady = if steady { self.steady.saturating_add(1) } else { 0 };
        self.dropped = match self.huge || sample.huge {
            true => 0,
            false => {
                // Of what is seen for the first time nobody knows what was there before.
                let before = if self.populated == 0 { whole(geometry) } else { self.populated };
                let more = before.saturating_sub(sample.populated);
                let missing = whole(geometry).saturating_sub(sample.populated);
                self.dropped.saturating_add(more).min(missing)
            }
        };
        self.populated = sample.populated;
        self.swapped = sample.swapped;
        self.zero_page = sample.zero_page;
        self.huge = sample.huge;
        self.shared_memory = sample.object.is_some();
        if let Some(zeros) = sample.zeros {
            // Of a region that is not huge an earlier sample counts as long as it did not change.
            let as_seen = |seen: Inspected| seen.populated == sample.populated;
            let counts = sample.huge || self.inspected.is_some_and(as_seen);
            let before = self.zeros.filter(|_| counts);
            self.zeros = Some(before.map_or(zeros, |before| before.midpoint(zeros)));
            self.samples = if counts { self.samples.saturating_add(1) } else { 1 };
        }
        if let Some(held) = sample.held.filter(|_| !sample.huge) {
            self.held = Some(held);
            let since = self.partially_mapped_since.or(Some(now));
            self.partially_mapped_since = since.filter(|_| held > 0);
        }
        filled
    }

    fn became_huge(&mut self) {
        (self.samples, self.dropped) = (0, 0);
        (self.partially_mapped_since, self.held, self.zeros, self.inspected) =
            (None, None, None, None);
    }

    fn lost(&mut self, sample: &RegionSample, geometry: Geometry, now: Ns) {
        let here = u32::from(sample.populated) + u32::from(sample.zero_page);
        self.became_huge();
        self.before = None;
        self.partially_mapped_since = (here < geometry.pages_per_huge()).then_some(now);
        self.waits.huge_page_lost(now);
    }

    /// Takes the outcome of a decision about it, permission failures left out.
    pub(super) fn applied(
        &mut self,
        decision: &Decision,
        outcome: &Outcome,
        now: Ns,
        geometry: Geometry,
    ) {
        match (decision.action, outcome) {
            (_, Outcome::Promoted { populated, .. }) => {
                self.became_huge();
                self.huge = true;
                self.before = Some(Before { populated: *populated, by: Maker::Us });
                // What it wastes is known for now: its contents are sampled later.
                self.inspected = Some(Inspected { at: now, populated: *populated });
                self.populated = whole(geometry);
                self.waits.promoted();
            }
            (_, Outcome::Demoted { freed, .. }) => {
                if self.huge || decision.motive == Motive::Unwritten {
                    self.populated = self.populated.saturating_sub(*freed);
                }
                self.became_huge();
                (self.huge, self.before, self.held, self.dropped) = (false, None, Some(0), 0);
                // Folios that somebody held just then stay whole: they are looked for once more.
                let seen = Inspected { at: now, populated: self.populated };
                self.inspected = (decision.motive != Motive::Unwritten).then_some(seen);
                // Counted just now, after the call.
                self.steady = 1;
                self.waits.split(decision.motive, now);
            }
            (Action::Promote, Outcome::Skipped { reason: SkipReason::AlreadyHuge, .. }) => {
                let before = Before { populated: self.populated, by: Maker::Somebody };
                self.before = (self.steady > 0).then_some(before);
                self.became_huge();
                self.huge = true;
                self.waits.made_huge(now);
            }
            (Action::Promote, _) => {
                if matches!(outcome, Outcome::Skipped { reason: SkipReason::Unwritten, .. }) {
                    // How many are written is to be found out.
                    self.inspected = None;
                }
                self.waits.not_promoted(outcome, now);
            }
            // The next scan sees what it is now.
            (Action::Demote, Outcome::Skipped { reason: SkipReason::NothingHeld, .. }) => {
                (self.held, self.partially_mapped_since, self.dropped) = (Some(0), None, 0);
            }
            (Action::Demote, _) => {
                self.waits.not_split(outcome, now);
                // What was deduced from its past may be wrong: the block went as a whole.
                let failed = matches!(outcome, Outcome::Failed { .. });
                if failed && self.waits.failed_splits >= DEDUCED_TRIES && self.held.is_none() {
                    self.partially_mapped_since = None;
                }
                if failed && self.waits.failed_splits >= DEDUCED_TRIES && !self.huge {
                    // Zeros that the program wrote itself, and pages that were never there: no
                    // split brings them back.
                    (self.zeros, self.dropped) = (self.zeros.map(|_| 0), 0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Promote;
    use hugewise_base::units::ProcId;

    #[test]
    fn the_budget_pays_for_what_we_made_huge_below_the_threshold() {
        let thresholds = Thresholds::new(&Promote::default(), Geometry::X86_64);
        let on_budget = |populated, by| {
            let before = Some(Before { populated, by });
            Region { before, ..Region::default() }.is_on_budget(thresholds)
        };
        assert!(on_budget(300, Maker::Us));
        assert!(!on_budget(500, Maker::Us), "well used");
        assert!(!on_budget(300, Maker::Somebody), "nothing of ours was spent");
        assert!(!Region::default().is_on_budget(thresholds));
    }

    #[test]
    fn what_somebody_makes_huge_again_is_not_split_at_once() {
        let (now, region) = (Ns::s(100), Addr(0));
        let split = || {
            let mut region = Region { populated: 200, steady: 1, ..Region::default() };
            region.waits.split(Motive::OverBloatBudget, now);
            region
        };
        let mut seen = split();
        let huge = RegionSample {
            at: region,
            populated: 512,
            swapped: 0,
            zero_page: 0,
            huge: true,
            mapping: region,
            shared: None,
            held: None,
            zeros: None,
            object: None,
        };
        seen.seen(&huge, Geometry::X86_64, now);
        let mut found = split();
        let promotion = Decision {
            target: ProcId { pid: 1, start_ticks: 1 },
            region,
            mapping: region,
            action: Action::Promote,
            motive: Motive::Utilization,
            populated: 200,
            waste: 0,
            min_populated: 0,
            warm: false,
            sample: false,
            another: false,
            unhurried: false,
            shared_memory: false,
            outlook: None,
        };
        let reason = SkipReason::AlreadyHuge;
        let outcome = Outcome::Skipped { reason, warm: None, cpu: Ns(0) };
        found.applied(&promotion, &outcome, now, Geometry::X86_64);
        for region in [seen, found] {
            assert!(region.huge);
            assert_eq!(region.waits.against_split(now, false), Some(SkipReason::MadeHugeAgain));
        }
    }
}
