//! What not all can have, the bloat budget and free blocks where they are few, goes where it is
//! known to gain: nothing of it is spent before a program's memory was looked at for the first
//! time, where that can be done, nor on what gains far less than others would. Blocks are few for a
//! user who wants more than a fair share of them.

use super::candidate::Candidate;
use crate::config::Config;
use crate::decision::{Decision, Outlook};
use crate::gate::PriceFacts;
use crate::policy::View;
use crate::policy::worth::{Prices, Value};
use crate::select;
use crate::state::Target;
use hugewise_base::units::{Ns, ProcId, saturating_u64};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Of what a free block would gain elsewhere a region must gain at least this part, where blocks
/// are few: whoever gains as much as others, by and large, still shares with them by the metric M
/// (`docs/measurements.md#defaults-by-choice`).
const PART: f64 = 0.25;

/// What is scarce now, and what it costs.
#[derive(Debug)]
pub(super) struct Scarcity {
    prices: Prices,
    /// Users with more candidates than their share of the free blocks; a region of theirs must gain
    /// so much, in ns a second. Nobody makes blocks scarce for others.
    least_gain: BTreeMap<Option<u32>, u64>,
    /// Programs of which too little is known as yet.
    unknown: BTreeSet<ProcId>,
    /// Programs with hints whose mappings have not all been seen: what is hot may come last.
    unseen: BTreeSet<ProcId>,
}

impl Scarcity {
    /// Among these candidates; `values`: of programs, where use is asked for.
    pub(super) fn of(
        promotions: &[Candidate],
        values: &BTreeMap<ProcId, Value>,
        config: &Config,
        view: &View<'_>,
        now: Ns,
    ) -> Self {
        let prices = Prices::of(config, view.machine, view.geometry);
        let mut wanted = BTreeMap::<_, u64>::new();
        for candidate in promotions {
            *wanted.entry(user(&candidate.decision, view)).or_default() += 1;
        }
        let shares = view.obtainable.map(|free| scarce_shares(wanted, free)).unwrap_or_default();
        let targets = || values.keys().filter_map(|id| Some((*id, view.targets.get(id)?)));
        let offers = view.machine.map_or(&[][..], |machine| &machine.trackers);
        let unknown = |target: &Target| {
            let looks =
                !target.is_tracked() && target.looks.is_first_due(&config.track.by, offers, now);
            let cpu = target.cpu_share.is_none() && target.sample.cpu.is_some();
            looks || (cpu && target.is_tracked() && target.looks.is_new(now))
        };
        let mut found: BTreeSet<_> =
            targets().filter(|(_, target)| unknown(target)).map(|(id, _)| id).collect();
        if !shares.is_empty() && !found.is_empty() {
            // They are dealt out when all of a user are known; programs that are there for longer,
            // and those of others, wait for nobody.
            let user = |id: &ProcId| view.targets.get(id).map(|target| target.sample.account());
            let mut users: BTreeSet<_> = found.iter().filter_map(user).collect();
            users.retain(|user| shares.contains_key(user));
            let waits = |t: &Target| t.looks.is_new(now) && users.contains(&t.sample.account());
            found.extend(targets().filter(|(_, target)| waits(target)).map(|(id, _)| id));
        }
        let unseen = targets().filter(|(_, target)| is_unseen(target, config)).map(|(id, _)| id);
        let (unseen, least_gain) = (unseen.collect(), BTreeMap::new());
        let mut scarcity = Self { prices, least_gain, unknown: found, unseen };
        if !shares.is_empty() {
            scarcity.least_gain = scarcity.prices_of_a_block(promotions, values, view, &shares);
        }
        scarcity
    }

    /// For each of these users a part of what the best of its candidates would gain, one for each
    /// block of its share.
    fn prices_of_a_block(
        &self,
        promotions: &[Candidate],
        values: &BTreeMap<ProcId, Value>,
        view: &View<'_>,
        shares: &BTreeMap<Option<u32>, u64>,
    ) -> BTreeMap<Option<u32>, u64> {
        let mut gains: BTreeMap<_, Vec<u64>> =
            shares.keys().map(|user| (*user, Vec::new())).collect();
        for candidate in promotions {
            let Some(gains) = gains.get_mut(&user(&candidate.decision, view)) else { continue };
            let outlook = self.outlook(values, candidate, view);
            gains.extend(outlook.map(|outlook| outlook.gain_ns_per_s));
        }
        let mut prices = BTreeMap::new();
        for (user, mut gains) in gains {
            gains.sort_unstable_by_key(|gain| Reverse(*gain));
            gains.truncate(usize::try_from(shares[&user]).unwrap_or(usize::MAX).max(1));
            let sum: f64 = gains.iter().map(|gain| *gain as f64).sum();
            prices.insert(user, saturating_u64(PART * sum / gains.len().max(1) as f64));
        }
        prices
    }

    /// What a promotion is expected to give and to cost, where something is known of its use.
    pub(super) fn outlook(
        &self,
        values: &BTreeMap<ProcId, Value>,
        candidate: &Candidate,
        view: &View<'_>,
    ) -> Option<Outlook> {
        let Candidate { decision, accessed, .. } = Some(candidate).filter(|c| c.tracked)?;
        let call = view.targets.get(&decision.target)?.call;
        let gain_ns_per_s = values.get(&decision.target)?.gain_ns_per_s(*accessed);
        let cost_ns_per_s = self.prices.cost_ns_per_s(call, decision.waste);
        Some(Outlook { gain_ns_per_s, cost_ns_per_s })
    }

    /// What a decision costs others; `paid`: out of the bloat budget.
    pub(super) fn price(&self, decision: &Decision, paid: bool, view: &View<'_>) -> PriceFacts {
        let least = self.least_gain.get(&user(decision, view)).copied();
        let worthless = decision.outlook.is_some_and(|outlook| {
            !outlook.is_worth_it() || outlook.gain_ns_per_s < least.unwrap_or(0)
        });
        PriceFacts {
            unscanned: self.unseen.contains(&decision.target),
            scarce: paid || least.is_some(),
            unknown_use: self.unknown.contains(&decision.target),
            worthless,
            over_budget: false,
        }
    }
}

/// Users with more candidates than their share of so many free blocks, and that share: what a user
/// does not want is divided among the others.
fn scarce_shares(wanted: BTreeMap<Option<u32>, u64>, free: u64) -> BTreeMap<Option<u32>, u64> {
    let users: BTreeSet<_> = wanted.into_iter().map(|(user, wanted)| (wanted, user)).collect();
    let (mut left, mut scarce) = (free, BTreeMap::new());
    for (index, (wanted, user)) in users.iter().enumerate() {
        let share = left / (users.len() - index) as u64;
        left -= share.min(*wanted);
        if *wanted > share {
            scarce.insert(*user, share);
        }
    }
    scarce
}

/// Whether hints wait for the first scan of its whole memory.
fn is_unseen(target: &Target, config: &Config) -> bool {
    let scanned = target.pass_done.is_some() || target.refused.is_some();
    !scanned && !select::hints(config, &target.sample).is_empty()
}

/// Whose program a decision is about.
fn user(decision: &Decision, view: &View<'_>) -> Option<u32> {
    view.targets.get(&decision.target).and_then(|target| target.sample.account())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_makes_blocks_scarce_for_who_wants_few() {
        let shares = |wanted: &[(u32, u64)], free| {
            let wanted = wanted.iter().map(|(uid, wanted)| (Some(*uid), *wanted)).collect();
            let shares = scarce_shares(wanted, free);
            shares.into_iter().filter_map(|(user, share)| Some((user?, share))).collect::<Vec<_>>()
        };
        assert_eq!(shares(&[(1, 32), (2, 9_000)], 2_000), [(2, 1_968)]);
        assert_eq!(shares(&[(1, 32), (2, 40), (3, 50)], 90), [(1, 30), (2, 30), (3, 30)]);
        assert_eq!(shares(&[(1, 32), (2, 40)], 72), []);
        assert_eq!(shares(&[(1, 1)], 0), [(1, 0)]);
    }
}
