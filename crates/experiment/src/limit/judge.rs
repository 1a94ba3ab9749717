//! Which resource is the limit, and which one comes next.

use super::fit::{Capacity, capacity};
use super::resource::Resource;
use super::step::Step;
use crate::load::knee::{LATENCY_FACTOR, SERVED_SHARE};
use hugewise_base::stats::Interval;
use hugewise_base::units::{Ns, saturating_u64};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A p99 below this is never slow, however fast the lowest rate was answered. A judgement: a
/// turn of the scheduler takes as long on a busy machine.
const P99_FLOOR: Ns = Ns::ms(5);
/// A resource in use for this share is full (`busy_high_percent` of `diagnose`).
const FULL: f64 = 0.9;
/// A quota that is used up in so many of its periods makes requests wait. A judgement: half.
const QUOTA_FULL: f64 = 0.5;
/// Threads that use more than one CPU together do not work one at a time; a little more is what
/// they do without their lock.
const ONE_CPU_MAX: f64 = 1.1;
/// Resources that never use so much do not matter.
const SHARE_MIN: f64 = 0.02;
/// Rates so far beyond the limit say what is full there; much higher ones what a flood does.
const NEAR_LIMIT: f64 = 1.6;
/// Rates are 10 % apart, so that no rate is known better.
const RATE_ERROR: f64 = 0.1;

/// What a served rate must keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// 99 % are answered within that time; `None`: ten times that of the lowest rate.
    #[serde(rename = "p99_max_ns")]
    pub p99_max: Option<Ns>,
}

/// Whether a rate was served.
pub fn is_served(step: &Step, first: &Step, bounds: Bounds) -> bool {
    let usual =
        || first.p99.map(|p99| Ns(saturating_u64(p99.0 as f64 * LATENCY_FACTOR)).max(P99_FLOOR));
    let slow = bounds.p99_max.or_else(usual);
    let fast = step.p99.zip(slow).is_some_and(|(p99, slow)| p99 <= slow);
    fast && step.achieved_per_s >= SERVED_SHARE * step.offered_per_s
}

/// A resource, as all rates show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// Which.
    pub resource: Resource,
    /// How full it was at the limit, percent; of slots and connections what is estimated.
    pub used_percent: f64,
    /// Whether that is full.
    pub full: bool,
    /// Where it is full; `None` where its use does not grow with the rate.
    pub capacity: Option<Capacity>,
    /// Of interrupts: the vector that comes most often.
    pub mostly: Option<String>,
}

/// What removing the limit would give at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The resource that is full next.
    pub next: Resource,
    /// Answers in a second then.
    pub most_per_s: f64,
    /// Where the true value is expected.
    pub interval: Interval,
    /// How much more that is than now.
    pub gain_percent: f64,
}

/// What the rates say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The highest rate that was served, with every lower one.
    pub served_per_s: Option<f64>,
    /// The lowest rate that was not.
    pub unserved_per_s: Option<f64>,
    /// Most answers in a second, at any rate.
    pub most_per_s: Option<f64>,
    /// About how many requests are being served at a time then (Little's law, with the shortest
    /// mean time of a rate that was served: what disturbs a step only makes it longer).
    pub at_a_time: Option<f64>,
    /// What limits it; `None` where no rate was too high.
    pub limit: Option<ResourceUse>,
    /// All resources that were used, the one that is full first at the front.
    pub resources: Vec<ResourceUse>,
    /// What removing the limit would give; `None` where nothing else grows with the rate.
    pub gone: Option<Gain>,
}

/// Judges the rates that were tried; `connections` are those of the load.
pub fn judge(tried: &[Step], bounds: Bounds, connections: u32) -> Judged {
    let (served, unserved) = apart(tried, bounds);
    let most = tried.iter().map(|step| step.achieved_per_s).max_by(f64::total_cmp);
    let alone = served.iter().filter_map(|step| step.service).min().map(Ns::as_s);
    let at_a_time = most.zip(alone).map(|(most, alone)| most * alone);
    let lowest = unserved.iter().map(|step| step.rate_per_s).min_by(f64::total_cmp);
    let near = |step: &&&Step| lowest.is_some_and(|low| step.rate_per_s <= NEAR_LIMIT * low);
    let near: Vec<&Step> = unserved.iter().filter(near).copied().collect();
    let mut resources = resources(&served, &near, tried);
    resources.sort_by(|a, b| first_full(a).total_cmp(&first_full(b)));
    let full = resources.iter().find(|one| one.full).cloned();
    let slots = || Some(waiting(at_a_time?, most?, connections));
    let limit = lowest.and_then(|_| full.or_else(slots));
    let gone = limit.as_ref().zip(most).and_then(|(limit, most)| gain(limit, &resources, most));
    Judged {
        served_per_s: served.last().map(|step| step.rate_per_s),
        unserved_per_s: lowest,
        most_per_s: most,
        at_a_time,
        limit,
        resources,
        gone,
    }
}

/// The steps that were served with every lower rate, by rate, and those that were not.
fn apart(tried: &[Step], bounds: Bounds) -> (Vec<&Step>, Vec<&Step>) {
    let Some(first) = tried.first() else { return (Vec::new(), Vec::new()) };
    let ok = |step: &&Step| is_served(step, first, bounds);
    let rescued = |rate: f64| tried.iter().filter(ok).any(|step| step.rate_per_s == rate);
    let lost = |step: &&Step| !rescued(step.rate_per_s);
    let low = tried.iter().filter(lost).map(|step| step.rate_per_s).min_by(f64::total_cmp);
    let below = |step: &&Step| low.is_none_or(|low| step.rate_per_s < low);
    let mut served: Vec<&Step> = tried.iter().filter(ok).filter(below).collect();
    served.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let unserved = tried.iter().filter(|step| !below(step)).collect();
    (served, unserved)
}

/// Where a resource is full, for the order of resources.
fn first_full(one: &ResourceUse) -> f64 {
    one.capacity.map_or(if one.full { 0.0 } else { f64::MAX }, |capacity| capacity.per_s)
}

fn resources(served: &[&Step], unserved: &[&Step], all: &[Step]) -> Vec<ResourceUse> {
    let resources: BTreeSet<&Resource> =
        all.iter().flat_map(|step| step.used.iter().map(|used| &used.resource)).collect();
    let share = |step: &Step, resource: &Resource| {
        step.used.iter().find(|used| used.resource == *resource).map(|used| used.share)
    };
    let highest = |steps: &mut dyn Iterator<Item = &Step>, resource: &Resource| {
        steps.filter_map(|step| share(step, resource)).fold(0.0, f64::max)
    };
    let one = |resource: &Resource| {
        let ever = highest(&mut all.iter(), resource);
        let one_at_a_time = matches!(resource, Resource::OneAtATime { .. });
        if ever < SHARE_MIN || (one_at_a_time && ever > ONE_CPU_MAX) {
            return None;
        }
        let near = || unserved.iter().chain(served.last()).copied();
        let used = highest(&mut near(), resource);
        let points =
            served.iter().filter_map(|step| Some((step.achieved_per_s, share(step, resource)?)));
        let points: Vec<(f64, f64)> = points.collect();
        let capacity = capacity(&points);
        let known = near().flat_map(|step| &step.used).filter(|one| one.resource == *resource);
        Some(ResourceUse {
            resource: resource.clone(),
            used_percent: 100.0 * used,
            full: used >= full_from(resource)
                && !(capacity.is_none() && is_others(resource, &points)),
            capacity: capacity.filter(|_| resource.is_linear()),
            mostly: known.filter_map(|one| one.mostly.clone()).next(),
        })
    };
    resources.into_iter().filter_map(one).collect()
}

/// Whether something else filled it: it was full from the lowest rate on, and requests that became
/// twice as many were served all the same.
fn is_others(resource: &Resource, served: &[(f64, f64)]) -> bool {
    let Some(((first, share), (last, _))) = served.first().zip(served.last()) else { return false };
    resource.is_linear() && *share >= full_from(resource) && *last >= 2.0 * first
}

const fn full_from(resource: &Resource) -> f64 {
    if matches!(resource, Resource::Quota { .. }) { QUOTA_FULL } else { FULL }
}

/// Nothing is full, so that requests wait for something else: the load's own connections, or
/// something within the service.
fn waiting(at_a_time: f64, most: f64, connections: u32) -> ResourceUse {
    let share = at_a_time / f64::from(connections.max(1));
    let capacity = Interval::new(most, most).map(|interval| Capacity { per_s: most, interval });
    let ours = share >= FULL;
    ResourceUse {
        resource: if ours { Resource::Connections } else { Resource::Slots },
        used_percent: if ours { 100.0 * share } else { 100.0 },
        full: true,
        capacity,
        mostly: None,
    }
}

/// What is full next, when the limit is gone.
fn gain(limit: &ResourceUse, resources: &[ResourceUse], most: f64) -> Option<Gain> {
    if limit.resource.is_ours() {
        return None;
    }
    let other =
        |one: &&ResourceUse| !one.resource.is_ours() && !goes_with(&one.resource, &limit.resource);
    let all = resources.iter().filter(other).filter_map(|one| Some((&one.resource, one.capacity?)));
    let (next, capacity) = all.min_by(|a, b| a.1.per_s.total_cmp(&b.1.per_s))?;
    // What a line says of the limit itself shows how good lines are here.
    let good = limit.capacity.map_or(1.0, |line| most / line.per_s).clamp(0.5, 1.5);
    let low = capacity.interval.low * good.min(1.0) * (1.0 - RATE_ERROR);
    let high = capacity.interval.high * good.max(1.0) * (1.0 + RATE_ERROR);
    // It is not full yet: it serves what is served now.
    let most_per_s = capacity.per_s.max(most);
    Some(Gain {
        next: next.clone(),
        most_per_s,
        interval: Interval::new(low.max(most), high.max(most))?,
        gain_percent: 100.0 * (most_per_s / most - 1.0),
    })
}

/// Whether both are the same threads, seen in two ways.
fn goes_with(one: &Resource, other: &Resource) -> bool {
    let name = |resource: &Resource| match resource {
        Resource::Thread { name } | Resource::OneAtATime { program: name } => Some(name.clone()),
        _ => None,
    };
    one == other || (name(one).is_some() && name(one) == name(other))
}

/// What came of a change, against what was expected of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Expected answers in a second.
    pub expected_per_s: f64,
    /// Where they were expected.
    pub interval: Interval,
    /// What it is.
    pub most_per_s: f64,
    /// What was expected to be the limit then.
    pub expected_limit: Resource,
    /// How it came.
    pub outcome: Outcome,
}

/// How a prediction came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Within the interval.
    AsExpected,
    /// Fewer answers than that.
    Less,
    /// More answers than that.
    More,
    /// The limit is what it was: it is not gone.
    StillTheLimit,
}

/// Compares what was found after a change with what was found before. `factor` is how much more of
/// the limit there is since then; `None`: so much that it is no limit.
pub fn check(before: &Judged, after: &Judged, factor: Option<f64>) -> Option<Checked> {
    let (most, now) = (before.most_per_s?, after.most_per_s?);
    let limit = &before.limit.as_ref()?.resource;
    let next = before.gone.as_ref();
    let scaled = factor.map(|factor| most * factor);
    let within = |scaled: &f64| next.is_none_or(|next| *scaled < next.most_per_s);
    let (expected_per_s, interval, expected_limit) = match scaled.filter(within) {
        Some(scaled) => {
            let (low, high) = (scaled * (1.0 - RATE_ERROR), scaled * (1.0 + RATE_ERROR));
            (scaled, Interval::new(low, high)?, limit.clone())
        }
        None => {
            let next = next?;
            (next.most_per_s, next.interval, next.next.clone())
        }
    };
    let still = after.limit.as_ref().is_some_and(|one| one.resource == *limit);
    // Where little was expected, what it was before may lie in the interval.
    let moved = now > most * (1.0 + RATE_ERROR);
    let outcome = if factor.is_none() && still && !(moved && interval.contains(now)) {
        Outcome::StillTheLimit
    } else if interval.contains(now) {
        Outcome::AsExpected
    } else if now < interval.low {
        Outcome::Less
    } else {
        Outcome::More
    };
    Some(Checked { expected_per_s, interval, most_per_s: now, expected_limit, outcome })
}
