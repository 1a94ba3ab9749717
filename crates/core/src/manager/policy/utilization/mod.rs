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
pub mod giveback;

use super::ledger::Ledger;
use super::{Plan, Policy, Reasons, View};
use crate::base::units::{Bytes, Ns, ProcId};
use crate::manager::config::Config;
use crate::manager::decision::{Action, Decision, Motive, Queues};
use crate::manager::reason::SkipReason;
use crate::manager::state::bloat::Waste;
use crate::manager::state::{Region, Target};
use eligible::{Class, classify};
use giveback::SplitRule;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// At most so many decisions a target and tick; the rest is decided anew next time.
pub const QUEUE: usize = 256;

/// Promotes well-used regions, the fullest first, and splits what wastes too much.
#[derive(Debug, Clone, Copy, Default)]
pub struct Utilization;

impl Policy for Utilization {
    fn plan(&self, config: &Config, view: &View<'_>, now: Ns) -> Plan {
        let footprint: Bytes = view.targets.values().map(|target| target.sample.anon).sum();
        let bloat_budget = view.machine.map(|machine| budget::budget(config, machine, footprint));
        let mut survey = Survey::of(config, view, now);
        let candidates = std::mem::take(&mut survey.splits);
        let bound = budget::bound(config, footprint);
        let (splits, giving_back) = giveback::choose(candidates, bound, view, &mut survey.reasons);
        let spent = view.geometry.bytes(survey.wasted_pages + survey.pledged_pages);
        let room = bloat_budget.unwrap_or_default().saturating_sub(spent);
        let promotions = survey.choose_promotions(room, view, now);
        let queues = in_turns(splits, promotions);
        let ledger = Ledger::expected(view, &queues);
        Plan { queues, reasons: survey.reasons, giving_back, bloat_budget, ledger }
    }
}

/// What one walk over all regions shows.
#[derive(Debug, Default)]
struct Survey {
    promotions: Vec<Decision>,
    splits: Vec<Decision>,
    reasons: BTreeMap<ProcId, Reasons>,
    /// Waste that is known.
    wasted_pages: u64,
    /// Waste that decisions would have caused had anybody carried them out (mode `observe`, dry
    /// run): without it those modes would spend the budget anew in every tick.
    pledged_pages: u64,
}

impl Survey {
    fn of(config: &Config, view: &View<'_>, now: Ns) -> Self {
        let mut survey = Self::default();
        let rule = SplitRule::new(config, view, now);
        for (id, target) in view.targets {
            let reasons = survey.target(*id, target, &rule, view, now);
            survey.reasons.insert(*id, reasons);
        }
        survey
    }

    fn target(
        &mut self,
        id: ProcId,
        target: &Target,
        rule: &SplitRule,
        view: &View<'_>,
        now: Ns,
    ) -> Reasons {
        let not_promoted = target.excluded.clone();
        let mut reasons = Reasons { not_promoted, ..Reasons::default() };
        let pressed = view.pressure.on(&target.sample.cgroup_key()).is_some();
        for (at, region) in &target.regions {
            let waste = region.waste(view.geometry);
            if let Waste::Known(pages, _) = waste {
                self.wasted_pages += u64::from(pages);
            }
            self.pledged_pages += pledged_pages(region, view.thresholds.whole);
            if target.refused.is_some() {
                continue;
            }
            let decision = |action, motive, waste, min_populated| Decision {
                target: id,
                region: *at,
                mapping: region.mapping,
                action,
                motive,
                populated: region.populated,
                waste,
                min_populated,
                warm: false,
            };
            match rule.judge(region, waste, pressed) {
                None => {}
                Some(Err(reason)) => reasons.not_split(reason),
                Some(Ok((motive, waste))) => {
                    self.splits.push(decision(Action::Demote, motive, waste, 0));
                }
            }
            let (motive, min_populated) =
                match classify(region, view.thresholds, view.frames_hidden, now) {
                    Class::Huge => continue,
                    Class::Skip(reason) => {
                        reasons.not_promoted(reason);
                        continue;
                    }
                    Class::Always => (Motive::Utilization, view.thresholds.always),
                    Class::Budget => (Motive::BloatBudget, region.populated),
                };
            let waste = view.thresholds.whole.saturating_sub(region.populated);
            self.promotions.push(decision(Action::Promote, motive, waste, min_populated));
        }
        if let Some(reason) = target.refused {
            // What was known of it before may no longer be true.
            *reasons.not_promoted.entry(reason).or_default() += target.regions.len() as u64;
        }
        reasons
    }

    /// Promotions that nothing speaks against, per target, the fullest region first; `room` is
    /// what is left of the bloat budget.
    fn choose_promotions(&mut self, mut room: Bytes, view: &View<'_>, now: Ns) -> Queues {
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
            reasons.not_promoted(reason.unwrap_or(SkipReason::Scheduled));
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

/// Pages that a withheld promotion of this region would have wasted.
fn pledged_pages(region: &Region, whole: u16) -> u64 {
    let withheld = region
        .waits
        .no_promote_until
        .is_some_and(|wait| !region.huge && wait.reason == SkipReason::WithheldByMode);
    if withheld { whole.saturating_sub(region.populated).into() } else { 0 }
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
