//! Policies that decide beside the one in force and change nothing.
//!
//! In each tick a shadow sees the same view. Of every target it is granted as many promotions as
//! the active policy had: what one of the two chose and the other did not is remembered, until a
//! later look shows how the program uses it. Then the journal says who chose better.

use crate::config::{Config, PolicyKind};
use crate::decision::{Action, Decision};
use crate::policy::{self, Policy, View};
use crate::record::Record;
use crate::state::{State, Target};
use hugewise_base::units::{Addr, Geometry, Ns, ProcId};
use std::collections::{BTreeMap, BTreeSet};

/// Most regions of a target that wait for their use to be known; the oldest are not scored.
const WAITING: usize = 4_096;

/// One policy beside the active one.
#[derive(Debug)]
pub(super) struct Shadow {
    kind: PolicyKind,
    policy: Box<dyn Policy>,
    /// What waits to be scored, by target.
    open: BTreeMap<ProcId, Open>,
}

/// Regions on which two policies did not agree.
#[derive(Debug, Default)]
struct Open {
    since: Ns,
    both: u64,
    active: Vec<Addr>,
    shadow: Vec<Addr>,
}

/// What the active policy promoted in a tick, and what each shadow would have.
#[derive(Debug, Default)]
pub(super) struct Beside {
    promoted: BTreeMap<ProcId, Vec<Addr>>,
    wanted: Vec<BTreeMap<ProcId, Vec<Addr>>>,
}

/// The shadows that the configuration wants.
pub(super) fn all(config: &Config) -> Vec<Shadow> {
    let kinds: BTreeSet<_> = config.policy.shadow.iter().copied().collect();
    let others = kinds.into_iter().filter(|kind| *kind != config.policy.active);
    others.map(|kind| Shadow { kind, policy: policy::of(kind), open: BTreeMap::new() }).collect()
}

/// The active policy's decision was carried out, or withheld.
pub(super) fn note(beside: &mut Beside, decision: &Decision) {
    if decision.action == Action::Promote && !beside.wanted.is_empty() {
        beside.promoted.entry(decision.target).or_default().push(decision.region);
    }
}

/// What the shadows want.
pub(super) fn plans(shadows: &[Shadow], config: &Config, view: &View<'_>, now: Ns) -> Beside {
    let plan = |shadow: &Shadow| {
        let queues = shadow.policy.plan(config, view, now).queues.into_iter();
        let regions = queues.map(|(id, queue)| {
            let promotions = queue.iter().filter(|d| d.action == Action::Promote);
            (id, promotions.map(|decision| decision.region).collect())
        });
        regions.collect()
    };
    Beside { promoted: BTreeMap::new(), wanted: shadows.iter().map(plan).collect() }
}

/// Says what is known by now of earlier cases, and remembers where they did not agree this time:
/// in this order, for what this tick's choices were made from says nothing new of them.
pub(super) fn compare(
    shadows: &mut [Shadow],
    beside: Beside,
    state: &State,
    now: Ns,
) -> Vec<Record> {
    let mut records = Vec::new();
    for (shadow, mut wanted) in shadows.iter_mut().zip(beside.wanted) {
        let kind = shadow.kind;
        shadow.open.retain(|id, open| {
            let Some(target) = state.targets.get(id) else { return false };
            let looked = target.looks.last().is_some_and(|(_, at)| at > open.since);
            if !looked && target.hinted.is_empty() {
                return true;
            }
            records.push(open.record(kind, target, state.geometry));
            false
        });
        for (id, promoted) in &beside.promoted {
            let mut chosen = wanted.remove(id).unwrap_or_default();
            chosen.truncate(promoted.len());
            shadow.differ(*id, promoted, &chosen, now);
        }
    }
    records
}

impl Open {
    /// How much of what they did not agree on is accessed.
    fn record(&self, policy: PolicyKind, target: &Target, geometry: Geometry) -> Record {
        let accessed = |regions: &[Addr]| {
            let known = regions.iter().filter_map(|at| target.usage(*at, geometry));
            let (sum, n) =
                known.fold((0.0, 0_u32), |(sum, n), used| (sum + used.coverage(), n + 1));
            (n > 0).then(|| 100.0 * sum / f64::from(n))
        };
        Record::Shadow {
            policy,
            target: target.sample.id,
            both: self.both,
            differ: self.active.len().max(self.shadow.len()) as u64,
            active_accessed_percent: accessed(&self.active),
            shadow_accessed_percent: accessed(&self.shadow),
        }
    }
}

impl Shadow {
    fn differ(&mut self, id: ProcId, active: &[Addr], shadow: &[Addr], now: Ns) {
        let open = self.open.entry(id).or_insert_with(|| Open { since: now, ..Open::default() });
        let (active, shadow): (BTreeSet<_>, BTreeSet<_>) =
            (active.iter().copied().collect(), shadow.iter().copied().collect());
        open.both += active.intersection(&shadow).count() as u64;
        open.active.extend(active.difference(&shadow));
        open.shadow.extend(shadow.difference(&active));
        // A region that both came to in the end, in another order, differs once on each side.
        for side in [&mut open.active, &mut open.shadow] {
            let old = side.len().saturating_sub(WAITING);
            side.drain(..old);
        }
    }
}
