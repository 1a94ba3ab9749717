//! From classes to queues: what is wanted, in which order, and what waits for which reason.

use crate::config::Config;
use crate::policy::eligible::{Class, Thresholds, classify};
use crate::policy::{Action, Decision, Motive, bloat, giveback};
use crate::reason::SkipReason;
use crate::snapshot::ThpMode;
use crate::state::{State, Target};
use crate::units::{Bytes, Ns, ProcId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// At most so many decisions a target and tick; the rest is decided anew next time.
pub const QUEUE: usize = 256;

/// Wanted actions per target, best first.
pub type Queues = BTreeMap<ProcId, VecDeque<Decision>>;

/// Plans one tick: fills every target's `skips` and `kept` and returns the queues.
#[must_use]
pub fn plan(config: &Config, state: &mut State, now: Ns) -> Queues {
    let geometry = state.geometry;
    let thresholds = Thresholds::new(&config.promote, geometry);
    let footprint: Bytes = state.targets.values().map(|t| t.sample.anon).sum();
    let budget = |machine| bloat::budget(config, machine, footprint);
    state.bloat_budget = state.machine.as_ref().map(budget);
    let splits = giveback::candidates(config, state, footprint, now);
    let pledged = geometry.bytes(pledged_pages(state));
    let spent = bloat::total(state).known() + pledged;
    let mut room = state.bloat_budget.unwrap_or_default().saturating_sub(spent);
    let gate = gate(config, state, now);
    let warm = state.warm.wanted(config.promote.warm);

    let blind = state.frames_hidden;
    let mut candidates = Vec::new();
    for (id, target) in &mut state.targets {
        target.skips = target.excluded.clone();
        if let Some(reason) = target.refused {
            // What was known of it before may no longer be true.
            *target.skips.entry(reason).or_default() += target.regions.len() as u64;
            continue;
        }
        collect(*id, target, (thresholds, blind), now, &mut candidates);
    }
    // Waste of what is promoted in any case comes out of the same budget, first.
    let waste = |decision: &Decision| geometry.bytes(decision.waste.into());
    for decision in candidates.iter().filter(|d| d.motive == Motive::Utilization) {
        room = room.saturating_sub(waste(decision));
    }
    candidates.sort_by_key(|d| (Reverse(d.populated), d.target, d.region));

    let mut wanted = Queues::new();
    for decision in candidates {
        let waits = state.targets.get(&decision.target).map(|t| state.cgroup_waits(t, now));
        let Some(target) = state.targets.get_mut(&decision.target) else {
            continue;
        };
        let over = decision.motive == Motive::BloatBudget && waste(&decision) > room;
        let short = state.pressure.on(&target.sample.cgroup_key()).is_some();
        let reason = match gate {
            Some(reason) => reason,
            None if waits == Some(true) => SkipReason::CgroupBackoff,
            None if short => SkipReason::CgroupLowMemory,
            None if over => SkipReason::OverBloatBudget,
            None => SkipReason::Scheduled,
        };
        *target.skips.entry(reason).or_default() += 1;
        let queue = wanted.entry(decision.target).or_default();
        if reason == SkipReason::Scheduled && queue.len() < QUEUE {
            if decision.motive == Motive::BloatBudget {
                room = room.saturating_sub(waste(&decision));
            }
            queue.push_back(Decision { warm, ..decision });
        }
    }
    in_turns(splits, wanted)
}

/// One queue per target: a split and a promotion in turns, so that neither starves.
fn in_turns(splits: Vec<Decision>, mut promotions: Queues) -> Queues {
    let mut queues = Queues::new();
    for split in splits {
        let queue = queues.entry(split.target).or_default();
        if queue.len() < QUEUE {
            queue.push_back(split);
            let next = promotions.get_mut(&split.target).and_then(VecDeque::pop_front);
            queue.extend(next);
        }
    }
    for (target, rest) in promotions {
        let queue = queues.entry(target).or_default();
        let room = QUEUE.saturating_sub(queue.len());
        queue.extend(rest.into_iter().take(room));
    }
    queues.retain(|_, queue| !queue.is_empty());
    queues
}

/// Waste that decisions would have caused had anybody carried them out (mode `observe`, dry run):
/// without it those modes would spend the budget anew in every tick.
fn pledged_pages(state: &State) -> u64 {
    let whole = state.geometry.pages_per_huge();
    let regions = state.targets.values().flat_map(|target| target.regions.values());
    let withheld = regions.filter(|region| {
        !region.huge && region.hold.is_some_and(|h| h.reason == SkipReason::WithheldByMode)
    });
    withheld.map(|region| u64::from(whole.saturating_sub(region.populated.into()))).sum()
}

fn collect(
    id: ProcId,
    target: &mut Target,
    (thresholds, blind): (Thresholds, bool),
    now: Ns,
    candidates: &mut Vec<Decision>,
) {
    for (at, region) in &target.regions {
        let (motive, min_populated) = match classify(region, thresholds, blind, now) {
            Class::Huge => continue,
            Class::Skip(reason) => {
                *target.skips.entry(reason).or_default() += 1;
                continue;
            }
            Class::Always => (Motive::Utilization, thresholds.always),
            Class::Budget => (Motive::BloatBudget, region.populated),
        };
        candidates.push(Decision {
            target: id,
            region: *at,
            mapping: region.mapping,
            action: Action::Promote,
            motive,
            populated: region.populated,
            waste: thresholds.whole.saturating_sub(region.populated),
            min_populated,
            warm: false,
        });
    }
}

/// Takes back what must not be done any more: promotions of everybody while the gate is closed,
/// and those of a cgroup that waits.
pub fn withdraw(queues: &mut Queues, config: &Config, state: &State, now: Ns) {
    let closed = gate(config, state, now).is_some();
    for (id, queue) in queues.iter_mut() {
        let target = state.targets.get(id).filter(|target| target.refused.is_none());
        if target.is_none() || state.paused {
            queue.clear();
        } else if closed || target.is_some_and(|target| state.cgroup_waits(target, now)) {
            queue.retain(|decision| decision.action != Action::Promote);
        }
    }
    queues.retain(|_, queue| !queue.is_empty());
}

/// A reason for which nothing at all is promoted now.
#[must_use]
pub fn gate(config: &Config, state: &State, now: Ns) -> Option<SkipReason> {
    let machine = state.machine.as_ref()?;
    if state.paused {
        return Some(SkipReason::Paused);
    }
    match machine.thp {
        None => return Some(SkipReason::NoThp),
        Some(ThpMode::Never) if !config.promote.allow_under_never => {
            return Some(SkipReason::OperatorNever);
        }
        Some(_) => {}
    }
    if state.pressure.on_machine().is_some() {
        return Some(SkipReason::LowMemory);
    }
    if state.allocation.active(now).is_some() {
        return Some(SkipReason::AllocationBackoff);
    }
    (machine.free_huge == Some(0)).then_some(SkipReason::NoFreeHugePage)
}
