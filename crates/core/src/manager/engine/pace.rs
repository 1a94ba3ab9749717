//! Who is served next, and when.

use crate::base::units::{Ns, ProcId, saturating_u64};
use crate::manager::decision::{Action, Decision, Motive, Queues};
use crate::manager::limits::fair::metric;
use crate::manager::reason::Limit;
use crate::manager::state::{State, Target};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Idle penalty of the fairness metric: an idle huge page counts twice. Where nothing is known of
/// a program's use of memory, all its huge pages count as active.
const TAU: f64 = 0.5;
/// Huge pages that a user's attempt counts for that came to nothing: others then have four turns
/// of five.
const FRUITLESS: f64 = 4.0;
/// Own CPU of one promotion before one was seen: the call (0.7 ms) and its re-check.
const CPU_PRIOR: f64 = 800_000.0;

/// The next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// Whose queue is served.
    pub(super) target: ProcId,
    /// Not before this time.
    pub(super) at: Ns,
    /// What is done.
    pub(super) action: Action,
}

/// A turn that somebody could have: when, and how strong the claim is among others of its kind.
#[derive(Debug, Clone, Copy)]
struct Bid {
    turn: Turn,
    claim: f64,
    pressed: bool,
}

impl Bid {
    fn beats(&self, other: &Self) -> bool {
        let key = |bid: &Self| (bid.turn.at, !bid.pressed);
        key(self) < key(other) || (key(self) == key(other) && self.claim > other.claim)
    }
}

/// Chooses among targets with work: of those that may be served now the one with the strongest
/// claim, else the one that may be served soonest. Promotions go by the metric M, splits by what
/// they bring back; a split under pressure comes before everything else, and otherwise the two
/// kinds take turns (`last`: what was done before). Notes in `limits` what holds each target down.
///
/// Returns `None` when nobody can be served before `end`.
pub(super) fn next(
    state: &State,
    queues: &Queues,
    limits: &mut BTreeMap<ProcId, Limit>,
    last: Option<Action>,
    now: Ns,
    end: Ns,
) -> Option<Turn> {
    let huge = state.geometry.huge.0 as f64;
    let shared = [
        (state.budgets.cpu.ready_at(CPU_PRIOR, now), Limit::OwnCpu),
        (state.budgets.bytes.ready_at(huge, now), Limit::QuotaBytes),
    ];
    limits.clear();
    let (mut promotion, mut split): (Option<Bid>, Option<Bid>) = (None, None);
    for (id, decision) in queues.iter().filter_map(|(id, queue)| Some((*id, queue.front()?))) {
        let Some(target) = state.targets.get(&id) else { continue };
        let own = (target.lock_ready_at(decision.action, now), Limit::LockShare);
        let (at, limit) = shared.into_iter().fold(own, |a, b| if b.0 > a.0 { b } else { a });
        if at > now {
            limits.insert(id, limit);
        }
        if at > end {
            continue;
        }
        let bid = Bid {
            turn: Turn { target: id, at, action: decision.action },
            claim: claim(state, target, decision, now),
            pressed: decision.motive == Motive::Pressure,
        };
        let best = match decision.action {
            Action::Promote => &mut promotion,
            Action::Demote => &mut split,
        };
        if best.as_ref().is_none_or(|best| bid.beats(best)) {
            *best = Some(bid);
        }
    }
    either(promotion, split, last).map(|bid| bid.turn)
}

/// A user whose attempts come to nothing counts as if each had given it some huge pages: else many
/// programs with pinned memory would have as many turns as all others together.
fn claim(state: &State, target: &Target, decision: &Decision, now: Ns) -> f64 {
    match decision.action {
        Action::Promote => {
            let wasted = FRUITLESS * state.fruitless.of_user(target.sample.uid, now);
            let held = target.held().saturating_add(saturating_u64(wasted));
            metric(target.share, held, target.idle_share, TAU)
        }
        Action::Demote => f64::from(decision.waste),
    }
}

fn either(promotion: Option<Bid>, split: Option<Bid>, last: Option<Action>) -> Option<Bid> {
    let (Some(promotion), Some(split)) = (promotion, split) else { return promotion.or(split) };
    let split_first = split.pressed || last != Some(Action::Demote);
    Some(match split.turn.at.cmp(&promotion.turn.at) {
        Ordering::Less => split,
        Ordering::Greater => promotion,
        Ordering::Equal if split_first => split,
        Ordering::Equal => promotion,
    })
}
