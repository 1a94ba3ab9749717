//! Who is served next, and when.

use crate::policy::fair::metric;
use crate::policy::plan::Queues;
use crate::reason::Limit;
use crate::state::State;
use crate::units::{Ns, ProcId};

/// Idle penalty of the fairness metric. Access tracking does not exist yet, so every huge page
/// counts as active and the value only scales all metrics alike.
const TAU: f64 = 0.5;
/// Own CPU of one promotion before one was seen: the call (0.7 ms) and its re-check.
const CPU_PRIOR: f64 = 800_000.0;

/// The next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Whose queue is served.
    pub target: ProcId,
    /// Not before this time.
    pub at: Ns,
}

/// Chooses among targets with work: of those that may be served now the one with the largest
/// metric M, else the one that may be served soonest. Notes for each target what it waits for.
///
/// Returns `None` when nobody can be served before `end`.
pub fn next(state: &mut State, queues: &Queues, now: Ns, end: Ns) -> Option<Turn> {
    let shared = [
        (state.cpu.ready_at(CPU_PRIOR, now), Limit::OwnCpu),
        (state.bytes.ready_at(state.geometry.huge.0 as f64, now), Limit::QuotaBytes),
    ];
    let mut best: Option<(Turn, f64)> = None;
    for (id, target) in &mut state.targets {
        target.limit = None;
        if queues.get(id).is_none_or(|queue| queue.is_empty()) {
            continue;
        }
        let own = (target.lock.ready_at(target.call.0 as f64, now), Limit::LockShare);
        let (at, limit) = shared.into_iter().fold(own, |a, b| if b.0 > a.0 { b } else { a });
        target.limit = (at > now).then_some(limit);
        let claim = metric(target.share, target.huge(), 0.0, TAU);
        let better =
            best.is_none_or(|(turn, rival)| at < turn.at || (at == turn.at && claim > rival));
        if at <= end && better {
            best = Some((Turn { target: *id, at }, claim));
        }
    }
    best.map(|(turn, _)| turn)
}
