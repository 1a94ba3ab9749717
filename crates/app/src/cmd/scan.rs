//! What `status` and `status --map` have in common: scanning processes for a limited time.

use hugewise_base::units::{Addr, Ns, ProcId};
pub(super) use hugewise_daemon::privileges::say_what_root_adds;
use hugewise_manager::engine::World;
use hugewise_manager::reason::SkipReason;
use hugewise_manager::snapshot::{Ask, InspectAsk, RegionSample, ScanAsk, ScanEnd, ScanReport};
use std::collections::{BTreeMap, BTreeSet};

/// Time for all scans of one view.
const PATIENCE: Ns = Ns::s(2);
/// CPU time of one scan, so that a huge process leaves time for others.
const SLICE: Ns = Ns::ms(200);

/// Scans processes in turns until all are known or time is up; hands every report to `each` and
/// returns those that are not known completely, with the address where it ended.
pub(super) fn scan(
    world: &mut impl World,
    wanted: &[ProcId],
    mut each: impl FnMut(&ScanReport, Ns),
) -> BTreeMap<ProcId, Addr> {
    let end = world.now() + PATIENCE;
    let mut open: BTreeMap<ProcId, Addr> = wanted.iter().map(|id| (*id, Addr(0))).collect();
    while !open.is_empty() && world.now() < end {
        for target in wanted {
            let Some(from) = open.get(target).copied() else { continue };
            // One scan each, even when time is up: something is better than nothing.
            if from != Addr(0) && world.now() >= end {
                continue;
            }
            let (target, budget) = (*target, SLICE);
            let ask =
                ScanAsk { target, from, budget, detail: true, shared_memory: true, text: false };
            let scans = vec![ask];
            let seen = world.observe(&Ask { targets: wanted.to_vec(), scans, ..Ask::default() });
            for report in &seen.scans {
                each(report, seen.at);
                match report.end {
                    ScanEnd::Partial(next) => open.insert(target, next),
                    ScanEnd::Complete | ScanEnd::Refused(_) => open.remove(&target),
                };
            }
        }
    }
    open
}

/// Regions whose contents are sampled before the clock is read again.
const SAMPLES: usize = 64;

/// Samples the contents of all huge ones among `regions`, as long as time is left; what was seen
/// meanwhile replaces what was known. Returns sentences about those that stay unknown.
pub(super) fn sample(
    world: &mut impl World,
    target: ProcId,
    regions: &mut [RegionSample],
) -> Vec<String> {
    let end = world.now() + PATIENCE;
    let mut refused = BTreeSet::new();
    let mut huge: Vec<_> =
        regions.iter_mut().filter(|region| region.huge && region.object.is_none()).collect();
    let mut open = huge.len();
    for some in huge.chunks_mut(SAMPLES) {
        if world.now() >= end {
            let what = format!("time was up before {open} huge pages were sampled");
            return vec![what];
        }
        let inspections = some.iter().map(|region| InspectAsk {
            target,
            region: region.at,
            mapping: region.mapping,
            sample: true,
        });
        let ask =
            Ask { targets: vec![target], inspections: inspections.collect(), ..Ask::default() };
        let seen = world.observe(&ask);
        for (region, report) in some.iter_mut().zip(seen.inspections) {
            refused.extend(report.refused);
            if let Some(now) = report.region {
                **region = now;
            }
        }
        open -= some.len();
    }
    let sentence = |reason| format!("huge pages that could not be sampled: {}", sentence(reason));
    refused.into_iter().map(sentence).collect()
}

/// A reason as a sentence with what can be done about it.
pub(super) fn sentence(reason: SkipReason) -> String {
    let (means, remedy) = reason.text();
    if remedy.is_empty() { means.to_owned() } else { format!("{means}; {remedy}") }
}

/// Fails for a pid that is not there: a typing error should not give an empty result.
pub(super) fn all_there(wanted: &BTreeSet<u32>, found: &BTreeSet<u32>) -> anyhow::Result<()> {
    match wanted.difference(found).next() {
        None => Ok(()),
        Some(pid) => anyhow::bail!(
            "there is no process {pid}: it ended, or belongs to another pid namespace; \
             'hugewise status' lists processes"
        ),
    }
}
