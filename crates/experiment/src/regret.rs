//! Where somebody would regret one of hugewise's modes: each figure of each workload against the
//! best of all other variants.
//!
//! Who picks the best of nine by the runs that it is then compared by picks luck, too: of equals
//! the lucky one is ahead. So the best is picked in every other round, and compared by its runs in
//! the others. The mode that it is compared with took no part in the choice: all its runs count.

use super::metric::Better;
use super::record::Record;
use hugewise_base::stats::shift::Pairs;
use hugewise_base::stats::{Interval, median};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Version of [`Report`].
pub const SCHEMA: u32 = 1;
/// Fewer rounds allow no interval of 95 %: five runs of the mode against three of the best have 56
/// orders, and 2 / 56 is below 5 %; four against two have 15.
pub const ROUNDS_MIN: u32 = 5;
/// One minus the level of the intervals.
const ALPHA: f64 = 0.05;

/// What is still as good as the best, as a multiple of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bars {
    /// Least speed.
    pub speed: f64,
    /// Most memory.
    pub memory: f64,
    /// Largest p99.9.
    pub tail: f64,
}

/// What a figure says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Work in a time, or time for some work; compared as the former.
    Speed,
    /// Memory.
    Memory,
    /// A latency that few exceed.
    Tail,
    /// Only shown: no bar.
    Reported,
}

/// A figure of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// The phase in which it is measured: `start`, `steady`, `after`, or the `whole` run.
    pub phase: &'static str,
    /// Its key, as in [`super::metric`].
    pub key: String,
    /// What it says.
    pub kind: Kind,
    /// Its good direction.
    pub better: Better,
    /// Digits after the point that are worth printing.
    pub digits: usize,
}

/// Values by variant and round.
pub type Values = BTreeMap<String, BTreeMap<u32, f64>>;

/// What follows for a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval lies on the bad side of the bar: regretted.
    Beyond,
    /// The bar lies in the interval, or there is none.
    Inconclusive,
    /// The whole interval lies on the good side of the bar.
    Holds,
    /// There is no bar.
    Reported,
}

/// The best of the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Its name.
    pub variant: String,
    /// The median of its runs in the rounds that compare.
    pub value: f64,
}

/// A figure under one of hugewise's modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The key of the metric.
    pub figure: String,
    /// What it says.
    pub kind: Kind,
    /// Digits after the point that are worth printing.
    pub digits: usize,
    /// The median of all runs under the mode; `None`: it has none.
    pub ours: Option<f64>,
    /// The best other variant; `None`: no other one has runs in both halves.
    pub best: Option<Best>,
    /// The mode as a multiple of the best: of speed more is better, of the others less.
    pub ratio: Option<f64>,
    /// Its interval of 95 %; `None` where so few runs allow none.
    pub interval: Option<Interval>,
    /// The bar; `None` where there is none.
    pub bar: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
}

impl Row {
    /// How far it is from its bar: above 1 beyond it, below 1 within. What is unknown is not far.
    pub fn shortfall(&self) -> f64 {
        match (self.ratio, self.bar, self.kind) {
            (Some(ratio), Some(bar), Kind::Speed) => bar / ratio,
            (Some(ratio), Some(bar), _) => ratio / bar,
            _ => 0.0,
        }
    }
}

/// Compares a mode with the best other variant.
pub fn judge(workload: &str, figure: &Figure, ours: &str, values: &Values, bars: &Bars) -> Row {
    let none = BTreeMap::new();
    let own: Vec<f64> = values.get(ours).unwrap_or(&none).values().copied().collect();
    let (mut best, mut ahead): (Option<(&str, Vec<f64>)>, f64) = (None, f64::INFINITY);
    for (name, runs) in values.iter().filter(|(name, _)| *name != ours) {
        let half = |odd: u32| -> Vec<f64> {
            let of = runs.iter().filter(|(round, _)| *round % 2 == odd);
            of.map(|(_, value)| *value).collect()
        };
        let (picked_by, compared_by) = (half(1), half(0));
        let Some(middle) = median(&picked_by).filter(|_| !compared_by.is_empty()) else {
            continue;
        };
        let cost = if figure.better == Better::Higher { -middle } else { middle };
        if cost < ahead {
            (best, ahead) = (Some((name.as_str(), compared_by)), cost);
        }
    }
    let bar = match figure.kind {
        Kind::Speed => Some(bars.speed),
        Kind::Memory => Some(bars.memory),
        Kind::Tail => Some(bars.tail),
        Kind::Reported => None,
    };
    let is_time = figure.kind == Kind::Speed && figure.better == Better::Lower;
    let pairs = best.as_ref().and_then(|(_, theirs)| match is_time {
        true => Pairs::ratios(&own, theirs),
        false => Pairs::ratios(theirs, &own),
    });
    let interval = pairs.as_ref().and_then(|pairs| pairs.interval(ALPHA));
    Row {
        workload: workload.to_owned(),
        phase: figure.phase.to_owned(),
        figure: figure.key.clone(),
        kind: figure.kind,
        digits: figure.digits,
        ours: median(&own),
        best: best.and_then(|(name, theirs)| {
            Some(Best { variant: name.to_owned(), value: median(&theirs)? })
        }),
        ratio: pairs.map(|pairs| pairs.estimate()),
        interval,
        bar,
        verdict: verdict(figure.kind, interval, bar),
    }
}

fn verdict(kind: Kind, interval: Option<Interval>, bar: Option<f64>) -> Verdict {
    let Some(bar) = bar else { return Verdict::Reported };
    match (interval, kind) {
        (Some(at), Kind::Speed) if at.high < bar => Verdict::Beyond,
        (Some(at), Kind::Speed) if at.low >= bar => Verdict::Holds,
        (Some(at), Kind::Memory | Kind::Tail) if at.low > bar => Verdict::Beyond,
        (Some(at), Kind::Memory | Kind::Tail) if at.high <= bar => Verdict::Holds,
        _ => Verdict::Inconclusive,
    }
}

/// A workload with its runs so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Its name.
    pub workload: String,
    /// What is compared.
    pub figures: Vec<Figure>,
    /// Variants that cannot be run here: why.
    pub without: BTreeMap<String, String>,
    /// The runs.
    pub records: Vec<Record>,
}

impl Material {
    fn values(&self, key: &str) -> Values {
        let mut all = Values::new();
        for record in self.records.iter().filter(|record| record.is_done()) {
            if let Some(value) = record.measured.values.get(key) {
                let own = all.entry(record.variant.clone()).or_default();
                own.insert(record.repetition, *value);
            }
        }
        all
    }
}

/// A workload, or a variant of one, that says nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// The workload.
    pub workload: String,
    /// The variant; `None`: all of them.
    pub variant: Option<String>,
    /// How many runs failed; 0 where none was made.
    pub failed: usize,
    /// Why, or the first failure.
    pub why: String,
}

/// One of hugewise's modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// The variant.
    pub variant: String,
    /// Every figure of every workload, the worst first.
    pub rows: Vec<Row>,
}

impl Mode {
    /// How many rows have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }
}

/// What a suite has shown so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this structure.
    pub schema: u32,
    /// The suite.
    pub name: String,
    /// What was asked.
    pub question: String,
    /// Whether it is the quick form.
    pub quick: bool,
    /// Workloads of the suite, those that are skipped among them.
    pub workloads: usize,
    /// Rounds that are planned.
    pub rounds: u32,
    /// Runs that were made, and that are planned, without what is skipped or left out.
    pub runs: [usize; 2],
    /// Time that the runs so far took, seconds.
    pub seconds: f64,
    /// The bars.
    pub bars: Bars,
    /// hugewise's modes.
    pub modes: Vec<Mode>,
    /// What says nothing.
    pub absent: Vec<Absent>,
    /// The machine.
    pub environment: Value,
    /// When it began, in UTC.
    pub began: Option<String>,
}

/// Every figure under each of these modes, the worst rows first.
pub fn modes(ours: &[&str], all: &[Material], bars: &Bars) -> Vec<Mode> {
    let mut modes = Vec::new();
    for mode in ours {
        let mut rows = Vec::new();
        for one in all.iter().filter(|one| !one.without.contains_key(*mode)) {
            for figure in &one.figures {
                let values = one.values(&figure.key);
                rows.push(judge(&one.workload, figure, mode, &values, bars));
            }
        }
        rows.sort_by(|a, b| {
            let far = || b.shortfall().total_cmp(&a.shortfall());
            a.verdict.cmp(&b.verdict).then_with(far)
        });
        modes.push(Mode { variant: (*mode).to_owned(), rows });
    }
    modes
}

/// Workloads that are skipped, variants that are left out, and runs that failed.
pub fn absent(skipped: &BTreeMap<String, String>, all: &[Material]) -> Vec<Absent> {
    let mut absent = Vec::new();
    for (workload, why) in skipped {
        let (workload, why) = (workload.clone(), why.clone());
        absent.push(Absent { workload, variant: None, failed: 0, why });
    }
    for one in all {
        let mut wanting: BTreeMap<&String, (usize, &str)> = BTreeMap::new();
        wanting.extend(one.without.iter().map(|(variant, why)| (variant, (0, why.as_str()))));
        for record in &one.records {
            if let Some(why) = record.outcome.problem() {
                wanting.entry(&record.variant).or_insert((0, why)).0 += 1;
            }
        }
        for (variant, (failed, why)) in wanting {
            let (workload, why) = (one.workload.clone(), why.to_owned());
            absent.push(Absent { workload, variant: Some(variant.clone()), failed, why });
        }
    }
    absent
}

#[cfg(test)]
mod tests;
