//! Which size of folio faults hand out, where the kernel has multi-size THP (Linux 6.8).
//!
//! A fault that hands out 64 KiB makes the first touch of memory three times as fast as one of a
//! base page, with a shorter tail, and halves what a collapse costs later
//! (`docs/measurements.md#multi-size-faults`). Its price are pages that nobody writes, and folios
//! of which pieces are dropped: memory that no program's size shows. So the size is a quantity that
//! is measured and steered: it falls while these cost more than the bloat budget, while memory is
//! short or in pieces, and rises again with patience.

use super::ladder::{Ladder, Verdict};
use crate::snapshot::SizeSample;
use hugewise_base::named;
use hugewise_base::units::{Bytes, Ns};
use serde::{Deserialize, Serialize};

/// Base pages of the sizes that may be handed out: 16 to 128 KiB on x86-64. Larger ones make faults
/// slower, not faster (`docs/measurements.md#multi-size-faults`). Of base pages of 64 KiB the
/// largest is what arm64 has one TLB entry for: 2 MiB.
const SIZES: [u64; 4] = [4, 8, 16, 32];
/// Those of the size to begin with: on x86-64 three times as fast as base pages, and its slowest
/// faults are faster than theirs. The next one is tried when this has wasted little for a while.
const FIRST: u64 = 16;

/// Sizes that may be handed out on a machine with such base pages, ascending.
pub fn sizes(base: Bytes) -> [Bytes; 4] {
    SIZES.map(|pages| Bytes(base.0.saturating_mul(pages)))
}
/// Faults that find no block of the size, in percent, from which on a smaller one is handed out ...
const FALLBACK_PERCENT: u64 = 20;
/// ... of so many faults at least.
const FALLBACK_FAULTS: u64 = 256;

/// Waste lowers the size when it lasts for so long: splits take it back within seconds.
const LASTS: Ns = Ns::s(5);
/// Waste that fell below this part of what it was at the last step is falling.
const FALLS_PERCENT: f64 = 90.0;

named! {
    /// Why faults hand out the size that they do.
    SizeReason,
    Begin = "begin": "memory is plentiful", "";
    Recovered = "recovered": "nothing spoke against a larger size for a while", "";
    Waste = "waste": "pages that nobody wrote are above the bloat budget",
        "raise promote.bloat_budget_percent if the memory is there";
    Pieces = "pieces": "dropped pages of folios that are still held are above the bloat budget",
        "raise promote.bloat_budget_percent if the memory is there";
    Fallbacks = "fallbacks": "too few blocks of the size are free", "";
    Pressure = "pressure": "memory is short", "";
    Off = "off": "settings.fault_sizes is 'off', or the mode leaves sizes alone", "";
    NoSizes = "no_sizes": "this kernel has no multi-size THP", "needs Linux 6.8";
    Operator = "operator": "somebody has chosen sizes: they stay",
        "set hugepages-*kB/enabled to 'never' for hugewise to choose";
    Never = "never": "transparent_hugepage/enabled is 'never'", "";
    NotSampled = "not_sampled": "demote.sample is false: what sizes waste cannot be measured",
        "set it to true";
}

/// What the size is judged by.
#[derive(Debug, Clone, Copy)]
pub struct SizeFacts<'a> {
    /// Bytes of a base page.
    pub base: Bytes,
    /// What the kernel has, and counts.
    pub offered: &'a [SizeSample],
    /// Why none may be chosen.
    pub barred: Option<SizeReason>,
    /// Pages that nobody wrote, estimated from samples; `None`: nothing was sampled yet.
    pub unwritten: Option<Bytes>,
    /// So much waste is allowed.
    pub bound: Bytes,
    /// Memory is short for everybody.
    pub short: bool,
    /// `watermark.fmfi_high`.
    pub fmfi_high: f64,
}

/// The size that faults hand out.
#[derive(Debug, Clone, Default)]
pub struct FaultSize {
    control: Option<Control>,
    barred: Option<SizeReason>,
}

#[derive(Debug, Clone)]
struct Control {
    /// Sizes, ascending; level 0 is a base page.
    sizes: Vec<Bytes>,
    ladder: Ladder,
    reason: SizeReason,
    /// Faults of the size in force, and those that fell back, when they were last judged.
    counted: Option<(u64, u64)>,
    /// Waste when the size was last lowered for it.
    lowered_at: Bytes,
    /// Since when waste is above the budget.
    over_since: Option<Ns>,
}

impl FaultSize {
    /// The size that is wanted, and why; `None`: base pages.
    pub fn wanted(&self) -> (Option<Bytes>, SizeReason) {
        match (&self.control, self.barred) {
            (Some(control), None) => (control.size(), control.reason),
            (_, barred) => (None, barred.unwrap_or(SizeReason::NoSizes)),
        }
    }

    /// How often it changed.
    pub fn changes(&self) -> u64 {
        self.control.as_ref().map_or(0, |control| control.ladder.steps())
    }

    /// Takes what is known at `now`.
    pub fn step(&mut self, facts: &SizeFacts<'_>, now: Ns) {
        self.barred = facts.barred;
        if facts.barred.is_some() {
            return;
        }
        let control = match &mut self.control {
            Some(control) => control,
            None => match Control::begin(facts, now) {
                Ok(control) => self.control.insert(control),
                Err(reason) => {
                    self.barred = Some(reason);
                    return;
                }
            },
        };
        control.step(facts, now);
    }
}

impl Control {
    /// Begins where nobody else has chosen a size.
    fn begin(facts: &SizeFacts<'_>, now: Ns) -> Result<Self, SizeReason> {
        use crate::snapshot::ThpMode::Never;
        let offered = facts.offered;
        if offered.iter().any(|size| size.mode != Never) {
            return Err(SizeReason::Operator);
        }
        let sizes: Vec<_> = offered.iter().map(|offer| offer.size).collect();
        let first = sizes.iter().filter(|size| size.0 <= FIRST * facts.base.0).count();
        if first == 0 {
            return Err(SizeReason::NoSizes);
        }
        let ladder = Ladder::new(first, sizes.len(), now);
        let reason = SizeReason::Begin;
        let (counted, lowered_at, over_since) = (None, Bytes(0), None);
        Ok(Self { sizes, ladder, reason, counted, lowered_at, over_since })
    }

    fn size(&self) -> Option<Bytes> {
        self.ladder.level().checked_sub(1).and_then(|index| self.sizes.get(index)).copied()
    }

    fn step(&mut self, facts: &SizeFacts<'_>, now: Ns) {
        let (verdict, reason) = self.judge(facts, now);
        if self.ladder.step(verdict, now) {
            (self.reason, self.counted) = (reason, None);
            self.lowered_at = waste(facts);
        }
    }

    fn judge(&mut self, facts: &SizeFacts<'_>, now: Ns) -> (Verdict, SizeReason) {
        if facts.short {
            return (Verdict::Drop, SizeReason::Pressure);
        }
        let waste = waste(facts);
        if waste > facts.bound {
            let unwritten = facts.unwritten == Some(waste);
            let reason = if unwritten { SizeReason::Waste } else { SizeReason::Pieces };
            // Splits come first, and what the last step has left is being taken back.
            let since = *self.over_since.get_or_insert(now);
            let falls = waste < self.lowered_at.percent(FALLS_PERCENT);
            let lasts = now.since(since) >= LASTS;
            return (if lasts && !falls { Verdict::Down } else { Verdict::Hold }, reason);
        }
        self.over_since = None;
        let offer = facts.offered.iter().find(|offer| Some(offer.size) == self.size());
        if offer.is_some_and(|offer| self.falls_back(offer, facts.fmfi_high)) {
            return (Verdict::Down, SizeReason::Fallbacks);
        }
        // A larger size wastes up to twice as much.
        let room = Bytes(2 * waste.0) <= facts.bound;
        (if room { Verdict::Up } else { Verdict::Hold }, SizeReason::Recovered)
    }

    /// Whether many faults find no block of the size. Before Linux 6.10 nothing counts them: then
    /// it is whether most of the free memory is in smaller pieces.
    fn falls_back(&mut self, offer: &SizeSample, fmfi_high: f64) -> bool {
        let Some(now) = offer.faults.zip(offer.fallbacks) else {
            return offer.fmfi.is_some_and(|fmfi| fmfi >= fmfi_high);
        };
        let before = *self.counted.get_or_insert(now);
        let given = now.0.saturating_sub(before.0);
        let failed = now.1.saturating_sub(before.1);
        if given.saturating_add(failed) < FALLBACK_FAULTS {
            return false;
        }
        self.counted = Some(now);
        failed.saturating_mul(100) >= FALLBACK_PERCENT.saturating_mul(given.saturating_add(failed))
    }
}

/// What folios of all sizes hold for nothing.
fn waste(facts: &SizeFacts<'_>) -> Bytes {
    facts.unwritten.unwrap_or_default().max(pieces(facts.offered))
}

/// The most that dropped pages of folios can hold: all but one page of each.
pub fn pieces(offered: &[SizeSample]) -> Bytes {
    let held = |offer: &SizeSample| {
        Bytes(offer.partially_mapped.unwrap_or(0).saturating_mul(offer.size.0))
    };
    offered.iter().map(held).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::ThpMode;

    fn offered() -> Vec<SizeSample> {
        let offer = |size| SizeSample {
            size,
            mode: ThpMode::Never,
            folios: Some(0),
            partially_mapped: Some(0),
            faults: Some(0),
            fallbacks: Some(0),
            splits: Some(0),
            fmfi: Some(0.0),
            collapses: None,
        };
        sizes(Bytes::kib(4)).map(offer).to_vec()
    }

    fn facts(offered: &[SizeSample]) -> SizeFacts<'_> {
        let (barred, unwritten) = (None, Some(Bytes(0)));
        SizeFacts {
            base: Bytes::kib(4),
            offered,
            barred,
            unwritten,
            bound: Bytes::mib(30),
            short: false,
            fmfi_high: 0.5,
        }
    }

    fn kib(size: &FaultSize) -> (u64, SizeReason) {
        let (bytes, reason) = size.wanted();
        (bytes.map_or(4, |bytes| bytes.0 >> 10), reason)
    }

    #[test]
    fn it_begins_at_64_kib_and_steps_down_for_waste() {
        let (sizes, mut size) = (offered(), FaultSize::default());
        size.step(&facts(&sizes), Ns(0));
        assert_eq!(kib(&size), (64, SizeReason::Begin));
        let waste = SizeFacts { unwritten: Some(Bytes::mib(40)), ..facts(&sizes) };
        let mut seen = Vec::new();
        for second in 1..=36 {
            size.step(&waste, Ns::s(second));
            seen.push(kib(&size).0);
        }
        assert_eq!(seen[..5], [64; 5], "not before it lasts");
        seen.dedup();
        assert_eq!(seen, [64, 32, 16, 4]);
        assert_eq!(kib(&size).1, SizeReason::Waste);
        // Not while what there is goes back.
        let falls = SizeFacts { unwritten: Some(Bytes::mib(35)), ..facts(&sizes) };
        let mut other = FaultSize::default();
        (0..6).for_each(|second| other.step(&waste, Ns::s(second)));
        (6..100).for_each(|second| other.step(&falls, Ns::s(second)));
        assert_eq!(kib(&other), (32, SizeReason::Waste));
        // Half of the budget is as much as the next size would waste.
        let half = SizeFacts { unwritten: Some(Bytes::mib(16)), ..facts(&sizes) };
        (37..5_000).for_each(|second| size.step(&half, Ns::s(second)));
        assert_eq!(kib(&size).0, 4, "not while it could not be kept");
        (5_000..20_000).for_each(|second| size.step(&facts(&sizes), Ns::s(second)));
        assert_eq!(kib(&size), (128, SizeReason::Recovered));
    }

    #[test]
    fn pressure_ends_it_and_pieces_and_fallbacks_lower_it() {
        let mut sizes = offered();
        let mut size = FaultSize::default();
        size.step(&facts(&sizes), Ns(0));
        sizes[2].partially_mapped = Some(500);
        (1..=6).for_each(|second| size.step(&facts(&sizes), Ns::s(second)));
        assert_eq!(kib(&size), (32, SizeReason::Pieces));
        sizes[2].partially_mapped = Some(0);
        size.step(&facts(&sizes), Ns::s(7));
        (sizes[1].faults, sizes[1].fallbacks) = (Some(900), Some(100));
        size.step(&facts(&sizes), Ns::s(20));
        assert_eq!(kib(&size).0, 32, "one of ten");
        (sizes[1].faults, sizes[1].fallbacks) = (Some(1_100), Some(200));
        size.step(&facts(&sizes), Ns::s(21));
        assert_eq!(kib(&size), (16, SizeReason::Fallbacks));
        (sizes[0].faults, sizes[0].fmfi) = (None, Some(0.5));
        size.step(&facts(&sizes), Ns::s(40));
        assert_eq!(kib(&size), (4, SizeReason::Fallbacks));
        let mut size = FaultSize::default();
        size.step(&SizeFacts { short: true, ..facts(&offered()) }, Ns(0));
        assert_eq!(kib(&size), (4, SizeReason::Pressure));
    }

    #[test]
    fn sizes_of_the_operator_stay_and_every_no_has_a_name() {
        let mut size = FaultSize::default();
        size.step(&facts(&[]), Ns(0));
        assert_eq!(kib(&size), (4, SizeReason::NoSizes));
        let mut sizes = offered();
        sizes[3].mode = ThpMode::Madvise;
        size.step(&facts(&sizes), Ns::s(1));
        assert_eq!(kib(&size), (4, SizeReason::Operator));
        let off = SizeFacts { barred: Some(SizeReason::Off), ..facts(&sizes) };
        size.step(&off, Ns::s(2));
        assert_eq!(kib(&size), (4, SizeReason::Off));
    }
}
