//! The same layout on the simulator, with the loop that the manager runs: what it would decide,
//! and nothing about time that only real memory can tell.

use hugewise_base::stats::Histogram;
use hugewise_base::units::{Geometry, Ns};
use hugewise_experiment::record::{Measured, Record, Series};
use hugewise_manager::config::Config;
use hugewise_manager::decision::Outcome;
use hugewise_manager::engine::{Manager, Sink, TickEnd, World, tick};
use hugewise_manager::record::Record as Journal;
use hugewise_manager::select::Selection;
use hugewise_manager::sim::{Sim, SimRegion};
use hugewise_workloads::demo::{Parts, SPARSE_STEP};
use std::collections::BTreeMap;

/// The variant of the experiment that a manager works on.
const HUGEWISE: &str = "hugewise";
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
    fn record(&mut self, _at: Ns, record: &Journal) {
        let Journal::Action { outcome, .. } = record else { return };
        match outcome {
            Outcome::Promoted { call, cpu, .. } => {
                self.histogram.record(call.took.0);
                self.cpu += *cpu;
            }
            Outcome::Demoted { cpu, .. } => {
                self.demoted += 1;
                self.demote_cpu += *cpu;
            }
            _ => {}
        }
    }

    fn tick_done(&mut self, _at: Ns, _manager: &Manager) {}
}

/// A record a variant, as if it had been run.
pub(crate) fn run(parts: &Parts<u64>, free_percent: u64) -> Vec<Record> {
    let records = ["never", "always", HUGEWISE].map(|variant| {
        let (mut regions, mut record) = (layout(parts), Record::new(0, variant));
        record.conditions.settled_s = Some(0.0);
        let measured = &mut record.measured;
        match variant {
            "always" => regions.iter_mut().for_each(|region| region.huge = true),
            HUGEWISE => promote(parts, &mut regions, measured),
            _ => {}
        }
        measured.values.insert("rss_mib".into(), resident_mib(&regions));
        for (part, share) in huge_percent(parts, &regions).named() {
            measured.values.insert(format!("{part}.huge_percent"), share);
        }
        free(&mut regions, variant, free_percent, measured);
        record
    });
    records.into()
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

fn resident_mib(regions: &[SimRegion]) -> f64 {
    let pages: u64 = regions.iter().map(|region| u64::from(region.physical())).sum();
    Geometry::X86_64.bytes(pages).0 as f64 / f64::from(1 << 20)
}

/// Much of every region is freed in pieces: what was huge stays a block. Then a manager, if there
/// is one, gives back what it can.
fn free(regions: &mut Vec<SimRegion>, variant: &str, percent: u64, measured: &mut Measured) {
    let values = &mut measured.values;
    for region in regions.iter_mut() {
        region.used -= u16::try_from(u64::from(region.used) * percent / 100).unwrap_or(region.used);
        region.block = std::mem::take(&mut region.huge);
    }
    values.insert("freed.cgroup_mib".into(), resident_mib(regions));
    if variant == HUGEWISE {
        let (seconds, calls) = manage(regions, |_, _| {});
        if seconds < LIMIT.as_s() {
            values.insert("settle_s".into(), seconds);
        }
        values.insert("demoted".into(), calls.demoted as f64);
        values.insert("demoted.manager_cpu_s".into(), calls.demote_cpu.as_s());
    }
    values.insert("settled.cgroup_mib".into(), resident_mib(regions));
}

fn promote(parts: &Parts<u64>, regions: &mut Vec<SimRegion>, measured: &mut Measured) {
    let mut series: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    let (seconds, calls) = manage(regions, |at_s, regions| {
        for (part, share) in huge_percent(parts, regions).named() {
            series.entry(part).or_default().push((at_s, share));
        }
    });
    let values = [
        ("promoting_s", seconds),
        ("promoted", calls.histogram.count() as f64),
        ("promoted.manager_cpu_s", calls.cpu.as_s()),
    ];
    measured.values.extend(values.map(|(key, value)| (key.to_owned(), value)));
    measured.histograms.insert("promoted.call".into(), calls.histogram);
    let series = series.into_iter();
    let series =
        series.map(|(part, points)| Series { key: format!("{part}.huge_percent"), points });
    measured.series.extend(series);
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
    use hugewise_base::units::Bytes;
    use hugewise_workloads::demo::layout;

    fn simulated() -> [Record; 3] {
        let parts = layout(Bytes::mib(256), Geometry::X86_64.huge.0);
        run(&parts, 70).try_into().expect("one each")
    }

    #[test]
    fn hugewise_promotes_what_is_dense_and_leaves_what_is_sparse() {
        let [never, always, ours] = simulated();
        let huge = |part: &str| ours.measured.values[&format!("{part}.huge_percent")];
        // The simulator lets a few calls fail, and waiting for their next turn is not shown.
        assert!(huge("dense") > 80.0 && huge("idle") > 80.0, "{ours:?}");
        assert!(huge("sparse") < 1.0, "{ours:?}");
        let rss = |record: &Record| record.measured.values["rss_mib"];
        assert!(rss(&never) < rss(&always));
        assert!((rss(&ours) - rss(&never)).abs() < 0.01, "{ours:?}");
        assert!(ours.measured.values["promoted"] > 80.0, "{ours:?}");
        let series = &ours.measured.series;
        assert!(series.len() == 3 && series.iter().all(|part| part.points.len() > 3), "{ours:?}");
    }

    #[test]
    fn hugewise_gives_back_what_is_freed_in_pieces() {
        let [never, always, ours] = simulated();
        let at = |record: &Record, key: &str| record.measured.values[key];
        let (freed, settled) = ("freed.cgroup_mib", "settled.cgroup_mib");
        assert!(at(&never, freed) < at(&never, "rss_mib"), "{never:?}");
        assert!((at(&always, "rss_mib") - at(&always, settled)).abs() < 0.01, "{always:?}");
        assert!(at(&ours, freed) > at(&never, freed), "{ours:?}");
        // Some calls of the simulator report success and split nothing.
        assert!(at(&ours, settled) < at(&never, settled) * 1.3, "{ours:?}");
        assert!(ours.measured.values["demoted"] > 60.0, "{ours:?}");
    }
}
