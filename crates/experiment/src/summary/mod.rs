//! What follows from the runs of an experiment: the verdict, the figures behind it, and whatever
//! makes them doubtful. Every view and every file for readers is made from this.

mod advice;
mod against;
mod answer;
mod conditions;
mod figures;
mod material;
mod over_time;
mod warnings;
pub mod words;

pub use answer::{SCHEMA, Summary};
pub use conditions::Setting;
pub use figures::{Advice, Against, Cell, Compared, Measurement, Row, Runs};
pub use over_time::{Abscissa, Curve, Moment, OverTime};
pub use warnings::{Concern, Warning};

use super::check::Checked;
use super::record::{Record, RunPlan};
use material::Material;

impl Summary {
    /// Sums up the runs so far.
    ///
    /// `records` stand in the order in which the runs took place; those of variants that the
    /// experiment does not have, or that were left out, count for nothing and are warned of.
    pub fn of(checked: &Checked, plan: &RunPlan, records: &[Record]) -> Self {
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
            advice: None,
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
        summary.advice = advice::of(&summary, experiment.advise.as_ref());
        summary.verdicts.extend(summary.advice.as_ref().map(advice::sentence));
        summary.headline = summary.verdicts.join(" ");
        summary.found = words::found(&summary);
        summary.sensitivity = words::sensitivity(&summary);
        summary
    }
}

#[cfg(test)]
mod tests;
