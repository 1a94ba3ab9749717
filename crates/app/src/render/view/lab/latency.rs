//! Latencies of all runs of a variant together, down to the rare ones.

use super::frame::{BOTTOM, FRAME, TOP, class, frame, name};
use crate::render::axes::Scale;
use crate::render::number::latency;
use hugewise_base::stats::Histogram;
use hugewise_experiment::record::Record;
use hugewise_experiment::summary::Summary;
use std::collections::{BTreeMap, BTreeSet};

/// Rarest share that is drawn, as a power of ten.
const RAREST: u32 = 5;
/// Points a power of ten.
const STEPS: u32 = 40;

/// The latencies of one thing: a histogram for each variant that has any.
#[derive(Debug)]
pub(super) struct Latencies {
    /// What they are of.
    pub(super) key: String,
    of: BTreeMap<usize, Histogram>,
}

/// The histograms of all runs that went through, put together.
pub(super) fn pooled(summary: &Summary, records: &[Record]) -> Vec<Latencies> {
    let done = || records.iter().filter(|record| record.is_done());
    let keys: BTreeSet<&String> =
        done().flat_map(|record| record.measured.histograms.keys()).collect();
    let pool = |key: &String| {
        let mut of: BTreeMap<usize, Histogram> = BTreeMap::new();
        for record in done() {
            let index = summary.variants.iter().position(|one| one.name == record.variant);
            let all = record.measured.histograms.get(key).filter(|all| all.count() > 0);
            if let (Some(index), Some(all)) = (index, all) {
                of.entry(index).or_default().merge(all);
            }
        }
        (!of.is_empty()).then(|| Latencies { key: key.clone(), of })
    };
    keys.into_iter().filter_map(pool).collect()
}

fn description(summary: &Summary, all: &Latencies) -> String {
    let at = |histogram: &Histogram, q| {
        histogram.quantile(q).map_or("unknown".into(), |ns| latency(ns as f64))
    };
    let of = |(variant, one): (&usize, &Histogram)| {
        format!(
            "{}: median {}, 99.9 % {}, largest {}.",
            name(summary, *variant),
            at(one, 0.5),
            at(one, 0.999),
            at(one, 1.0)
        )
    };
    all.of.iter().map(of).collect::<Vec<_>>().join(" ")
}

/// The range of these quantiles over all variants.
fn range(all: &Latencies, low: f64, high: f64) -> Option<(f64, f64)> {
    let at = |q: f64| all.of.values().filter_map(move |one| one.quantile(q)).map(|ns| ns as f64);
    Some((at(low).reduce(f64::min)?, at(high).reduce(f64::max)?))
}

/// The share of values beyond each latency, down to one in a hundred thousand.
pub(super) fn draw(id: &str, summary: &Summary, all: &Latencies) -> Option<String> {
    let rarest = 1.0 - 10f64.powf(-f64::from(RAREST));
    let (low, high) = range(all, 0.1, rarest)?;
    let variants: Vec<usize> = all.of.keys().copied().collect();
    let title = format!("{}: share that took longer", all.key);
    let text = description(summary, all);
    let mut svg = frame(id, (&title, &text), summary, (&variants, true));
    FRAME.note(&mut svg, "latency, less is better; all runs together");
    let x = FRAME.latency_axis(&mut svg, (low, high));
    let y = Scale::linear((f64::from(RAREST), 0.0), (BOTTOM, TOP));
    let names = ["all", "10 %", "1 %", "0.1 %", "0.01 %", "0.001 %"];
    for (power, text) in (0..=RAREST).zip(names) {
        FRAME.row(&mut svg, y.at(f64::from(power)), text);
    }
    FRAME.unit(&mut svg, "share beyond this latency");
    for (variant, one) in &all.of {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for step in 0..=RAREST * STEPS {
            let power = f64::from(step) / f64::from(STEPS);
            let beyond = 10f64.powf(-power);
            // What fewer than one of all values can exceed is not known.
            if beyond * (one.count() as f64) < 0.999 {
                break;
            }
            let ns = one.quantile(1.0 - beyond).map(|ns| (ns as f64).clamp(low, high));
            points.extend(ns.map(|ns| (x.at(ns), y.at(power))));
        }
        points.dedup_by_key(|(x, _)| (*x * 10.0).round());
        svg.path(&format!("curve {}", class(*variant)), &points);
    }
    Some(svg.finish())
}
