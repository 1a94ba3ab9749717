//! What a machine does in some time, feature by feature.

use super::feature::{FEATURES, Origin};
use crate::diagnose::nodes::hardware;
use crate::diagnose::{Context, Line};
use crate::recording::{Field, Subject};
use hugewise_base::parse::diskstats::is_partition;
use std::collections::{BTreeMap, BTreeSet};

/// No machine does anything more often in a second: what is larger is damaged, and is taken for
/// this, so that squares and sums stay numbers.
pub(super) const MOST: f64 = 1e15;

/// Rates by their place in [`FEATURES`]; `None`: not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<Option<f64>>);

impl Vector {
    /// Nothing is known.
    pub fn unknown() -> Self {
        Self(vec![None; FEATURES.len()])
    }

    /// What is seen in the times of a context, on a machine with a given number of CPUs.
    pub fn of(cx: &Context<'_>, cpus: f64) -> Self {
        Self(FEATURES.iter().map(|feature| read(cx, feature.origin, cpus).map(sane)).collect())
    }

    /// With these names; names that are not known are left out.
    pub fn of_rates(rates: &BTreeMap<String, f64>) -> Self {
        let of = |key: &str| rates.get(key).copied().map(sane);
        Self(FEATURES.iter().map(|feature| of(feature.key)).collect())
    }

    /// With the names of its features.
    pub fn rates(&self) -> BTreeMap<String, f64> {
        let known = FEATURES.iter().zip(&self.0);
        known.filter_map(|(feature, value)| Some((feature.key.to_owned(), (*value)?))).collect()
    }

    /// The rate at this place.
    pub fn get(&self, place: usize) -> Option<f64> {
        self.0.get(place).copied().flatten()
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// What is above another one. What that one does not know is taken as 0 in it: most counters
    /// stand still on a machine at rest.
    pub fn above(&self, other: &Self) -> Self {
        let above = |(own, other): (&Option<f64>, &Option<f64>)| {
            own.map(|own| (own - other.unwrap_or(0.0)).max(0.0))
        };
        Self(self.0.iter().zip(&other.0).map(above).collect())
    }
}

/// A rate that can be computed with.
fn sane(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, MOST) }
}

fn read(cx: &Context<'_>, origin: Origin, cpus: f64) -> Option<f64> {
    let machine = &Subject::Machine;
    let mean = |line: Option<Line>| Some(cx.mean(&line?)?.value);
    let used = |line: Option<Line>| Some(mean(line)?.clamp(0.0, 100.0) / 100.0 * cpus);
    match origin {
        Origin::User => used(cx.user(machine)),
        Origin::Kernel => used(cx.kernel(machine)),
        Origin::Softirq => used(cx.line(Field::CpuSoftirq, machine)),
        Origin::Machine(field) => mean(cx.line(field, machine)),
        Origin::Disks(field) => sum(cx, &disks(cx, field)),
        Origin::Interfaces(field) => {
            sum(cx, &hardware(cx.lines(field, |s| matches!(s, Subject::Interface(_)))))
        }
        Origin::Cpus(field) => sum(cx, &cx.lines(field, |s| matches!(s, Subject::Cpu(_)))),
        Origin::Softirqs(wanted) => softirqs(cx, wanted),
    }
}

/// The lines of whole disks.
fn disks(cx: &Context<'_>, field: Field) -> Vec<Line> {
    let lines = cx.lines(field, |subject| matches!(subject, Subject::Disk(_)));
    let name = |line: &Line| match &line.subject {
        Subject::Disk(name) => name.clone(),
        _ => String::new(),
    };
    let names: BTreeSet<String> = lines.iter().map(name).collect();
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    hardware(lines.into_iter().filter(|line| !is_partition(&name(line), &names)).collect())
}

/// The sum over all lines that have values in the times of the context.
fn sum(cx: &Context<'_>, lines: &[Line]) -> Option<f64> {
    let means = lines.iter().filter_map(|line| Some(cx.mean(line)?.value));
    means.reduce(|sum, more| sum + more)
}

/// Of all CPUs together, where a source has that, else of each.
fn softirqs(cx: &Context<'_>, wanted: &str) -> Option<f64> {
    let of = |each: bool| {
        let lines = cx.lines(Field::SoftirqRate, |subject| {
            let Subject::Vector { name, cpu } = subject else { return false };
            name == wanted && cpu.is_some() == each
        });
        sum(cx, &lines)
    };
    of(false).or_else(|| of(true))
}
