//! The policy in force: a region is promoted for its utilization, and split for its waste.
//!
//! * [`eligible`]: what each region is: wanted always, wanted if the bloat budget allows, or left
//!   alone for a named reason;
//! * [`budget`]: how much waste may be caused, and from where on it is taken back;
//! * [`giveback`]: which huge pages are split, and why the others are not.
//!
//! Properties that hold with it, checked by the simulator over thousands of seeds: waste within
//! the budget, no flapping, and every region that stays as it is has a reason.

pub mod budget;
pub mod eligible;
mod findings;
pub mod giveback;

use super::ledger::Ledger;
use super::{AllReasons, Plan, Policy, View};
use crate::base::units::{Bytes, Ns, ProcId};
use crate::manager::config::Config;
use crate::manager::decision::{Decision, Motive, Queues};
use crate::manager::reason::SkipReason;
use findings::{Conditions, Findings, Known};
use giveback::SplitRule;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Findings with more decisions than this are not remembered: they change with the next one.
const FEW: usize = 4 * QUEUE;

/// At most so many decisions a target and tick; the rest is decided anew next time.
pub const QUEUE: usize = 256;

/// Promotes well-used regions, the fullest first, and splits what wastes too much.
#[derive(Debug, Clone, Default)]
pub struct Utilization {
    /// What targets came to at an earlier time, so that a plan costs as much as has changed.
    known: RefCell<BTreeMap<ProcId, Known>>,
}

impl Policy for Utilization {
    fn plan(&self, config: &Config, view: &View<'_>, now: Ns) -> Plan {
        let footprint: Bytes = view.targets.values().map(|target| target.sample.anon).sum();
        let bloat_budget = view.machine.map(|machine| budget::budget(config, machine, footprint));
        let mut survey = Survey::of(config, view, &mut self.known.borrow_mut(), now);
        let candidates = std::mem::take(&mut survey.splits);
        let bound = budget::bound(config, footprint);
        let (splits, giving_back) = giveback::choose(candidates, bound, view, &mut survey.reasons);
        let spent = view.geometry.bytes(survey.wasted_pages + survey.pledged_pages);
        let room = bloat_budget.unwrap_or_default().saturating_sub(spent);
        let promotions = survey.choose_promotions(room, view, now);
        let queues = in_turns(splits, promotions);
        let more = queues.values().any(|queue| queue.len() >= QUEUE);
        let ledger = Ledger::expected(view, &queues);
        let (reasons, until) = (survey.reasons, survey.until);
        Plan { queues, more, until, reasons, giving_back, bloat_budget, ledger }
    }
}

/// What all regions show.
#[derive(Debug, Default)]
struct Survey {
    promotions: Vec<Decision>,
    splits: Vec<Decision>,
    reasons: AllReasons,
    /// Waste that is known.
    wasted_pages: u64,
    /// Waste that decisions would have caused had anybody carried them out (mode `observe`, dry
    /// run): without it those modes would spend the budget anew in every tick.
    pledged_pages: u64,
    /// Until then nothing changes by time alone.
    until: Option<Ns>,
}

impl Survey {
    fn of(config: &Config, view: &View<'_>, known: &mut BTreeMap<ProcId, Known>, now: Ns) -> Self {
        let mut survey = Self::default();
        let rule = SplitRule::new(config, view, now);
        known.retain(|id, _| view.targets.contains_key(id));
        for (id, target) in view.targets {
            let conditions = Conditions::of(target, view, rule);
            let earlier = known.get(id).filter(|known| known.holds(conditions, now));
            if let Some(earlier) = earlier {
                survey.add(*id, earlier.findings.clone());
                continue;
            }
            let findings = Findings::of(*id, target, conditions, now);
            if findings.promotions.len() + findings.splits.len() <= FEW {
                known.insert(*id, Known { conditions, findings: findings.clone() });
            } else {
                known.remove(id);
            }
            survey.add(*id, findings);
        }
        survey
    }

    fn add(&mut self, id: ProcId, findings: Findings) {
        self.promotions.extend(findings.promotions);
        self.splits.extend(findings.splits);
        self.wasted_pages += findings.wasted_pages;
        self.pledged_pages += findings.pledged_pages;
        self.until = self.until.into_iter().chain(findings.until).min();
        self.reasons.insert(id, findings.reasons);
    }

    /// Promotions that nothing speaks against, per target, the fullest region first; `room` is
    /// what is left of the bloat budget.
    fn choose_promotions(&mut self, mut room: Bytes, view: &View<'_>, now: Ns) -> Queues {
        if self.promotions.is_empty() {
            return Queues::new();
        }
        // Waste of what is promoted in any case comes out of the same budget, first.
        let waste = |decision: &Decision| view.geometry.bytes(decision.waste.into());
        for decision in self.promotions.iter().filter(|d| d.motive == Motive::Utilization) {
            room = room.saturating_sub(waste(decision));
        }
        // Of equally full regions one of whoever holds least: the budget is spent in this order.
        let held: BTreeMap<_, _> = view.targets.iter().map(|(id, t)| (*id, t.held())).collect();
        let rank = |d: &Decision| held.get(&d.target).copied();
        self.promotions.sort_by_cached_key(|d| (Reverse(d.populated), rank(d), d.target, d.region));
        let barred: BTreeMap<_, _> = view
            .targets
            .iter()
            .map(|(id, target)| (*id, view.target_barred(target, now)))
            .collect();
        let mut wanted = Queues::new();
        for decision in self.promotions.drain(..) {
            let paid = decision.motive == Motive::BloatBudget;
            let barred = barred.get(&decision.target).copied().flatten();
            let over = (paid && waste(&decision) > room).then_some(SkipReason::OverBloatBudget);
            let reason = view.promotion_barred.or(barred).or(over);
            let reasons = self.reasons.entry(decision.target).or_default();
            Arc::make_mut(reasons).not_promoted(reason.unwrap_or(SkipReason::Scheduled));
            let queue = wanted.entry(decision.target).or_default();
            if reason.is_none() && queue.len() < QUEUE {
                if paid {
                    room = room.saturating_sub(waste(&decision));
                }
                queue.push_back(decision);
            }
        }
        wanted
    }
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
