//! How long programs would stand still in page faults, for compaction and for promotions.

use super::estimate::Estimate;
use super::facts::Facts;
use super::offer::Worth;
use crate::recording::ASSUMED;

/// What an event holds up, in ms. Costs are of several machines: `docs/measurements.md`, "Kernel
/// time of events".
const fn of_us(low: f64, likely: f64, high: f64) -> Estimate {
    Estimate { low: low / 1e3, likely: likely / 1e3, high: high / 1e3 }
}

/// A base-page fault: about 1 us on an ARM server (Elastic Translations, MICRO'24), 2.4 us here,
/// 3.6 us in Ingens (OSDI'16).
const BASE_FAULT: Estimate = of_us(1.0, 2.4, 3.6);
/// A huge-page fault: 188 us here, 465 us in HawkEye (ASPLOS'19).
const HUGE_FAULT: Estimate = of_us(188.0, 200.0, 465.0);
/// Direct compaction: a block took background compaction 2.3 ms, the slowest faults 28 ms.
const COMPACTION: Estimate = of_us(1e3, 2.3e3, 28e3);
/// A thread that touches a region while it is being promoted waits for the rest of the call.
const PROMOTION: Estimate = of_us(0.0, 320.0, 806.0);
/// Share of the base pages of a region that is worth a huge page, at least.
const WORTH_SHARE: f64 = 0.9;

/// Faults of base pages that a huge page has saved, or will.
fn saved(facts: &Facts) -> Estimate {
    let all = facts.region_pages();
    Estimate { low: 1.0, likely: all / 2.0, high: all }
}

/// What a huge page costs in those of 2 MiB, which were measured: it is cleared, copied and freed
/// by its size.
fn size(facts: &Facts) -> f64 {
    facts.geometry().huge.0 as f64 / ASSUMED.huge.0 as f64
}

/// In ms of each second, of all programs together; `None` where faults were not counted.
pub(super) struct Stalls {
    pub now: Estimate,
    pub never: Estimate,
    pub always: Estimate,
    pub worth: Estimate,
}

pub(super) fn stalls(facts: &Facts, worth: Worth) -> Option<Stalls> {
    let base = facts.base_faults_per_s()?;
    let huge = facts.huge_faults_per_s.unwrap_or(0.0);
    let for_huge = huge + facts.fallbacks_per_s.unwrap_or(0.0) > 0.0;
    let compactions = COMPACTION.times(facts.compactions_per_s.unwrap_or(0.0));
    let huge_fault = HUGE_FAULT.times(size(facts));
    let base_only = BASE_FAULT.times(base);
    // Nobody compacts for huge pages that nobody asks for.
    let without = if for_huge { Estimate { low: 0.0, ..compactions } } else { compactions };
    let never = base_only + (BASE_FAULT * saved(facts)).times(huge) + without;
    let promotions = Estimate::between(
        0.0,
        (base / (WORTH_SHARE * facts.region_pages())).min(worth.promotions_per_s),
    );
    Some(Stalls {
        now: base_only + huge_fault.times(huge) + compactions,
        never,
        always: always(facts, base) + huge_fault.times(huge) + compactions,
        worth: never + promotions * PROMOTION.times(size(facts)),
    })
}

/// Base-page faults as they are now, under `always`: those of anonymous memory, which are none to
/// all of them, become one for each region.
fn always(facts: &Facts, base: f64) -> Estimate {
    let (filled, huge_fault) = (facts.filled(), HUGE_FAULT.times(size(facts)));
    let regions =
        Estimate { low: base / filled.high, likely: base / filled.likely, high: base / filled.low };
    let each = match must_compact(facts) {
        true => huge_fault + Estimate { low: 0.0, likely: 0.0, ..COMPACTION },
        false => huge_fault,
    };
    BASE_FAULT.times(base).either(regions * each)
}

/// Whether faults would have to compact: those of programs that do not ask for huge pages do so
/// only where `defrag` says `always`, and none does where there are free blocks for hours.
fn must_compact(facts: &Facts) -> bool {
    const FOR_LONG: f64 = 1000.0;
    let does = facts.defrag.as_deref().is_none_or(|defrag| defrag == "always");
    does && facts.free_blocks.is_none_or(|blocks| blocks < FOR_LONG)
}
