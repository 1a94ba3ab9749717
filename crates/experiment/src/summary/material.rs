//! What a summary is made of: the variants that were not left out, with the records of each.

use super::figures::{Cell, Compared, Measurement, Row, Runs};
use crate::check::Checked;
use crate::metric::{self, Better, Metric};
use crate::record::{Record, RunPlan};
use crate::spec::{MetricSpec, Variant};
use hugewise_base::stats::{self, outlier::Outliers};
use std::collections::BTreeSet;

/// Fewest values of which one can be an outlier.
const OUTLIERS_FROM: usize = 5;

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

/// What a metric is, as a noun: its meaning in the table, or the key itself.
fn title(key: &str, known: Option<&Metric>) -> String {
    let Some(known) = known else { return key.to_owned() };
    // What follows the first comma or semicolon explains; a noun has to be short.
    let noun = known.help.split([',', ';']).next().unwrap_or(known.help).trim_end_matches('.');
    match key.strip_suffix(known.name).and_then(|phase| phase.strip_suffix('.')) {
        Some(phase) => format!("{noun} ({phase})"),
        None => noun.to_owned(),
    }
}

/// What is known of a key: from the file where it says so, else from the table of metrics.
pub(crate) fn about(key: &str, wanted: Option<&MetricSpec>) -> About {
    let known = metric::find(key);
    let unit = wanted.and_then(|wanted| wanted.unit.clone());
    let better = wanted.and_then(|wanted| wanted.better);
    About {
        title: title(key, known),
        unit: unit.unwrap_or_else(|| known.map_or("", |known| known.unit).into()),
        better: better.or(known.map(|known| known.better)).unwrap_or(Better::Neither),
        digits: known.map(|known| known.digits),
    }
}

/// The variants that were not left out, with the records of each.
pub(crate) struct Material<'a> {
    pub(crate) checked: &'a Checked,
    pub(crate) plan: &'a RunPlan,
    /// All records, in the order of time.
    pub(crate) records: &'a [Record],
    /// Variants of the file that were not left out.
    pub(crate) active: Vec<&'a Variant>,
    /// Index of the baseline in `active`.
    pub(crate) baseline: Option<usize>,
}

impl<'a> Material<'a> {
    pub(super) fn new(checked: &'a Checked, plan: &'a RunPlan, records: &'a [Record]) -> Self {
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

    pub(super) fn compared(&self) -> Vec<Compared> {
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

    pub(super) fn runs(&self) -> Runs {
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

    pub(super) fn row(&self, wanted: &MetricSpec) -> Row {
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
