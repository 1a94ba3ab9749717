//! Which address spaces are read now.

use crate::base::units::{Addr, Ns, saturating_u64};
use crate::manager::config::Config;
use crate::manager::limits::shares::{Had, Owner};
use crate::manager::snapshot::ScanAsk;
use crate::manager::state::{State, Target};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The least budget of a scan that is worth its system calls.
const LEAST: f64 = 1e6;

/// A target whose scan is due.
struct Due<'a> {
    target: &'a Target,
    owner: Owner,
    had: Had,
    since: Ns,
}

impl Due<'_> {
    fn order(&self, other: &Self) -> Ordering {
        let rest = |due: &Self| (due.since, due.owner.process);
        self.had.order(&other.had).then_with(|| rest(self).cmp(&rest(other)))
    }
}

/// Scans that fit the scan budget at `now`. Who had least of it lately comes first: users, then
/// their cgroups, then processes; among equals whoever has waited longest. No user gets more of
/// what is left than the others that wait. A scan always reads at least one chunk, so nothing is
/// asked for while in debt.
pub(super) fn asks(config: &Config, state: &State, now: Ns) -> Vec<ScanAsk> {
    let mut left = state.budgets.scan_cpu.level_at(now);
    let due = state.targets.values().filter_map(|target| {
        let (since, owner) = (due_since(config, target, now)?, target.owner());
        let had = state.scan_shares.of(&owner, now);
        Some(Due { target, owner, had, since })
    });
    let mut due: Vec<_> = due.collect();
    let mut users = BTreeMap::<_, usize>::new();
    for due in &due {
        *users.entry(due.owner.uid).or_default() += 1;
    }
    let mut asks = Vec::new();
    while left > 0.0 {
        let next = due.iter().enumerate().min_by(|(_, a), (_, b)| a.order(b));
        let Some((index, _)) = next else { break };
        let Due { target, owner, .. } = due.swap_remove(index);
        let expected = expected_cost(target);
        // Twice what is expected, so that one surprise does not eat everybody's share.
        let share = (left / users.len() as f64).max(LEAST);
        let own = left.min(2.0 * expected + LEAST).min(share);
        let budget = Ns(saturating_u64(own));
        asks.push(ScanAsk { target: owner.process, from: target.cursor, budget, detail: false });
        let charged = expected.min(own);
        left -= charged;
        for other in due.iter_mut().filter(|due| due.owner.uid == owner.uid) {
            other.had.add(charged, other.owner.cgroup == owner.cgroup);
        }
        if let Some(waiting) = users.get_mut(&owner.uid) {
            *waiting -= 1;
        }
        users.retain(|_, waiting| *waiting > 0);
    }
    asks
}

/// When the target's next scan became due; `None` while it is not.
fn due_since(config: &Config, target: &Target, now: Ns) -> Option<Ns> {
    let Some(done) = target.pass_done.filter(|_| target.cursor == Addr(0)) else {
        return Some(Ns(0));
    };
    let pause =
        if target.changed() { config.scan.interval_ms } else { config.scan.idle_interval_ms };
    let due = done + Ns::ms(pause);
    (due <= now).then_some(due)
}

/// 5 ms/GiB of base pages in chunks with pauses, huge pages next to nothing
/// (`docs/measurements.md#page-scan-cost`); here in ns. Only shares the budget out; the real cost
/// is charged afterwards.
fn expected_cost(target: &Target) -> f64 {
    let base = target.regions.values().filter(|region| !region.huge).count();
    let regions = if target.pass_done.is_none() { target.sample.rss.0 >> 21 } else { base as u64 };
    10_000.0 * regions as f64 + 50_000.0
}
