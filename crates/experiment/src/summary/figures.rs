//! The figures: what was compared, and each metric in each variant.

use crate::compare::{Comparison, Estimate, Judgement};
use crate::metric::Better;
use hugewise_base::stats;
use serde::Serialize;

/// A value of the configuration that follows from the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Key of the configuration, as `policy.walk_percent`.
    pub key: String,
    /// The time that the variant saves, percent of the baseline's.
    pub value: f64,
    /// Where the true value lies.
    pub low: f64,
    /// See `low`.
    pub high: f64,
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

impl Row {
    /// Whether a ratio says something else than the medians beside it: it is the median over all
    /// pairs of a run of either variant.
    pub fn ratio_surprises(&self) -> bool {
        let baseline = self.cells.iter().find(|cell| cell.against.is_none());
        let Some(base) = baseline.and_then(|cell| cell.spread.as_ref()) else {
            return false;
        };
        let surprises = |cell: &Cell| {
            let ratio = cell.against.as_ref().and_then(|against| against.ratio.as_ref());
            let plain = cell.spread.as_ref().map(|spread| spread.median / base.median);
            let apart = ratio.zip(plain).map(|(ratio, plain)| (ratio.value / plain - 1.0).abs());
            apart.is_some_and(|apart| apart > SURPRISE)
        };
        self.cells.iter().any(surprises)
    }
}

/// From here on a reader who divides two medians wonders why the ratio is another.
const SURPRISE: f64 = 0.02;

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

impl Row {
    /// Whether any run measured it.
    pub fn is_measured(&self) -> bool {
        self.cells.iter().any(|cell| cell.spread.is_some())
    }
}

/// A variant against the baseline by one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// The variant as a multiple of the baseline; `None` unless all values are above 0.
    pub ratio: Option<Estimate>,
    /// The variant less the baseline, in the metric's unit.
    pub shift: Option<Estimate>,
    /// p of the rank test: of a deciding metric after Holm's correction for all of these, of any
    /// other by itself.
    pub p: Option<f64>,
    /// p after the correction of Benjamini and Hochberg over all metrics for information: of those
    /// at or below a value, that share is expected to be wrong. `None` of a deciding metric.
    pub q: Option<f64>,
    /// The smallest difference that would have been found in four of five such experiments, percent
    /// of the baseline; `None` where none would have been.
    pub smallest_visible_percent: Option<f64>,
    /// What follows; only of a deciding metric.
    pub judgement: Option<Judgement>,
    /// The same as a sentence without a full stop; only of a deciding metric.
    pub sentence: Option<String>,
}

impl Against {
    pub(super) fn alone(comparison: &Comparison) -> Self {
        Self {
            ratio: comparison.ratio,
            shift: comparison.shift,
            p: comparison.p,
            q: None,
            smallest_visible_percent: comparison.smallest_visible_percent,
            judgement: None,
            sentence: None,
        }
    }

    /// How many values of each side any judgement needs, where there were too few.
    pub const fn needed(&self) -> Option<usize> {
        match self.judgement {
            Some(Judgement::TooFew { needed }) => Some(needed),
            _ => None,
        }
    }
}
