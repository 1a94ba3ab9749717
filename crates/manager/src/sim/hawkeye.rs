//! HawkEye's policy, as its paper describes it (Panwar, Bansal, Gopinath, ASPLOS 2019): for
//! comparisons.
//!
//! Regions are sorted into ten buckets by how many of their base pages are accessed. The highest
//! bucket of all programs is emptied first, what was seen to be accessed most recently before the
//! rest; what was never seen to be accessed stays small, and how full a region is does not matter.
//! Waste is taken back only while memory is short. What is left out: huge pages in faults, which
//! need memory that was cleared beforehand, and counters of the CPU.

use super::PAGES;
use crate::config::Config;
use crate::decision::{Action, Decision, Motive};
use crate::policy::survey::QUEUE;
use crate::policy::{Plan, Policy, View};
use crate::state::bloat::{Waste, WasteSource};
use crate::state::heat::{IDLE, Use};
use crate::state::{Region, Target};
use hugewise_base::units::{Addr, Ns, ProcId, saturating_u64};
use std::cmp::Reverse;

/// Base pages of a bucket: 0 to 49, 50 to 99, and so on; the last one ends at 512.
const BUCKET: u64 = 50;
/// The last bucket.
const HIGHEST: u64 = 9;
/// Steps in which times of use are compared.
const FINE: f64 = 1_000.0;

/// The policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct HawkEye;

/// The bucket of a region; `None`: it was not seen to be accessed.
fn bucket(used: Use) -> Option<u64> {
    let pages = saturating_u64(used.coverage() * f64::from(PAGES));
    (used.temperature >= IDLE && pages > 0).then_some((pages / BUCKET).min(HIGHEST))
}

fn decision(id: ProcId, at: Addr, region: &Region, action: Action, motive: Motive) -> Decision {
    Decision {
        target: id,
        region: at,
        mapping: region.mapping,
        action,
        motive,
        populated: region.populated,
        waste: PAGES.saturating_sub(region.populated),
        min_populated: 1,
        warm: false,
        sample: false,
        another: false,
        unhurried: false,
        shared_memory: false,
        outlook: None,
    }
}

/// What one program's regions come to: each with its bucket and how recently it was used.
fn promotions(id: ProcId, target: &Target, view: &View<'_>, now: Ns) -> Vec<(u64, u64, Decision)> {
    let mut found = Vec::new();
    for (at, region) in target.regions.iter() {
        let waits = region.waits.against_promotion(now).is_some();
        if region.huge || region.populated == 0 || waits {
            continue;
        }
        let used = target.usage(at, view.geometry);
        if let Some((bucket, used)) = used.and_then(|used| Some((bucket(used)?, used))) {
            let motive = match region.populated >= view.thresholds.always {
                true => Motive::Utilization,
                false => Motive::BloatBudget,
            };
            let decision = decision(id, at, &region, Action::Promote, motive);
            found.push((bucket, saturating_u64(used.temperature * FINE), decision));
        }
    }
    found
}

/// The worst waste of a program first, while memory is short.
fn splits(id: ProcId, target: &Target, view: &View<'_>, now: Ns) -> Vec<Decision> {
    let mut found = Vec::new();
    for (at, region) in target.regions.iter() {
        let Waste::Known(waste, source) = region.waste(view.geometry) else { continue };
        if waste == 0 || region.waits.against_split(now, false).is_some() {
            continue;
        }
        let motive = match source {
            WasteSource::PartiallyMapped => Motive::PartiallyMapped,
            _ => Motive::Pressure,
        };
        found.push(Decision { waste, ..decision(id, at, &region, Action::Demote, motive) });
    }
    found.sort_by_key(|decision| (Reverse(decision.waste), decision.region));
    found
}

impl Policy for HawkEye {
    fn plan(&self, _config: &Config, view: &View<'_>, now: Ns) -> Plan {
        let mut plan = Plan::default();
        let targets = || view.targets.iter().filter(|(_, target)| target.refused.is_none());
        let pressed = |target: &Target| view.pressure.on(&target.sample.cgroup_key()).is_some();
        for (id, target) in targets().filter(|(_, target)| pressed(target)) {
            let splits = splits(*id, target, view, now);
            plan.queues.entry(*id).or_default().extend(splits.into_iter().take(QUEUE));
        }
        let all = targets().map(|(id, target)| promotions(*id, target, view, now));
        let mut all: Vec<_> = all.flatten().collect();
        all.sort_by_key(|(bucket, used, decision)| (Reverse((*bucket, *used)), decision.region));
        let Some((highest, ..)) = all.first().copied() else { return plan };
        for (bucket, _, decision) in all {
            let queue = plan.queues.entry(decision.target).or_default();
            if bucket < highest || queue.len() >= QUEUE {
                plan.more = true;
            } else {
                queue.push_back(decision);
            }
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Tracker;
    use crate::config::Mode;
    use crate::engine::{Manager, World, tick};
    use crate::select::Selection;
    use crate::sim::checks::Auditor;
    use crate::sim::{Sim, SimRegion};

    #[test]
    fn what_is_accessed_most_comes_first_and_waste_comes_back_under_pressure() {
        let region = |used, accessed| SimRegion { used, accessed, each: 9, ..SimRegion::default() };
        let mut regions = vec![region(512, 0); 100];
        regions.extend(vec![region(512, 60); 40]);
        regions.extend(vec![region(200, 200); 40]);
        let mut sim = Sim::with_regions(regions, Ns::s(1_000));
        sim.trackers = vec![Tracker::IdlePages];
        let (config, now) = (Config::default(), sim.now());
        let (mode, all) = (Mode::Ingens, Selection::default());
        let mut manager = Manager::with_policy(Box::new(HawkEye), config, mode, all, now);
        let mut huge = |sim: &mut Sim, ticks| {
            for _ in 0..ticks {
                tick(sim, &mut manager, &mut Auditor::default());
            }
            let regions = sim.processes[&100].regions.clone();
            [0..100, 100..140, 140..180]
                .map(|range| regions[range].iter().filter(|region| region.huge).count())
        };
        let soon = huge(&mut sim, 4);
        assert!(soon[0] == 0 && soon[1] == 0 && soon[2] > 20, "{soon:?}");
        let later = huge(&mut sim, 20);
        assert!(later[0] == 0 && later[1] > 35 && later[2] > 35, "{later:?}");
        sim.memory_falls_short();
        assert!(huge(&mut sim, 20)[2] < 5);
    }
}
