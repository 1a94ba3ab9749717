//! How strong a program's claim is: the metric M of its user, of its cgroup, and its own.
//!
//! A user may start as many programs as they like, and put them into as many cgroups: so users are
//! compared first, then the cgroups of a user, then the programs of a cgroup, as with every other
//! budget (`limits::shares`).

use crate::base::units::{Ns, saturating_u64};
use crate::manager::limits::fair::metric;
use crate::manager::state::{State, Target};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Idle penalty of the metric M: an idle huge page counts twice. Where nothing is known of a
/// program's use of memory, all its huge pages count as active.
const TAU: f64 = 0.5;
/// Huge pages that a user's attempt counts for that came to nothing: others then have four turns
/// of five. Else many programs with pinned memory would have as many turns as all others together.
const FRUITLESS: f64 = 4.0;
/// Whoever has waited for so long counts twice: nobody waits for ever because others always hold
/// less (`docs/measurements.md#defaults-by-choice`).
const AGING: Ns = Ns::s(60);

/// One level of a claim.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Level {
    /// M, more for who has waited.
    pub(super) claim: f64,
    /// Huge pages held, or had lately, as they weaken it.
    pub(super) held: u64,
    /// Which user, cgroup or program it is, among those of this level.
    pub(super) of: usize,
}

/// A program's claim: as a user, as a cgroup of that user, as a program.
pub(super) type Claim = [Level; 3];

/// The first level at which two claims differ; `None`: they are the same.
pub(super) fn differ(a: &Claim, b: &Claim) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a.claim.total_cmp(&b.claim).is_ne())
}

/// An order: the stronger claim at the first level at which they differ comes first.
pub(super) fn strongest_first(a: &Claim, b: &Claim) -> Ordering {
    let level = differ(a, b);
    level.map_or(Ordering::Equal, |level| b[level].claim.total_cmp(&a[level].claim))
}

/// What the programs of one user or cgroup have together.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// Its share: the largest of its programs, however many they are.
    share: f64,
    held: u64,
    /// Regions that were made huge for it lately: whoever lets them go and asks for others has
    /// had them all the same.
    served: f64,
    idle: f64,
    /// Since when somebody in it has waited who was served last.
    waits_since: Option<Ns>,
    number: usize,
}

impl Group {
    fn add(&mut self, target: &Target) {
        let held = target.held();
        self.share = self.share.max(target.share);
        self.held = self.held.saturating_add(held);
        self.idle += held as f64 * target.idle_share;
        self.waits_since = self.waits_since.max(target.waits_since);
    }

    fn level(&self, wasted: u64, now: Ns) -> Level {
        let idle = self.idle / self.held.max(1) as f64;
        let held = self.held.max(saturating_u64(self.served)).saturating_add(wasted);
        let waited = self.waits_since.map_or(Ns(0), |since| now.since(since));
        let claim = metric(self.share, held, idle, TAU) * (1.0 + waited.as_s() / AGING.as_s());
        Level { claim, held, of: self.number }
    }
}

/// All claims at one time.
#[derive(Debug)]
pub(super) struct Claims<'a> {
    state: &'a State,
    users: BTreeMap<Option<u32>, Group>,
    cgroups: BTreeMap<(Option<u32>, Cow<'a, str>), Group>,
    now: Ns,
}

impl<'a> Claims<'a> {
    pub(super) fn new(state: &'a State, now: Ns) -> Self {
        let (mut users, mut cgroups) = (BTreeMap::new(), BTreeMap::new());
        for target in state.targets.values() {
            let uid = target.sample.uid;
            let number = users.len();
            let user = users.entry(uid).or_insert_with(|| {
                let served = state.lately.served.of_user(uid, now);
                Group { number, served, ..Group::default() }
            });
            user.add(target);
            let (number, cgroup) = (cgroups.len(), target.sample.cgroup_key());
            let group = cgroups.entry((uid, cgroup)).or_insert_with_key(|(_, cgroup)| {
                let served = state.lately.served.of_cgroup(uid, cgroup, now);
                Group { number, served, ..Group::default() }
            });
            group.add(target);
        }
        Self { state, users, cgroups, now }
    }

    /// The claim of one program; `number` tells it from all others.
    pub(super) fn of(&self, target: &Target, number: usize) -> Claim {
        let uid = target.sample.uid;
        let served = self.state.lately.served.of_process(target.sample.id, self.now);
        let mut own = Group { number, served, ..Group::default() };
        own.add(target);
        let wasted = saturating_u64(FRUITLESS * self.state.lately.fruitless.of_user(uid, self.now));
        let group = |group: Option<&Group>| group.copied().unwrap_or(own);
        let user = group(self.users.get(&uid)).level(wasted, self.now);
        let cgroup = group(self.cgroups.get(&(uid, target.sample.cgroup_key())));
        [user, cgroup.level(0, self.now), own.level(0, self.now)]
    }
}
