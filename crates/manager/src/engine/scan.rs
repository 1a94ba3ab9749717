//! Which address spaces are read now.

use crate::config::Config;
use crate::limits::shares::Had;
use crate::snapshot::ScanAsk;
use crate::state::{State, Target};
use hugewise_base::units::{Addr, Ns, ProcId, saturating_u64};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// The least budget of a scan that is worth its system calls.
const LEAST: f64 = 1e6;

/// What somebody had, in a total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Amount(f64);

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A target whose scan is due: what it had, and since when it waits.
type Due = (Amount, Ns, ProcId);

/// Those of one cgroup, or the cgroups of one user: the one that had least first.
#[derive(Debug)]
struct Turns<T> {
    had: Amount,
    waiting: BinaryHeap<Reverse<T>>,
}

impl<T: Ord> Turns<T> {
    const fn new(had: f64) -> Self {
        Self { had: Amount(had), waiting: BinaryHeap::new() }
    }
}

/// Who comes first is compared all the way down, so that of two users that had the same the one
/// is first of whose cgroups one had less, and so on.
impl<T: Ord> Ord for Turns<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        // `Reverse` turns the order of the heaps' largest elements round.
        let first = |turns: &Self, other: &Self| other.waiting.peek().cmp(&turns.waiting.peek());
        self.had.cmp(&other.had).then_with(|| first(self, other))
    }
}

impl<T: Ord> PartialOrd for Turns<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> PartialEq for Turns<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: Ord> Eq for Turns<T> {}

/// Users whose targets' scans are due, and how many they are.
fn users(config: &Config, state: &State, now: Ns) -> BinaryHeap<Reverse<Turns<Turns<Due>>>> {
    let mut users = BTreeMap::<_, (f64, BTreeMap<String, Turns<Due>>)>::new();
    for (id, target) in &state.programs.targets {
        let Some(since) = due_since(config, target, now) else { continue };
        let owner = target.owner();
        let Had(user, cgroup, process) = state.account.lately.scans.of(&owner, now);
        let (_, cgroups) = users.entry(owner.uid).or_insert_with(|| (user, BTreeMap::new()));
        let turns = cgroups.entry(owner.cgroup).or_insert_with(|| Turns::new(cgroup));
        turns.waiting.push(Reverse((Amount(process), since, *id)));
    }
    let user = |(had, cgroups): (f64, BTreeMap<_, _>)| {
        let waiting = cgroups.into_values().map(Reverse).collect();
        Reverse(Turns { had: Amount(had), waiting })
    };
    users.into_values().map(user).collect()
}

/// Scans that fit the scan budget at `now`. Who had least of it lately comes first: users, then
/// their cgroups, then processes; among equals whoever has waited longest. No user gets more of
/// what is left than the others that wait. A scan always reads at least one chunk, so nothing is
/// asked for while in debt.
pub(super) fn asks(config: &Config, state: &State, now: Ns) -> Vec<ScanAsk> {
    let mut left = state.limits.budgets.scan_cpu.level_at(now);
    let mut users = users(config, state, now);
    let mut asks = Vec::new();
    while left > 0.0 {
        let waiting = users.len();
        let Some(Reverse(mut user)) = users.pop() else { break };
        let Some(Reverse(mut cgroup)) = user.waiting.pop() else { continue };
        let next =
            cgroup.waiting.pop().and_then(|Reverse((.., id))| state.programs.targets.get(&id));
        let Some(target) = next else { continue };
        let expected = expected_cost(target);
        // Twice what is expected, so that one surprise does not eat everybody's share.
        let share = (left / waiting as f64).max(LEAST);
        let own = left.min(2.0 * expected + LEAST).min(share);
        let budget = Ns(saturating_u64(own));
        let (id, from) = (target.sample.id, target.cursor);
        let (shared_memory, text) = (config.promote.shared_memory, config.promote.text);
        asks.push(ScanAsk { target: id, from, budget, detail: false, shared_memory, text });
        let charged = expected.min(own);
        left -= charged;
        (user.had.0, cgroup.had.0) = (user.had.0 + charged, cgroup.had.0 + charged);
        if !cgroup.waiting.is_empty() {
            user.waiting.push(Reverse(cgroup));
        }
        if !user.waiting.is_empty() {
            users.push(Reverse(user));
        }
    }
    asks
}

/// When the target's next scan became due; `None` while it is not.
fn due_since(config: &Config, target: &Target, now: Ns) -> Option<Ns> {
    let Some(done) = target.pass_done.filter(|_| target.cursor == Addr(0)) else {
        return Some(Ns(0));
    };
    let due = done + target.scan_pause(&config.scan);
    (due <= now).then_some(due)
}

/// 5 ms/GiB of base pages in chunks with pauses, huge pages next to nothing
/// (`docs/measurements.md#page-scan-cost`); here in ns. Only shares the budget out; the real cost
/// is charged afterwards.
fn expected_cost(target: &Target) -> f64 {
    let base = target.regions.len() - target.regions.huge();
    let regions = if target.pass_done.is_none() { target.sample.rss.0 >> 21 } else { base as u64 };
    10_000.0 * regions as f64 + 50_000.0
}
