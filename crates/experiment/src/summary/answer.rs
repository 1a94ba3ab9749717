//! The summary as values.

use super::conditions::Setting;
use super::figures::{Advice, Compared, Row, Runs};
use super::over_time::OverTime;
use super::warnings::Warning;
use serde::Serialize;

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
    /// A key of the configuration that it found a value for; `None`: none was asked for, or no
    /// saving was shown.
    pub advice: Option<Advice>,
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

impl Summary {
    /// The metrics that the verdict rests on.
    pub fn deciding(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.decides)
    }

    /// The others.
    pub fn informative(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.decides)
    }
}
