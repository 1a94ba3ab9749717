//! The same layout on the simulator, with the loop that the manager runs: what it would decide,
//! and nothing about time that only real memory can tell.

use super::protocol::{Parts, SPARSE_STEP, Variant};
use super::{Memory, Promotion, Row, Sample};
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
}

impl Sink for Calls {
    fn record(&mut self, _at: Ns, record: &Record) {
        if let Record::Action { outcome: Outcome::Promoted { call, cpu, .. }, .. } = record {
            self.histogram.record(call.0);
            self.cpu += *cpu;
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
        Row { round: 1, variant, memory, timing: None, promotion }
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
    let bytes = regions.iter().map(|region| {
        if region.huge { geometry.huge } else { geometry.bytes(u64::from(region.used)) }
    });
    Memory { rss: bytes.sum(), cgroup: None, huge_percent: huge_percent(parts, regions) }
}

fn promote(parts: &Parts<u64>, regions: &mut Vec<SimRegion>) -> Promotion {
    let mut world = Sim::with_regions(regions.clone(), LIMIT);
    let begin = world.now();
    let config = Config::default();
    let named = world.processes.get(&PID).map(|process| [process.sample.id].into());
    let selection = Selection { named };
    let mut manager = Manager::new(config, Default::default(), selection, begin);
    let (mut calls, mut samples, mut ticks) = (Calls::default(), Vec::new(), 0);
    loop {
        let now = world.processes.get(&PID).map(|process| process.regions.clone());
        *regions = now.unwrap_or_default();
        let at_s = world.now().since(begin).as_s();
        samples.push(Sample { at_s, huge_percent: huge_percent(parts, regions) });
        if ticks >= TICKS_MIN && !manager.busy() {
            break;
        }
        if tick(&mut world, &mut manager, &mut calls) != TickEnd::Done {
            break;
        }
        ticks += 1;
    }
    Promotion {
        seconds: world.now().since(begin).as_s(),
        promoted: calls.histogram.count(),
        end: None,
        limit: None,
        cpu_s: Some(calls.cpu.as_s()),
        calls: calls.histogram,
        samples,
        tail: None,
    }
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
}
