//! Policies that look at every region of every target ([`ByRegion`]): a region is promoted for its
//! utilization or its use, and split for its waste.
//!
//! * [`gate`]: whether a region may be promoted, and if not, why not;
//! * [`budget`]: how much waste may be caused, and from where on it is taken back;
//! * [`giveback`]: which huge pages are split, and why the others are not.
//!
//! Properties that hold with `worth` and `utilization`, checked by the simulator over thousands of
//! seeds: waste within the budget, no flapping, and every region that stays as it is has a reason.

pub mod budget;
mod candidate;
mod findings;
pub mod giveback;
mod scarcity;

use super::contiguity;
use super::ledger::Ledger;
use super::{AllReasons, Plan, Policy, View};
use crate::config::{Config, PolicyKind};
use crate::decision::{Decision, Motive, Queues};
use crate::gate::{self, Asked, PriceFacts};
use crate::limits::thresholds::Thresholds;
use crate::policy::worth::Value;
use crate::reason::SkipReason;
use crate::state::unwritten::Estimate;
use candidate::{Candidate, Order};
use findings::{Conditions, Findings, Known};
use giveback::SplitRule;
use hugewise_base::units::{Bytes, Ns, ProcId};
use scarcity::Scarcity;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Findings with more decisions than this are not remembered: they change with the next one.
const FEW: usize = 4 * QUEUE;

/// At most so many decisions a target and tick; the rest is decided anew next time.
pub const QUEUE: usize = 256;

/// Promotes well-used regions, and splits what wastes too much.
#[derive(Debug, Clone)]
pub struct ByRegion {
    kind: PolicyKind,
    /// What targets came to at an earlier time, so that a plan costs as much as has changed.
    known: RefCell<BTreeMap<ProcId, Known>>,
}

impl ByRegion {
    /// The policy of this kind.
    pub fn new(kind: PolicyKind) -> Self {
        Self { kind, known: RefCell::default() }
    }

    const fn order(&self) -> Order {
        match self.kind {
            PolicyKind::Worth => Order::Accessed,
            PolicyKind::Utilization => Order::Populated,
            PolicyKind::Paper => Order::Address,
        }
    }

    /// The thresholds of this policy: Ingens promotes what is touched while memory is not
    /// fragmented, and else only what is well used.
    fn view<'a>(&self, config: &Config, view: &View<'a>) -> View<'a> {
        let mut view = *view;
        if self.kind == PolicyKind::Paper {
            let fmfi = view.machine.and_then(|machine| machine.fmfi);
            let greedy = fmfi.is_some_and(|fmfi| fmfi < config.watermark.fmfi_high);
            let least = if greedy { 1 } else { view.thresholds.always };
            view.thresholds = Thresholds { always: least, budget: least, ..view.thresholds };
        }
        view
    }
}

impl Policy for ByRegion {
    fn afresh(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(Self::new(self.kind)))
    }

    fn plan(&self, config: &Config, view: &View<'_>, now: Ns) -> Plan {
        let view = &self.view(config, view);
        let footprint: Bytes = view.targets.values().map(|target| target.sample.anon).sum();
        let bloat_budget = view.machine.map(|machine| budget::budget(config, machine, footprint));
        let known = &mut self.known.borrow_mut();
        let mut survey = Survey::of(config, view, self.order(), known, now);
        let candidates = std::mem::take(&mut survey.splits);
        let bound = budget::bound(config, view.machine, footprint);
        let (splits, giving_back) = giveback::choose(candidates, bound, view, &mut survey.reasons);
        let spent = view.geometry.bytes(survey.wasted_pages + survey.pledged_pages);
        // Ingens as published bounds no bloat.
        let covers_full = config.promote.budget_covers_full && self.kind != PolicyKind::Paper;
        let full = if covers_full { bound.saturating_sub(spent) } else { Bytes(u64::MAX) };
        let paid = bloat_budget.unwrap_or_default().saturating_sub(spent);
        let room = Room { full, paid };
        let promotions = survey.choose_promotions(config, room, view, now);
        let queues = in_turns(splits, promotions);
        let more = queues.values().any(|queue| queue.len() >= QUEUE);
        let (reasons, until) = (survey.reasons, survey.until);
        let compaction = contiguity::wanted(survey.starved, view.machine);
        let ledger = Ledger::expected(view, &queues, compaction);
        let unwritten = survey.unwritten;
        Plan {
            queues,
            compaction,
            more,
            until,
            reasons,
            giving_back,
            bloat_budget,
            bloat_bound: Some(bound),
            wasted: Some(view.geometry.bytes(survey.wasted_pages)),
            unwritten,
            ledger,
        }
    }
}

/// What all regions show.
#[derive(Debug, Default)]
struct Survey {
    promotions: Vec<Candidate>,
    splits: Vec<Candidate>,
    /// What each target's use of its memory is worth, where that is asked.
    values: BTreeMap<ProcId, Value>,
    reasons: AllReasons,
    /// Waste that is known.
    wasted_pages: u64,
    /// Waste that decisions would have caused had anybody carried them out (mode `observe`, dry
    /// run): without it those modes would spend the budget anew in every tick.
    pledged_pages: u64,
    /// Pages of regions that are not huge that hold only zeros; `None`: none was sampled.
    unwritten: Option<Estimate>,
    /// Regions that would be promoted if there were free blocks.
    starved: u64,
    /// Until then nothing changes by time alone.
    until: Option<Ns>,
}

impl Survey {
    fn of(
        config: &Config,
        view: &View<'_>,
        order: Order,
        known: &mut BTreeMap<ProcId, Known>,
        now: Ns,
    ) -> Self {
        let mut survey = Self::default();
        let rule = SplitRule::new(config, view, now);
        known.retain(|id, _| view.targets.contains_key(id));
        for (id, target) in view.targets {
            let value = |findings: &Findings| {
                Value::of(config, target.cpu_share, findings.accessed, view.geometry)
            };
            let conditions = Conditions::of(target, view, rule, order);
            let earlier = known.get(id).filter(|known| known.holds(conditions, now));
            if let Some(earlier) = earlier {
                survey.values.insert(*id, value(&earlier.findings));
                survey.add(*id, earlier.findings.clone());
                continue;
            }
            let findings = Findings::of(*id, target, conditions, now);
            if findings.promotions.len() + findings.splits.len() <= FEW {
                known.insert(*id, Known { conditions, findings: findings.clone() });
            } else {
                known.remove(id);
            }
            survey.values.insert(*id, value(&findings));
            survey.add(*id, findings);
        }
        if order != Order::Accessed {
            survey.values.clear();
        }
        survey
    }

    fn add(&mut self, id: ProcId, findings: Findings) {
        self.promotions.extend(findings.promotions);
        self.splits.extend(findings.splits);
        self.wasted_pages += findings.wasted_pages;
        self.pledged_pages += findings.pledged_pages;
        self.until = self.until.into_iter().chain(findings.until).min();
        if let Some(estimate) = findings.small.estimate() {
            *self.unwritten.get_or_insert_default() += estimate;
        }
        self.reasons.insert(id, findings.reasons);
    }

    /// Promotions that nothing speaks against, per target, those of the highest rank first.
    fn choose_promotions(
        &mut self,
        config: &Config,
        mut room: Room,
        view: &View<'_>,
        now: Ns,
    ) -> Queues {
        if self.promotions.is_empty() {
            return Queues::new();
        }
        let waste = |decision: &Decision| view.geometry.bytes(decision.waste.into());
        let paid = |candidate: &Candidate| candidate.decision.motive == Motive::BloatBudget;
        // Of equally worthy regions one of whoever holds least: the budget is spent in this order.
        let held: BTreeMap<_, _> = view.targets.iter().map(|(id, t)| (*id, t.held())).collect();
        self.promotions.sort_by_cached_key(|candidate| {
            let Decision { target, region, .. } = candidate.decision;
            let holds = held.get(&target).copied();
            (paid(candidate), Reverse(candidate.rank), holds, target, region)
        });
        let mut cgroup_gates = BTreeMap::new();
        for (id, target) in view.targets {
            cgroup_gates.insert(*id, gate::cgroup(&view.program(target, now), Asked::All));
        }
        let scarcity = Scarcity::of(&self.promotions, &self.values, config, view, now);
        let mut wanted = Queues::new();
        for candidate in std::mem::take(&mut self.promotions) {
            let outlook = scarcity.outlook(&self.values, &candidate, view);
            let decision = Decision { outlook, ..candidate.decision };
            let paid = paid(&candidate);
            let over_budget = !room.holds(waste(&decision), paid);
            let price = PriceFacts { over_budget, ..scarcity.price(&decision, paid, view) };
            let cgroup = cgroup_gates.get(&decision.target).copied().flatten();
            let own = cgroup.or_else(|| gate::price(&price, Asked::All));
            let reason = view.machine_gate.or(own);
            let starves = contiguity::starves(view.machine_gate, own);
            self.starved += u64::from(starves);
            let reasons = self.reasons.entry(decision.target).or_default();
            Arc::make_mut(reasons).not_promoted(reason.unwrap_or(SkipReason::Scheduled));
            let queue = wanted.entry(decision.target).or_default();
            if reason.is_none() {
                // What has to wait for room in the queue is still meant: nothing else may spend it.
                room.take(waste(&decision));
                if queue.len() < QUEUE {
                    queue.push_back(decision);
                }
            }
        }
        wanted
    }
}

/// What is left of the bloat budget.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// For regions at the threshold or above: all of it.
    full: Bytes,
    /// For those below: less where memory is fragmented.
    paid: Bytes,
}

impl Room {
    /// Whether so much waste fits in.
    fn holds(self, waste: Bytes, paid: bool) -> bool {
        waste <= if paid { self.paid } else { self.full }
    }

    fn take(&mut self, waste: Bytes) {
        self.full = self.full.saturating_sub(waste);
        self.paid = self.paid.saturating_sub(waste);
    }
}

/// One queue per target: a split and a promotion in turns, so that neither starves.
fn in_turns(splits: Vec<Candidate>, mut promotions: Queues) -> Queues {
    let mut queues = Queues::new();
    for Candidate { decision: split, .. } in splits {
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
