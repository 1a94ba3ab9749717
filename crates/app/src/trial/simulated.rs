//! The same layout on the simulator, with the loop that the manager runs: what it would decide,
//! and nothing about time that only real memory can tell.

use super::protocol::{Parts, SPARSE_STEP, Variant};
use super::schedule::FREED_PERCENT;
use super::{Freeing, GivenBack, Memory, Promotion, Row, Sample};
use hugewise_core::config::Config;
use hugewise_core::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_core::policy::Outcome;
use hugewise_core::policy::select::Selection;
use hugewise_core::record::Record;
use hugewise_core::sim::{Sim, SimRegion};
use hugewise_core::stats::Histogram;
use hugewise_core::units::{Geometry, Ns};

/// Simulated time after which it ends, whatever is left.
const LIMIT: Ns = Ns::s(120);
/// Ticks that it runs at least: the first ones only look.
const TICKS_MIN: u32 = 5;
const PID: u32 = 100;

#[derive(Debug, Default)]
struct Calls {
    histogram: Histogram,
    cpu: Ns,
    demoted: u64,
    demote_cpu: Ns,
}

impl Sink for Calls {
    fn record(&mut self, _at: Ns, record: &Record) {
        if let Record::Action { outcome: Outcome::Promoted { call, cpu, .. }, .. } = record {
            self.histogram.record(call.0);
            self.cpu += *cpu;
        }
        if let Record::Action { outcome: Outcome::Demoted { cpu, .. }, .. } = record {
            self.demoted += 1;
            self.demote_cpu += *cpu;
        }
    }

    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// One row a variant.
pub(crate) fn run(parts: &Parts<u64>) -> Vec<Row> {
    let rows = Variant::ALL.map(|variant| {
        let mut regions = layout(parts);
        let promotion = match variant {
            Variant::Never => None,
            Variant::Always => {
                regions.iter_mut().for_each(|region| region.huge = true);
                None
            }
            Variant::Hugewise => Some(promote(parts, &mut regions)),
        };
        let memory = memory(parts, &regions);
        let freeing = Some(free(parts, &mut regions, variant));
        Row { round: 1, variant, memory, timing: None, promotion, freeing }
    });
    rows.into()
}

fn counts(parts: &Parts<u64>) -> [usize; 3] {
    let huge = Geometry::X86_64.huge.0;
    [parts.dense, parts.sparse, parts.idle].map(|b| usize::try_from(b / huge).unwrap_or(0))
}

fn layout(parts: &Parts<u64>) -> Vec<SimRegion> {
    let pages = u16::try_from(Geometry::X86_64.pages_per_huge()).unwrap_or(u16::MAX);
    let sparse = pages / u16::try_from(SPARSE_STEP).unwrap_or(1);
    let parts = counts(parts).into_iter().zip([pages, sparse, pages]);
    let regions = parts.flat_map(|(count, used)| {
        std::iter::repeat_n(SimRegion { used, ..SimRegion::default() }, count)
    });
    regions.collect()
}

fn huge_percent(parts: &Parts<u64>, regions: &[SimRegion]) -> Parts<f64> {
    let [dense, sparse, _] = counts(parts);
    let percent = |part: &[SimRegion]| {
        let huge = part.iter().filter(|region| region.huge).count();
        100.0 * huge as f64 / part.len().max(1) as f64
    };
    let (first, rest) = regions.split_at(dense.min(regions.len()));
    let (second, third) = rest.split_at(sparse.min(rest.len()));
    Parts { dense: percent(first), sparse: percent(second), idle: percent(third) }
}

fn memory(parts: &Parts<u64>, regions: &[SimRegion]) -> Memory {
    let geometry = Geometry::X86_64;
    let bytes = regions.iter().map(|region| geometry.bytes(u64::from(region.physical())));
    Memory { rss: bytes.sum(), cgroup: None, huge_percent: huge_percent(parts, regions) }
}

/// Much of every region is freed in pieces: what was huge stays a block. Then a manager, if there
/// is one, gives back what it can.
fn free(parts: &Parts<u64>, regions: &mut Vec<SimRegion>, variant: Variant) -> Freeing {
    let before = memory(parts, regions);
    for region in regions.iter_mut() {
        region.used -= u16::try_from(u32::from(region.used) * u32::from(FREED_PERCENT) / 100)
            .unwrap_or(region.used);
        region.block = std::mem::take(&mut region.huge);
    }
    let after = memory(parts, regions);
    let given_back = (variant == Variant::Hugewise).then(|| {
        let (seconds, calls) = manage(regions, |_, _| {});
        let settled = seconds < LIMIT.as_s();
        let (demoted, cpu_s) = (calls.demoted, Some(calls.demote_cpu.as_s()));
        GivenBack { seconds, settled, demoted, cpu_s }
    });
    let later = memory(parts, regions);
    Freeing { percent: FREED_PERCENT, before, after, later, given_back, verified_words: None }
}

fn promote(parts: &Parts<u64>, regions: &mut Vec<SimRegion>) -> Promotion {
    let mut samples = Vec::new();
    let (seconds, calls) = manage(regions, |at_s, regions| {
        samples.push(Sample { at_s, huge_percent: huge_percent(parts, regions) });
    });
    Promotion {
        seconds,
        promoted: calls.histogram.count(),
        end: None,
        limit: None,
        cpu_s: Some(calls.cpu.as_s()),
        calls: calls.histogram,
        samples,
        tail: None,
    }
}

/// Runs a manager until it has nothing left to do; `each` sees the regions in between. Returns
/// the seconds that it took, and what it did.
fn manage(regions: &mut Vec<SimRegion>, mut each: impl FnMut(f64, &[SimRegion])) -> (f64, Calls) {
    let mut world = Sim::with_regions(regions.clone(), LIMIT);
    let begin = world.now();
    let config = Config::default();
    let named = world.processes.get(&PID).map(|process| [process.sample.id].into());
    let selection = Selection { named };
    let mut manager = Manager::new(config, Default::default(), selection, begin);
    let (mut calls, mut ticks) = (Calls::default(), 0);
    loop {
        let now = world.processes.get(&PID).map(|process| process.regions.clone());
        *regions = now.unwrap_or_default();
        each(world.now().since(begin).as_s(), regions);
        if ticks >= TICKS_MIN && !manager.busy(world.now()) {
            break;
        }
        if tick(&mut world, &mut manager, &mut calls) != TickEnd::Done {
            break;
        }
        ticks += 1;
    }
    (world.now().since(begin).as_s(), calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::protocol::layout;
    use hugewise_core::units::Bytes;

    #[test]
    fn hugewise_promotes_what_is_dense_and_leaves_what_is_sparse() {
        let parts = layout(Bytes::mib(256), Geometry::X86_64.huge.0);
        let rows = run(&parts);
        let of = |variant| rows.iter().find(|row| row.variant == variant).expect("one each");
        let (never, always) = (of(Variant::Never), of(Variant::Always));
        let hugewise = of(Variant::Hugewise);
        let huge = &hugewise.memory.huge_percent;
        // The simulator lets a few calls fail, and waiting for their next turn is not shown.
        assert!(huge.dense > 80.0 && huge.idle > 80.0, "{huge:?}");
        assert!(huge.sparse < 1.0, "{huge:?}");
        assert!(never.memory.rss < always.memory.rss);
        assert_eq!(hugewise.memory.rss, never.memory.rss);
        let promotion = hugewise.promotion.as_ref().expect("a manager ran");
        assert!(promotion.promoted > 80 && promotion.samples.len() > 3);
    }

    #[test]
    fn hugewise_gives_back_what_is_freed_in_pieces() {
        let parts = layout(Bytes::mib(256), Geometry::X86_64.huge.0);
        let rows = run(&parts);
        let of = |variant| rows.iter().find(|row| row.variant == variant);
        let of = |variant| of(variant).and_then(|row| row.freeing.as_ref()).expect("one each");
        let [never, always, ours] = Variant::ALL.map(of);
        assert_eq!(never.after.rss, never.later.rss);
        assert_eq!(always.before.rss, always.later.rss);
        assert!(ours.after.rss > never.after.rss);
        // Some calls of the simulator report success and split nothing.
        assert!(ours.later.rss < never.later.rss.percent(130.0), "{ours:?}");
        assert!(ours.given_back.as_ref().is_some_and(|g| g.demoted > 60), "{ours:?}");
    }
}
