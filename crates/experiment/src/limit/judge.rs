//! Which resource is the limit, and which one comes next.

use super::fit::{Capacity, capacity};
use super::others::{Others, Shares, is_anothers};
use super::resource::{Queue, Resource, Used};
use super::step::{Before, Step};
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

/// On average one connection waits, and twice as many as at any rate that was served: the queue
/// grew. Judgements.
const QUEUE_MIN: f64 = 1.0;
const QUEUE_GROWS: f64 = 2.0;

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
    /// Of interrupts: the vector that comes most often. Of slots: the program whose accept queue
    /// grew, or the socket where its program is not known.
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
    /// What others used of all CPUs; `None`: next to nothing, or not known.
    #[serde(default)]
    pub others: Option<Others>,
}

/// What is known of a search beside its rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Around {
    /// What a served rate keeps.
    pub bounds: Bounds,
    /// Connections of the load.
    pub connections: u32,
    /// CPUs of the machine.
    pub cpus: Option<u32>,
    /// The machine before the load began.
    pub before: Before,
}

/// Judges the rates that were tried.
pub fn judge(tried: &[Step], around: &Around) -> Judged {
    let (served, unserved) = apart(tried, around.bounds);
    let shares = Shares::of(tried, &around.before, around.cpus);
    let others = shares.as_ref().and_then(|shares| shares.whole(tried));
    let most = tried.iter().map(|step| step.achieved_per_s).max_by(f64::total_cmp);
    let alone = served.iter().filter_map(|step| step.service).min().map(Ns::as_s);
    let at_a_time = most.zip(alone).map(|(most, alone)| most * alone);
    let lowest = unserved.iter().map(|step| step.rate_per_s).min_by(f64::total_cmp);
    let near = |step: &&&Step| lowest.is_some_and(|low| step.rate_per_s <= NEAR_LIMIT * low);
    let near: Vec<&Step> = unserved.iter().filter(near).copied().collect();
    let seen = Rates { served: &served, unserved: &near, all: tried, before: &around.before };
    let mut resources = seen.resources(shares.as_ref(), others.as_ref());
    resources.sort_by(|a, b| first_full(a).total_cmp(&first_full(b)));
    let full = resources.iter().find(|one| one.full).cloned();
    let slots = || {
        let mut one = waiting(at_a_time?, most?, around.connections);
        one.mostly = grown(&served, &near).filter(|_| one.resource == Resource::Slots);
        Some(one)
    };
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
        others,
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

/// The rates by what became of them.
struct Rates<'a> {
    served: &'a [&'a Step],
    /// Those near the limit.
    unserved: &'a [&'a Step],
    all: &'a [Step],
    before: &'a Before,
}

impl Rates<'_> {
    fn resources(&self, shares: Option<&Shares<'_>>, others: Option<&Others>) -> Vec<ResourceUse> {
        let used = self.all.iter().flat_map(|step| &step.used);
        let resources: BTreeSet<&Resource> = used.map(|used| &used.resource).collect();
        let mut all = Vec::new();
        for resource in resources {
            let free = match resource {
                Resource::Cpus => Others::leave(others),
                _ => [1.0; 3],
            };
            all.extend(self.one(resource.clone(), shares, free));
        }
        all
    }

    /// Its use by the answers in a second, at all rates: the more there are, the less is chance.
    fn rates(&self, resource: &Resource) -> Vec<(f64, f64)> {
        let one = |step: &Step| Some((step.achieved_per_s, share(&step.used, resource)?));
        self.all.iter().filter_map(one).collect()
    }

    /// One resource. `shares` is what others use of the CPUs, `free` what is left of it.
    fn one(
        &self,
        resource: Resource,
        shares: Option<&Shares<'_>>,
        free: [f64; 3],
    ) -> Option<ResourceUse> {
        let highest = |steps: &mut dyn Iterator<Item = &Step>| {
            steps.filter_map(|step| share(&step.used, &resource)).fold(0.0, f64::max)
        };
        let ever = highest(&mut self.all.iter());
        let one_at_a_time = matches!(resource, Resource::OneAtATime { .. });
        if ever < SHARE_MIN || (one_at_a_time && ever > ONE_CPU_MAX) {
            return None;
        }
        let near: Vec<&Step> = self.unserved.iter().chain(self.served.last()).copied().collect();
        let used = highest(&mut near.iter().copied());
        let (mut points, mut own) = (Vec::new(), Vec::new());
        for step in self.served {
            let Some(share) = share(&step.used, &resource) else { continue };
            points.push((step.achieved_per_s, share));
            let theirs =
                shares.filter(|_| resource == Resource::Cpus).map_or(0.0, |shares| shares.at(step));
            own.push((step.achieved_per_s, (share - theirs).max(0.0)));
        }
        let before = share(&self.before.used, &resource).unwrap_or(0.0);
        let anothers = shares.is_some_and(|shares| shares.has(&resource))
            || resource.is_linear() && is_anothers(before, ever, &self.rates(&resource), true);
        // The CPUs are shared: the load may fill what others leave.
        let fills = !anothers || resource == Resource::Cpus;
        let capacity = capacity(&own, free).filter(|_| fills);
        let full = used >= full_from(&resource)
            && !anothers
            && !(capacity.is_none() && is_others(&resource, &points));
        let known = near.iter().flat_map(|step| &step.used).filter(|one| one.resource == resource);
        let mostly = known.filter_map(|one| one.mostly.clone()).next();
        let capacity = capacity.filter(|_| resource.is_linear());
        Some(ResourceUse { resource, used_percent: 100.0 * used, full, capacity, mostly })
    }
}

fn share(used: &[Used], resource: &Resource) -> Option<f64> {
    used.iter().find(|used| used.resource == *resource).map(|used| used.share)
}

/// Whose accept queue is longest at rates that were not served, and was shorter at those that were.
fn grown(served: &[&Step], unserved: &[&Step]) -> Option<String> {
    let longest = |steps: &[&Step], socket: &str| {
        let all = steps.iter().flat_map(|step| &step.queues).filter(|one| one.socket == socket);
        all.map(|one| one.waiting).fold(0.0, f64::max)
    };
    let grew = |one: &&Queue| {
        let now = longest(unserved, &one.socket);
        now >= QUEUE_MIN && now >= QUEUE_GROWS * longest(served, &one.socket)
    };
    let all = unserved.iter().flat_map(|step| &step.queues).filter(grew);
    let most = all.max_by(|a, b| a.waiting.total_cmp(&b.waiting))?;
    // Whose it is is asked for once in a while, so that not every step knows it.
    let all = unserved.iter().chain(served).flat_map(|step| &step.queues);
    let mut of_it = all.filter(|one| one.socket == most.socket);
    let named = of_it.find_map(|one| one.program.as_deref()).map(|program| {
        let (_, name) = program.split_once('/').unwrap_or(("", program));
        format!("'{name}' at {}", most.socket)
    });
    Some(named.unwrap_or_else(|| most.socket.clone()))
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
