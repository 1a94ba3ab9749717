//! Who is served next, and when.

use crate::base::units::{Ns, ProcId, saturating_u64};
use crate::manager::decision::{Action, Motive, Queues};
use crate::manager::limits::fair::metric;
use crate::manager::reason::Limit;
use crate::manager::state::{State, Target};
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

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
    /// What it holds, as far as that weakens its claim.
    held: u64,
    /// How often it can be served before the end of the tick.
    turns: u64,
}

impl Bid {
    /// Turns that it has before its claim is as weak as `other`: M falls with what it holds.
    fn turns_before(&self, other: f64) -> u64 {
        let lack = self.held.max(1) as f64 * (self.claim / other - 1.0);
        saturating_u64(lack.ceil()).min(self.turns)
    }

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
    let (mut promotions, mut split) = (Vec::new(), None::<Bid>);
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
        let held = held(state, target, now);
        let bid = Bid {
            turn: Turn { target: id, at, action: decision.action },
            claim: match decision.action {
                Action::Promote => metric(target.share, held, target.idle_share, TAU),
                Action::Demote => f64::from(decision.waste),
            },
            pressed: decision.motive == Motive::Pressure,
            held,
            turns: turns(target, queues.get(&id).map_or(0, VecDeque::len), at, end),
        };
        match decision.action {
            Action::Promote => promotions.push(bid),
            Action::Demote if split.as_ref().is_none_or(|best| bid.beats(best)) => {
                split = Some(bid);
            }
            Action::Demote => {}
        }
    }
    either(first(promotions, state.free_blocks()), split, last).map(|bid| bid.turn)
}

/// How often a program can be served from `at` until the end of the tick: its lock sets the pace.
fn turns(target: &Target, queue: usize, at: Ns, end: Ns) -> u64 {
    let each = target.lock.time_for(target.call.0 as f64).0.max(1);
    (1 + end.since(at).0 / each).min(queue as u64)
}

/// The promotion that comes first. Where free blocks are scarce it leaves as many as those with a
/// stronger claim can take until the end of the tick: they wait for their lock only, and would find
/// none otherwise.
fn first(mut bids: Vec<Bid>, free: Option<u64>) -> Option<Bid> {
    let wanted = bids.iter().map(|bid| bid.turns).sum::<u64>();
    let scarce = free.filter(|free| *free < wanted);
    bids.sort_by(|a, b| a.turn.at.cmp(&b.turn.at).then(b.claim.total_cmp(&a.claim)));
    let leaves_enough = |bid: &&Bid| {
        let stronger = bids.iter().filter(|other| other.claim > bid.claim);
        let needed = || stronger.map(|other| other.turns_before(bid.claim)).sum::<u64>();
        scarce.is_none_or(|free| needed() < free.max(1))
    };
    bids.iter().find(leaves_enough).copied()
}

/// What a program holds in the sense of the metric M. A user whose attempts come to nothing counts
/// as if each had given it some huge pages: else many programs with pinned memory would have as
/// many turns as all others together.
fn held(state: &State, target: &Target, now: Ns) -> u64 {
    let wasted = FRUITLESS * state.fruitless.of_user(target.sample.uid, now);
    target.held().saturating_add(saturating_u64(wasted))
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
