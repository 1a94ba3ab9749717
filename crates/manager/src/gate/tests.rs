use super::*;
use crate::config::Promote;
use crate::limits::waits::{Wait, Waits};
use crate::snapshot::{SizeSample, ThpMode};
use crate::state::Inspected;
use hugewise_base::units::{Bytes, Geometry};
use std::collections::BTreeSet;

fn thresholds() -> Thresholds {
    Thresholds::new(&Promote::default(), Geometry::X86_64)
}

fn populated(populated: u16) -> Region {
    Region { populated, ..Region::default() }
}

/// The motive of a region that nothing speaks against: full or not. Else the reason.
fn answer(region: &Region, frames_hidden: bool, now: Ns) -> Result<bool, SkipReason> {
    let sight = Sight { frames_hidden, ..Sight::default() };
    let facts = RegionFacts::of(region, thresholds(), sight, now);
    match super::region(&facts, Asked::All) {
        Some(reason) => Err(reason),
        None => Ok(facts.is_full()),
    }
}

#[test]
fn ninety_percent_of_512_is_461_pages() {
    assert_eq!(thresholds(), Thresholds { always: 461, budget: 256, whole: 512 });
    let of = |pages| answer(&populated(pages), true, Ns(0));
    assert_eq!(of(512), Ok(true));
    assert_eq!(of(461), Ok(true));
    assert_eq!(of(460), Ok(false));
    assert_eq!(of(255), Err(SkipReason::BelowThreshold));
    assert_eq!(of(0), Err(SkipReason::Empty));
}

#[test]
fn a_wait_ends() {
    let wait = Wait { until: Ns::s(5), reason: SkipReason::RetryLater };
    let waits = Waits { no_promote_until: Some(wait), ..Waits::default() };
    let region = Region { waits, ..populated(512) };
    assert_eq!(answer(&region, false, Ns::s(4)), Err(SkipReason::RetryLater));
    assert_eq!(answer(&region, false, Ns::s(5)), Ok(true));
}

#[test]
fn the_bloat_budget_is_spent_on_nothing_that_might_be_given_back() {
    let of = |region: &Region, hidden| answer(region, hidden, Ns::s(9));
    let mut half = populated(300);
    assert_eq!(of(&half, false), Err(SkipReason::NotInspected));
    assert_eq!(of(&half, true), Ok(false));
    half.inspected = Some(Inspected { at: Ns(1), populated: 300 });
    assert_eq!(of(&half, false), Ok(false));
    half.partially_mapped_since = Some(Ns(1));
    assert_eq!(of(&half, false), Err(SkipReason::PartiallyMapped));
    let waits = Waits { given_back: 1, ..Waits::default() };
    let given_back = Region { waits, partially_mapped_since: None, ..half.clone() };
    assert_eq!(of(&given_back, false), Err(SkipReason::GivenBack));
    half.populated = 512;
    assert_eq!(of(&half, false), Ok(true));
}

#[test]
fn no_policy_passes_a_wait_or_makes_huge_what_is_huge() {
    let wait = Wait { until: Ns::s(5), reason: SkipReason::Cooldown };
    let waits = Waits { no_promote_until: Some(wait), ..Waits::default() };
    let binding = |region: &Region| {
        let facts = RegionFacts::of(region, thresholds(), Sight::default(), Ns(0));
        super::region(&facts, Asked::Binding)
    };
    assert_eq!(binding(&Region { waits, ..populated(1) }), Some(SkipReason::Cooldown));
    let huge = Region { huge: true, ..populated(512) };
    assert_eq!(binding(&huge), Some(SkipReason::AlreadyHuge));
    assert_eq!(binding(&populated(1)), None, "how full it is, is the policy's matter");
}

#[test]
fn a_machine_that_says_never_is_obeyed_unless_that_was_meant() {
    let open = MachineFacts {
        too_large: false,
        promotes: true,
        paused: false,
        thp: Some(ThpMode::Never),
        under_never: true,
        short: false,
        allocation_waits: false,
        free_huge: Some(1),
    };
    let reason = |facts: MachineFacts| machine(&facts, Asked::All);
    assert_eq!(reason(open), None);
    let never = MachineFacts { under_never: false, ..open };
    assert_eq!(reason(never), Some(SkipReason::OperatorNever));
    let large = MachineFacts { too_large: true, ..open };
    assert_eq!(reason(large), Some(SkipReason::HugePageTooLarge));
    let paused = MachineFacts { paused: true, ..never };
    assert_eq!(reason(paused), Some(SkipReason::Paused), "the first one counts");
    let none = MachineFacts { free_huge: Some(0), ..open };
    assert_eq!(reason(none), Some(SkipReason::NoFreeHugePage));
    assert_eq!(reason(MachineFacts { free_huge: None, ..open }), None, "unknown is not none");
}

#[test]
fn the_switch_that_cannot_be_read_stops_the_last_step() {
    let open = CheckFacts {
        written: 512,
        thp: Some(ThpMode::Madvise),
        under_never: false,
        huge: false,
        swapped: 0,
        shared: 0,
        file: 0,
        holes: false,
        write_protected: 0,
        populated: 461,
        min_populated: 461,
        free_huge: None,
    };
    let reason = |facts: CheckFacts| check(&facts, Asked::Binding);
    assert_eq!(reason(open), None);
    assert_eq!(reason(CheckFacts { thp: None, ..open }), Some(SkipReason::OperatorNever));
    assert_eq!(reason(CheckFacts { populated: 460, ..open }), Some(SkipReason::Shrunk));
    let both = CheckFacts { shared: 1, free_huge: Some(0), ..open };
    assert_eq!(reason(both), Some(SkipReason::SharedPages));
}

#[test]
fn scopes_stand_together_and_each_gate_is_named_once_in_its_scope() {
    let scopes: Vec<_> = GATES.iter().map(Gate::scope).collect();
    let mut runs = scopes.clone();
    runs.dedup();
    assert_eq!(runs.len(), scopes.iter().collect::<BTreeSet<_>>().len());
    let mut seen = BTreeSet::new();
    for gate in GATES {
        assert!(!gate.closed_when.is_empty());
        assert!(seen.insert((gate.scope(), gate.closed_when)), "{}", gate.closed_when);
    }
}

#[test]
fn a_few_folios_on_the_machine_are_no_reason_to_leave_regions_alone() {
    let has = |mode, folios| {
        let (size, folios) = (Bytes::kib(64), Some(folios));
        let size = SizeSample {
            size,
            mode,
            folios,
            partially_mapped: None,
            faults: None,
            fallbacks: None,
            splits: None,
            fmfi: None,
            collapses: None,
        };
        MachineSample { sizes: vec![size], ..MachineSample::example() }.has_multi_size_folios()
    };
    assert!(!has(ThpMode::Never, 63) && has(ThpMode::Never, 64));
    assert!(has(ThpMode::Always, 0));
}
