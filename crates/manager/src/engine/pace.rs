//! Who is served next, and when.

use super::claims::{Claim, Claims, differ, least_worked_first, strongest_first};
use crate::decision::{Action, Motive, Queues};
use crate::limits::budgets;
use crate::reason::Limit;
use crate::state::{State, Target};
use hugewise_base::units::{Ns, ProcId, saturating_u64};
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

/// Own CPU of the re-check before a promotion.
const CHECK_NS: f64 = 100_000.0;

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
    claim: Claim,
    /// Of a split: how much of a huge page comes back, in quarters.
    quarters: u32,
    pressed: bool,
    /// Of a split: CPU time of splits lately for its user, and for its cgroup; 0 while memory is
    /// short for everybody.
    had: (f64, f64),
    /// How often it can be served before the end of the tick.
    turns: u64,
}

impl Bid {
    /// Turns that it, or its group at this level, has before its claim is as weak as that of
    /// `other`: M falls with what is held.
    fn lacks(&self, other: &Self, level: usize) -> u64 {
        let (own, other) = (self.claim[level], other.claim[level]);
        saturating_u64((own.held.max(1) as f64 * (own.claim / other.claim - 1.0)).ceil())
    }

    /// Whether its claim is the stronger one.
    fn is_stronger(&self, other: &Self) -> bool {
        strongest_first(&self.claim, &other.claim).is_lt()
    }

    /// Whether this split comes before the other: that of the user who had less, then what is
    /// pressed, then that of the cgroup that had less, then what brings back more, and of what
    /// brings back about as much that of the weakest claim.
    fn beats(&self, other: &Self) -> bool {
        let key = |bid: &Self| {
            let (user, cgroup) = bid.had;
            (bid.turn.at, user, !bid.pressed, cgroup, Reverse(bid.quarters))
        };
        key(self) < key(other) || (key(self) == key(other) && other.is_stronger(self))
    }
}

/// Chooses among targets with work: of those that may be served now the one with the strongest
/// claim, else the one that may be served soonest. Promotions go to the user on whom least CPU time
/// was spent lately, and where blocks run out to the largest M; splits go by what they bring back
/// and then to the smallest. While memory is short for everybody a split comes before everything
/// else. Otherwise anybody can ask for splits without end: the two kinds take turns (`last`: what
/// was done before), and splits go round among users, then among cgroups. Notes in `limits` what
/// holds each target down.
///
/// Returns `None` when nobody can be served before `end`.
pub(super) fn next(
    state: &State,
    claims: &Claims,
    queues: &Queues,
    limits: &mut BTreeMap<ProcId, Limit>,
    last: Option<Action>,
    now: Ns,
    end: Ns,
) -> Option<Turn> {
    let huge = state.machine.geometry.huge.0 as f64;
    let budgets = &state.limits.budgets;
    // Own CPU of one promotion before one was seen.
    let cpu_prior = budgets::call_prior(state.machine.geometry).0 as f64 + CHECK_NS;
    let bytes = (budgets.bytes.ready_at(huge, now), Limit::QuotaBytes);
    limits.clear();
    let whole = state.machine.geometry.pages_per_huge();
    let short = state.limits.pressure.on_machine().is_some();
    let (mut promotions, mut split) = (Vec::new(), None::<Bid>);
    for (id, queue) in queues {
        let (id, Some(decision)) = (*id, queue.front()) else { continue };
        let Some(target) = state.programs.targets.get(&id) else { continue };
        let Some(claim) = claims.of(id, now) else { continue };
        let worked = match decision.action {
            Action::Demote if short => 0.0,
            _ => claim[0].worked,
        };
        let cpu = (budgets.ready_for(cpu_prior, worked, now), Limit::OwnCpu);
        let own = (target.lock_ready_at(decision.action, now), Limit::LockShare);
        let (at, limit) = [cpu, bytes].into_iter().fold(own, |a, b| if b.0 > a.0 { b } else { a });
        if at > now {
            limits.insert(id, limit);
        }
        if at > end {
            continue;
        }
        let bid = Bid {
            turn: Turn { target: id, at, action: decision.action },
            claim,
            quarters: 4 * u32::from(decision.waste) / whole.max(1),
            pressed: decision.motive == Motive::Pressure,
            had: match decision.action {
                Action::Demote if !short => had(state, target, now),
                _ => (0.0, 0.0),
            },
            turns: turns(target, queue.len(), at, end),
        };
        match decision.action {
            Action::Promote => promotions.push(bid),
            Action::Demote if split.as_ref().is_none_or(|best| bid.beats(best)) => {
                split = Some(bid);
            }
            Action::Demote => {}
        }
    }
    either(first(promotions, state.free_blocks()), split, last, short).map(|bid| bid.turn)
}

fn had(state: &State, target: &Target, now: Ns) -> (f64, f64) {
    let (uid, cgroup) = (target.sample.account(), target.sample.cgroup_key());
    (
        state.account.lately.splits.of_user(uid, now),
        state.account.lately.splits.of_cgroup(uid, &cgroup, now),
    )
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
    let order = if scarce.is_some() { strongest_first } else { least_worked_first };
    bids.sort_by(|a, b| a.turn.at.cmp(&b.turn.at).then_with(|| order(&a.claim, &b.claim)));
    let leaves_enough =
        |bid: &&Bid| scarce.is_none_or(|free| taken_before(&bids, bid) < free.max(1));
    bids.iter().find(leaves_enough).copied()
}

/// Blocks that those with a stronger claim than `bid` can take until theirs is as weak, or until
/// the end of the tick. What a group lacks its programs take together.
fn taken_before(bids: &[Bid], bid: &Bid) -> u64 {
    let mut groups = BTreeMap::<(usize, usize), (u64, u64)>::new();
    for other in bids.iter().filter(|other| other.is_stronger(bid)) {
        let Some(level) = differ(&other.claim, &bid.claim) else { continue };
        let group = groups.entry((level, other.claim[level].of)).or_default();
        *group = (other.lacks(bid, level), group.1.saturating_add(other.turns));
    }
    groups.values().map(|(lack, turns)| lack.min(turns)).sum()
}

fn either(
    promotion: Option<Bid>,
    split: Option<Bid>,
    last: Option<Action>,
    short: bool,
) -> Option<Bid> {
    let (Some(promotion), Some(split)) = (promotion, split) else { return promotion.or(split) };
    let split_first = (split.pressed && short) || last != Some(Action::Demote);
    Some(match split.turn.at.cmp(&promotion.turn.at) {
        Ordering::Less => split,
        Ordering::Greater => promotion,
        Ordering::Equal if split_first => split,
        Ordering::Equal => promotion,
    })
}
