//! What follows from the runs of an experiment: the verdict, the figures behind it, and whatever
//! makes them doubtful. Every view and every file for readers is made from this.

mod against;
mod conditions;
mod over_time;
mod warnings;
pub mod words;

pub use against::Against;
pub use conditions::Setting;
pub use over_time::{Curve, Moment, OverTime};
pub use warnings::{Concern, Warning};

use super::check::Checked;
use super::metric::{self, Better};
use super::record::{Plan, Record};
use super::spec::{Variant, Wanted};
use crate::stats::{self, outlier::Outliers};
use serde::Serialize;
use std::collections::BTreeSet;

/// Fewest values of which one can be an outlier.
const OUTLIERS_FROM: usize = 5;

/// Version of this structure.
pub const SCHEMA: u32 = 1;

/// What follows from the runs so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Version of this structure.
    pub schema: u32,
    /// Name of the experiment.
    pub name: String,
    /// What is asked.
    pub question: String,
    /// More about it.
    pub about: String,
    /// Name of the kind of workload.
    pub workload: String,
    /// The answer in one line: all of [`Self::verdicts`].
    pub headline: String,
    /// The answer: what makes it preliminary, then a sentence for every deciding metric.
    pub verdicts: Vec<String>,
    /// A sentence for every deciding metric and variant.
    pub found: Vec<String>,
    /// What the experiment could have seen, a sentence for every deciding metric.
    pub sensitivity: Vec<String>,
    /// What makes the figures doubtful or is missing; the loud ones first.
    pub warnings: Vec<Warning>,
    /// Chance that any difference is claimed where there is none.
    pub error_rate: f64,
    /// Name of the variant that the others are compared with; `None` when it was left out.
    pub baseline: Option<String>,
    /// What was compared, in the order of the file. Cells and curves refer to this order.
    pub variants: Vec<Compared>,
    /// The metrics, the deciding ones first.
    pub rows: Vec<Row>,
    /// Values over time.
    pub over_time: Vec<OverTime>,
    /// Settings of the variants.
    pub settings: Vec<Setting>,
    /// How many runs there are.
    pub runs: Runs,
    /// The machine, as it was written down when the experiment began.
    pub environment: serde_json::Value,
    /// When the experiment began, in UTC.
    pub began: Option<String>,
    /// Seed of the order and of the workloads.
    pub seed: u64,
    /// Whether it is the quick form.
    pub quick: bool,
    /// The experiment's file.
    pub text: String,
}

/// A variant that ran, or was to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Whether the others are compared with it.
    pub is_baseline: bool,
    /// Runs that went through.
    pub done: usize,
    /// Runs that did not.
    pub failed: usize,
}

/// How many runs there are, of the variants that were not left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Runs {
    /// Planned at the least.
    pub planned: usize,
    /// Turns of the plan that have been taken, whatever became of them.
    pub taken: usize,
    /// Went through.
    pub done: usize,
    /// Did not.
    pub failed: usize,
    /// Of those that went through: on a machine that was not quiet.
    pub noisy: usize,
}

/// A metric in all variants.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its key.
    pub key: String,
    /// What it is, as a noun: `resident memory of the workload (deleted)`.
    pub title: String,
    /// Unit as printed; empty for plain numbers.
    pub unit: String,
    /// Good direction.
    pub better: Better,
    /// Digits after the point that are worth printing.
    pub digits: usize,
    /// Whether the verdict rests on it.
    pub decides: bool,
    /// Differences up to this count as none, percent of the baseline.
    pub equal_within_percent: Option<f64>,
    /// The variants, in the order of [`Summary::variants`].
    pub cells: Vec<Cell>,
}

/// A metric in one variant.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Cell {
    /// The values in the order in which they were measured; only numbers.
    pub values: Vec<Measurement>,
    /// Their order statistics; `None` without values.
    pub spread: Option<stats::Summary>,
    /// How it compares with the baseline; `None` for the baseline itself and without values.
    pub against: Option<Against>,
    /// Repetitions whose values lie far from the others of this variant.
    pub outliers: Vec<u32>,
}

/// A value of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measurement {
    /// Number of the run in the order of time, over all variants, from 0.
    pub run: usize,
    /// Repetition, from 0.
    pub repetition: u32,
    /// The value.
    pub value: f64,
    /// Whether the machine was not quiet.
    pub noisy: bool,
}

/// What is known of a metric before anything is measured.
pub(crate) struct About {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) better: Better,
    /// `None` where only the values can say.
    pub(crate) digits: Option<usize>,
}

/// Digits after the point of values that no table knows: none for counts, else about four in all.
pub(crate) fn digits(values: &[f64]) -> usize {
    let largest = values.iter().copied().map(f64::abs).fold(0.0, f64::max);
    match largest {
        _ if values.iter().all(|value| value.fract() == 0.0) => 0,
        largest if largest >= 1000.0 => 0,
        largest if largest >= 100.0 => 1,
        largest if largest >= 10.0 => 2,
        _ => 3,
    }
}

/// What is known of a key: from the file where it says so, else from the table of metrics.
pub(crate) fn about(key: &str, wanted: Option<&Wanted>) -> About {
    let known = metric::find(key);
    let unit = wanted.and_then(|wanted| wanted.unit.clone());
    let better = wanted.and_then(|wanted| wanted.better);
    About {
        title: words::title(key, known),
        unit: unit.unwrap_or_else(|| known.map_or("", |known| known.unit).into()),
        better: better.or(known.map(|known| known.better)).unwrap_or(Better::Neither),
        digits: known.map(|known| known.digits),
    }
}

/// The variants that were not left out, with the records of each.
pub(crate) struct Material<'a> {
    pub(crate) checked: &'a Checked,
    pub(crate) plan: &'a Plan,
    /// All records, in the order of time.
    pub(crate) records: &'a [Record],
    /// Variants of the file that were not left out.
    pub(crate) active: Vec<&'a Variant>,
    /// Index of the baseline in `active`.
    pub(crate) baseline: Option<usize>,
}

impl<'a> Material<'a> {
    fn new(checked: &'a Checked, plan: &'a Plan, records: &'a [Record]) -> Self {
        let all = checked.variants().iter();
        let active: Vec<_> =
            all.filter(|variant| !plan.without.contains_key(&variant.name)).collect();
        let name = checked.variants().get(checked.baseline).map(|variant| &variant.name);
        let baseline = active.iter().position(|variant| Some(&variant.name) == name);
        Self { checked, plan, records, active, baseline }
    }

    /// Records of a variant with their numbers.
    pub(crate) fn of(&self, name: &'a str) -> impl Iterator<Item = (usize, &'a Record)> + use<'a> {
        let all = self.records.iter().enumerate();
        all.filter(move |(_, record)| record.variant == name)
    }

    /// Records of all active variants that went through.
    pub(crate) fn done(&self) -> impl Iterator<Item = &'a Record> {
        self.counted().filter(|record| record.is_done())
    }

    /// Records of all active variants.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &'a Record> {
        let is_active =
            |record: &&Record| self.active.iter().any(|variant| variant.name == record.variant);
        self.records.iter().filter(is_active)
    }

    fn compared(&self) -> Vec<Compared> {
        let compared = |(index, variant): (usize, &&'a Variant)| {
            let done = self.of(&variant.name).filter(|(_, record)| record.is_done()).count();
            Compared {
                name: variant.name.clone(),
                about: variant.about.clone(),
                is_baseline: self.baseline == Some(index),
                done,
                failed: self.of(&variant.name).count() - done,
            }
        };
        self.active.iter().enumerate().map(compared).collect()
    }

    fn runs(&self) -> Runs {
        let stop = &self.checked.experiment.stop;
        let repetitions = self.plan.repetitions.unwrap_or(stop.repetitions);
        let repetitions = usize::try_from(repetitions).unwrap_or(usize::MAX);
        let turns: BTreeSet<_> =
            self.counted().map(|record| (&record.variant, record.repetition)).collect();
        let done = self.done().count();
        Runs {
            planned: repetitions.saturating_mul(self.active.len()),
            taken: turns.len(),
            done,
            failed: self.counted().count() - done,
            noisy: self.done().filter(|record| !record.conditions.noisy.is_empty()).count(),
        }
    }

    fn cell(&self, name: &'a str, key: &str) -> Cell {
        let measured = |(run, record): (usize, &Record)| {
            let value = record.measured.values.get(key).copied().filter(|value| value.is_finite());
            let noisy = !record.conditions.noisy.is_empty();
            let repetition = record.repetition;
            value.map(|value| Measurement { run, repetition, value, noisy })
        };
        let done = self.of(name).filter(|(_, record)| record.is_done());
        let values: Vec<_> = done.filter_map(measured).collect();
        let plain: Vec<_> = values.iter().map(|one| one.value).collect();
        // Where most values are equal, or there are few, no value is far from the others in any
        // useful sense.
        let far = match Outliers::of(&plain) {
            Some(Outliers::Found(places)) if plain.len() >= OUTLIERS_FROM => places,
            _ => Vec::new(),
        };
        let outliers = far.iter().filter_map(|place| values.get(*place)).map(|one| one.repetition);
        let outliers = outliers.collect();
        Cell { spread: stats::Summary::of(&plain), outliers, values, against: None }
    }

    fn row(&self, wanted: &Wanted) -> Row {
        let about = about(&wanted.key, Some(wanted));
        let cell = |variant: &&'a Variant| self.cell(&variant.name, &wanted.key);
        let cells: Vec<Cell> = self.active.iter().map(cell).collect();
        let values = cells.iter().flat_map(|cell| &cell.values).map(|one| one.value);
        let values: Vec<f64> = values.collect();
        let digits = about.digits.unwrap_or_else(|| digits(&values));
        Row {
            key: wanted.key.clone(),
            title: about.title,
            unit: about.unit,
            better: about.better,
            digits,
            decides: wanted.decides,
            equal_within_percent: wanted.equal_within_percent,
            cells,
        }
    }
}

impl Row {
    /// Whether any run measured it.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.cells.iter().any(|cell| cell.spread.is_some())
    }
}

impl Summary {
    /// Sums up the runs so far.
    ///
    /// `records` stand in the order in which the runs took place; those of variants that the
    /// experiment does not have, or that were left out, count for nothing and are warned of.
    #[must_use]
    pub fn of(checked: &Checked, plan: &Plan, records: &[Record]) -> Self {
        let material = Material::new(checked, plan, records);
        let experiment = &checked.experiment;
        let mut rows: Vec<_> = checked.metrics.iter().map(|metric| material.row(metric)).collect();
        rows.sort_by_key(|row| !row.decides);
        against::fill(&mut rows, &material);
        let (variants, runs) = (material.compared(), material.runs());
        let warnings = warnings::all(&material, &rows, runs);
        rows.retain(|row| row.decides || row.is_measured());
        let baseline = material.baseline.map(|index| variants[index].name.clone());
        let mut summary = Self {
            schema: SCHEMA,
            name: experiment.name.clone(),
            question: experiment.question.clone(),
            about: experiment.about.clone(),
            workload: experiment.workload.kind.clone(),
            headline: String::new(),
            verdicts: Vec::new(),
            found: Vec::new(),
            sensitivity: Vec::new(),
            warnings,
            error_rate: experiment.stop.error_rate,
            baseline,
            variants,
            rows,
            over_time: over_time::all(&material),
            settings: conditions::settings(&material),
            runs,
            environment: plan.environment.clone(),
            began: plan.began.clone(),
            seed: plan.seed,
            quick: plan.quick,
            text: plan.text.clone(),
        };
        summary.verdicts = words::verdicts(&summary);
        summary.headline = summary.verdicts.join(" ");
        summary.found = words::found(&summary);
        summary.sensitivity = words::sensitivity(&summary);
        summary
    }

    /// The metrics that the verdict rests on.
    pub fn deciding(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.decides)
    }

    /// The others.
    pub fn informative(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.decides)
    }
}

#[cfg(test)]
mod tests;
