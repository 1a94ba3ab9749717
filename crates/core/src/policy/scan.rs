//! Which address spaces are read now.

use crate::config::Config;
use crate::snapshot::ScanAsk;
use crate::state::{State, Target};
use crate::units::{Addr, Ns};

/// Scans that fit the scan budget at `now`: passes under way first, then those that have waited
/// longest. A scan always reads at least one chunk, so nothing is asked for while in debt.
#[must_use]
pub fn asks(config: &Config, state: &State, now: Ns) -> Vec<ScanAsk> {
    let mut left = state.scan_cpu.level_at(now);
    let mut due: Vec<_> = state
        .targets
        .iter()
        .filter_map(|(id, target)| due_since(config, target, now).map(|since| (since, *id)))
        .collect();
    due.sort_unstable();
    let mut asks = Vec::new();
    for (_, id) in due {
        if left <= 0.0 {
            break;
        }
        let Some(target) = state.targets.get(&id) else {
            continue;
        };
        // Twice what is expected, so that one surprise does not eat everybody's share.
        let own = left.min(2.0 * expected_cost(target) + 1e6);
        let budget = Ns(crate::units::saturating_u64(own));
        asks.push(ScanAsk { target: id, from: target.cursor, budget, detail: false });
        left -= expected_cost(target);
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

/// 5 ms/GiB of base pages in chunks with pauses, huge pages next to nothing (kernel.md 3); here in
/// ns. Only shares the budget out; the real cost is charged afterwards.
fn expected_cost(target: &Target) -> f64 {
    let base = target.regions.values().filter(|region| !region.huge).count();
    let regions = if target.pass_done.is_none() { target.sample.rss.0 >> 21 } else { base as u64 };
    10_000.0 * regions as f64 + 50_000.0
}
