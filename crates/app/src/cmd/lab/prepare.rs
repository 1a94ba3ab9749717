//! An experiment, from its name or file to what can be run of it here.

use super::{form, obstacles};
use crate::cli::LabExperiment;
use crate::exit;
use anyhow::Context;
use hugewise_experiment::check::{Checked, check};
use hugewise_experiment::record::RunPlan;
use hugewise_experiment::spec::Experiment;
use hugewise_lab::shipped;
use hugewise_linux::trust;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Why a variant that `--variant` does not name is left out.
pub(super) const NOT_ASKED: &str = "not asked for";
/// A larger file is no experiment.
const MAX_BYTES: u64 = 1 << 20;

/// What is asked for, as far as it can be run here.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The file, word for word.
    pub(super) text: String,
    /// Whether the quick form of it is meant.
    pub(super) quick: bool,
    /// The experiment without the variants that are left out.
    pub(super) checked: Checked,
    /// Variants that are left out: why.
    pub(super) without: BTreeMap<String, String>,
    /// Programs that are missing: nothing can be run.
    pub(super) missing: Vec<String>,
}

/// Reads and checks an experiment.
///
/// # Errors
/// When there is none, when it has faults, or when nothing is left to compare.
pub(super) fn prepare(which: &LabExperiment, text: String) -> anyhow::Result<Prepared> {
    let experiment = parse(&which.experiment, &text)?;
    let mut without = unwanted(&experiment, &which.variant)?;
    // With all variants first: a fault in one that is left out is a fault.
    let all = checked(&which.experiment, experiment.clone(), which)?;
    without.extend(obstacles::of_variants(&all));
    let missing = obstacles::missing_programs(&all);
    let checked = reduced(&which.experiment, experiment, which, &without)?;
    Ok(Prepared { text, quick: which.quick, checked, without, missing })
}

/// The experiment that a plan was made for.
///
/// # Errors
/// When its text has faults, which an older version of hugewise did not find.
pub(in crate::cmd) fn planned(plan: &RunPlan) -> anyhow::Result<Checked> {
    let which = LabExperiment {
        experiment: "the plan".into(),
        quick: plan.quick,
        variant: Vec::new(),
        workload: Vec::new(),
        repetitions: plan.repetitions,
    };
    let experiment = parse("the plan", &plan.text)?;
    reduced("the plan", experiment, &which, &plan.without)
}

fn reduced(
    name: &str,
    mut experiment: Experiment,
    which: &LabExperiment,
    without: &BTreeMap<String, String>,
) -> anyhow::Result<Checked> {
    let first = experiment.variants.first().map(|variant| variant.name.clone());
    let baseline = experiment.baseline.clone().or(first).unwrap_or_default();
    if let Some(why) = without.get(&baseline) {
        let message = format!("the baseline '{baseline}' cannot be run: {why}");
        return Err(exit::coded(exit::PARTIAL, message));
    }
    experiment.baseline = Some(baseline);
    experiment.variants.retain(|variant| !without.contains_key(&variant.name));
    experiment.quick.without.retain(|name| !without.contains_key(name));
    checked(name, experiment, which)
}

fn checked(
    name: &str,
    mut experiment: Experiment,
    which: &LabExperiment,
) -> anyhow::Result<Checked> {
    if let Some(repetitions) = which.repetitions {
        experiment.stop.repetitions = repetitions;
        experiment.stop.max_repetitions = 0;
        experiment.quick.repetitions = None;
    }
    check(experiment, which.quick).map_err(|faults| refused(name, &faults))
}

pub(super) fn refused(name: &str, faults: &[String]) -> anyhow::Error {
    let faults: Vec<_> = faults.iter().map(|fault| format!("\n  - {fault}")).collect();
    exit::coded(exit::ERROR, format!("{name} cannot be run:{}", faults.concat()))
}

/// Variants that `--variant` does not name.
fn unwanted(
    experiment: &Experiment,
    wanted: &[String],
) -> anyhow::Result<BTreeMap<String, String>> {
    let names: Vec<_> = experiment.variants.iter().map(|variant| &variant.name).collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.contains(name)) {
        let known: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let known = known.join(", ");
        let message = format!("--variant: there is no '{unknown}'; there are {known}");
        return Err(exit::coded(exit::USAGE, message));
    }
    let left = names.into_iter().filter(|name| !wanted.is_empty() && !wanted.contains(name));
    Ok(left.map(|name| (name.clone(), NOT_ASKED.into())).collect())
}

/// The text of an experiment: one that is shipped, or a file.
///
/// # Errors
/// When there is none, or it cannot be read or believed.
pub(super) fn text_of(name: &str) -> anyhow::Result<String> {
    let is_file = name.contains('/') || name.ends_with(".toml");
    if !is_file {
        return shipped::find(name).map(str::to_owned).ok_or_else(|| {
            let message = format!(
                "there is no experiment '{}': see 'hugewise lab list', or name a file (with a '/' \
                 or ending in .toml)",
                name.escape_debug()
            );
            exit::coded(exit::USAGE, message)
        });
    }
    file_text("the experiment", Path::new(name))
}

/// The text of a file that says what root runs and writes.
///
/// # Errors
/// When it cannot be read or believed.
pub(in crate::cmd) fn file_text(what: &str, path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    trust::check(what, path, &file.metadata()?)?;
    bounded(what, path, file, MAX_BYTES)
}

/// The text of a file that is no longer than what it should be can be.
///
/// # Errors
/// When it cannot be read, or is longer.
pub(super) fn bounded(
    what: &str,
    path: &Path,
    file: File,
    bytes_max: u64,
) -> anyhow::Result<String> {
    let (mut text, name) = (String::new(), path.display());
    let read = file.take(bytes_max + 1).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {name}"))?;
    let mib = bytes_max >> 20;
    anyhow::ensure!(
        text.len() as u64 <= bytes_max,
        "{name} is larger than {mib} MiB: is it {what}?"
    );
    Ok(text)
}

fn parse(name: &str, text: &str) -> anyhow::Result<Experiment> {
    form::read(name, text).map_err(|faults| refused(name, &faults))
}
