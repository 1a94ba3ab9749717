//! What is wrong with an experiment, all of it at once; and what it asks for, resolved.

mod load;

pub use load::aimed;

use super::kind::{Kind, More, Start, Value};
use super::kinds::Params;
use super::metric::Better;
use super::spec::{ADVISABLE, Advise, Experiment, MetricSpec, Quick, Variant, Workload};
use super::{kinds, metric, settings};
use hugewise_base::size;
use std::collections::{BTreeMap, BTreeSet};

/// Most variants of an experiment: each costs as many runs as there are repetitions.
const VARIANTS_MAX: usize = 32;
/// Most repetitions.
const REPETITIONS_MAX: u32 = 1000;
/// Longest measurement, and longest wait, seconds: a day.
const MEASURE_MAX_S: u64 = 86_400;
/// Longest wait for a machine to come to rest, seconds.
const SETTLE_MAX_S: u64 = 3600;
/// Least limit of a cgroup, MiB: less does not even start a program.
const LIMIT_MIN_MIB: u64 = 8;
/// Most memory of anything, MiB: 1 TiB.
const MIB_MAX: u64 = 1 << 20;

/// An experiment without faults.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The file.
    pub experiment: Experiment,
    /// Its kind of workload.
    pub kind: &'static Kind,
    /// Parameters of the workload by variant, in the order of the file.
    pub params: Vec<Params>,
    /// Index of the baseline.
    pub baseline: usize,
    /// What decides and what is shown, in this order.
    pub metrics: Vec<MetricSpec>,
}

impl Checked {
    /// The variants.
    pub fn variants(&self) -> &[Variant] {
        &self.experiment.variants
    }

    /// The variant with this name, and its parameters.
    pub fn variant(&self, name: &str) -> Option<(&Variant, &Params)> {
        let index = self.variants().iter().position(|variant| variant.name == name)?;
        Some((&self.variants()[index], self.params.get(index)?))
    }

    /// Settings of a variant: the experiment's, and its own on top.
    pub fn settings(&self, variant: &Variant) -> BTreeMap<String, String> {
        let mut all = self.experiment.settings.clone();
        all.extend(variant.settings.clone());
        all
    }

    /// Whether any variant changes the machine: settings, pools, or what a manager changes that
    /// does not keep all settings.
    pub fn changes_machine(&self) -> bool {
        self.variants().iter().any(|variant| {
            let manages = variant.manage.as_ref().is_some_and(|manage| !manage.keep_settings);
            manages || !self.settings(variant).is_empty() || !variant.hugetlb.is_empty()
        })
    }

    /// Settings that touch programs outside the experiment, with the variant that wants them.
    pub fn machine_wide(&self) -> Vec<(String, String)> {
        let of = |variant: &Variant| {
            let all = self.settings(variant).into_iter();
            all.filter(|(key, _)| settings::is_machine_wide(key)).collect::<Vec<_>>()
        };
        let all: BTreeSet<_> = self.variants().iter().flat_map(of).collect();
        all.into_iter().collect()
    }
}

/// Applies `--quick`, looks at everything, and fills in defaults.
///
/// # Errors
/// Every fault that was found, each saying where it is and what is allowed.
pub fn check(mut experiment: Experiment, quick: bool) -> Result<Checked, Vec<String>> {
    let mut faults = Vec::new();
    if quick {
        hurry(&mut experiment, &mut faults);
    }
    names(&experiment, &mut faults);
    numbers(&experiment, &mut faults);
    ranges(&experiment, &mut faults);
    let baseline = baseline(&experiment, &mut faults);
    for variant in &experiment.variants {
        settings_of(&variant.settings, &format!("variant '{}'", variant.name), &mut faults);
        pools_of(variant, &mut faults);
    }
    settings_of(&experiment.settings, "[settings]", &mut faults);
    roles(&experiment, &mut faults);
    let kind = kinds::find(&experiment.workload.kind);
    if kind.is_none() {
        faults.push(unknown_kind(&experiment.workload.kind));
    }
    let params: Vec<_> = experiment
        .variants
        .iter()
        .filter_map(|variant| params_of(&experiment.workload, &variant.workload, &mut faults))
        .collect();
    faults.extend(params.iter().filter_map(|params| params.fault(experiment.memory_limit_mib)));
    if let Some(kind) = kind {
        let variants = experiment.variants.iter();
        faults.extend(variants.filter_map(|variant| kinds::later_fault(kind, variant)));
        load::look(&experiment, kind.name, &params, &mut faults);
        if experiment.at_work && !kinds::works_from_start(kind) {
            faults.push(format!("at_work: '{}' cannot be measured while it settles", kind.name));
        }
    }
    let metrics = kind.map(|kind| metrics(&experiment, kind, &mut faults)).unwrap_or_default();
    advise(&experiment, &metrics, baseline, &mut faults);
    faults.sort_unstable();
    faults.dedup();
    match (kind, faults.is_empty()) {
        (Some(kind), true) => Ok(Checked { experiment, kind, params, baseline, metrics }),
        _ => Err(faults),
    }
}

fn hurry(experiment: &mut Experiment, faults: &mut Vec<String>) {
    let quick = experiment.quick.clone();
    if quick == Quick::default() {
        faults.push("--quick: the file has no [quick], which says what to run less of".into());
    }
    if let Some(repetitions) = quick.repetitions {
        experiment.stop.repetitions = repetitions;
        experiment.stop.max_repetitions = 0;
    }
    experiment.measure_s = quick.measure_s.unwrap_or(experiment.measure_s);
    experiment.manage_s = quick.manage_s.unwrap_or(experiment.manage_s);
    experiment.workload.params.extend(quick.workload);
    if let (Some(load), Some(steps)) = (&mut experiment.load, quick.load_steps) {
        load.steps = steps;
    }
    for name in &quick.without {
        let before = experiment.variants.len();
        experiment.variants.retain(|variant| variant.name != *name);
        if experiment.variants.len() == before {
            faults.push(format!("[quick] leaves out '{name}', and no variant is called so"));
        }
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_';
    (1..=40).contains(&text.len()) && text.bytes().all(allowed) && !text.starts_with(['.', '-'])
}

fn names(experiment: &Experiment, faults: &mut Vec<String>) {
    let variants = experiment.variants.iter().map(|variant| &variant.name);
    for name in variants.clone().chain([&experiment.name]) {
        if !is_name(name) {
            faults.push(format!(
                "the name '{}' must be 1 to 40 letters, digits, '-', '_' and '.'",
                name.escape_debug()
            ));
        }
    }
    let unique: BTreeSet<_> = variants.collect();
    if unique.len() < experiment.variants.len() {
        faults.push("two variants have the same name".into());
    }
    if experiment.variants.is_empty() || experiment.variants.len() > VARIANTS_MAX {
        faults.push(format!(
            "there are {} variants: 1 to {VARIANTS_MAX} can be run",
            experiment.variants.len()
        ));
    }
}

fn numbers(experiment: &Experiment, faults: &mut Vec<String>) {
    let stop = &experiment.stop;
    let last = stop.max_repetitions.max(stop.repetitions);
    if stop.repetitions == 0 || last > REPETITIONS_MAX {
        faults.push(format!("[stop] repetitions must be from 1 to {REPETITIONS_MAX}"));
    }
    if !(1..=MEASURE_MAX_S).contains(&experiment.measure_s) {
        faults.push(format!("measure_s must be from 1 to {MEASURE_MAX_S}"));
    }
    if !(stop.error_rate > 0.0 && stop.error_rate < 0.5) {
        faults.push("[stop] error_rate must be above 0 and below 0.5".into());
    }
    let (settle, noise) = (&experiment.settle, &experiment.noise);
    let shares = [
        ("[stop] interval_percent", stop.interval_percent.unwrap_or(1.0)),
        ("[settle] within_percent", settle.within_percent),
        ("[noise] busy_percent", noise.busy_percent),
        ("[noise] refuse_busy_percent", noise.refuse_busy_percent),
        ("[noise] steal_percent", noise.steal_percent),
        ("[noise] refuse_steal_percent", noise.refuse_steal_percent),
    ];
    for (name, value) in shares {
        // Not a number is neither.
        if !(value > 0.0 && value <= 100.0) {
            faults.push(format!("{name} must be above 0 and at most 100"));
        }
    }
}

/// Waits and sizes that an experiment may ask for.
fn ranges(experiment: &Experiment, faults: &mut Vec<String>) {
    let settle = &experiment.settle;
    let all = [
        ("manage_s", Some(experiment.manage_s), 0, MEASURE_MAX_S),
        ("[noise] patience_s", Some(experiment.noise.patience_s), 0, MEASURE_MAX_S),
        ("[settle] max_s", Some(settle.max_s), 0, SETTLE_MAX_S),
        ("fragment_release_s", experiment.fragment_release_s, 0, MEASURE_MAX_S),
        ("warm_mib", experiment.warm_mib, 0, MIB_MAX),
        ("memory_limit_mib", experiment.memory_limit_mib, LIMIT_MIN_MIB, MIB_MAX),
    ];
    for (name, value, least, most) in all {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            faults.push(format!("{name} must be from {least} to {most}"));
        }
    }
    if settle.still_s > settle.max_s {
        faults.push("[settle] still_s must be at most max_s".into());
    }
}

fn baseline(experiment: &Experiment, faults: &mut Vec<String>) -> usize {
    let Some(name) = &experiment.baseline else { return 0 };
    let found = experiment.variants.iter().position(|variant| variant.name == *name);
    if found.is_none() {
        faults.push(format!("baseline = '{name}', and no variant is called so"));
    }
    found.unwrap_or(0)
}

/// Whether what it finds a value for can be told from what it measures.
fn advise(
    experiment: &Experiment,
    metrics: &[MetricSpec],
    baseline: usize,
    faults: &mut Vec<String>,
) {
    let Some(Advise { key, metric: wanted, variant }) = &experiment.advise else { return };
    if !ADVISABLE.contains(&key.as_str()) {
        let (key, known) = (key.escape_debug(), ADVISABLE.join(", "));
        faults.push(format!(
            "[advise] key: no experiment finds a value for '{key}', but for {known}"
        ));
    }
    let measured = metrics.iter().find(|one| one.key == *wanted);
    let better = |one: &MetricSpec| one.better.or(metric::find(&one.key).map(|found| found.better));
    if !matches!(measured.and_then(better), Some(Better::Lower | Better::Higher)) {
        let wanted = wanted.escape_debug();
        faults.push(format!("[advise] metric: '{wanted}' is no metric here that is good or bad"));
    }
    let place = experiment.variants.iter().position(|one| one.name == *variant);
    if place.is_none_or(|place| place == baseline) {
        let variant = variant.escape_debug();
        faults.push(format!("[advise] variant: '{variant}' is no variant beside the baseline"));
    }
}

fn settings_of(given: &BTreeMap<String, String>, place: &str, faults: &mut Vec<String>) {
    for (key, value) in given {
        if settings::file(key).is_none() {
            faults.push(format!(
                "{place}: '{key}' is no setting that an experiment may change; known are paths \
                 below /sys/kernel/mm/transparent_hugepage, as 'khugepaged/max_ptes_none', sysctls \
                 of memory, as 'vm.compaction_proactiveness', and files below /sys/kernel/mm/ksm, \
                 as 'ksm/run'"
            ));
        }
        if value.is_empty() || value.len() > 64 || value.contains(char::is_control) {
            faults.push(format!("{place}: the value of '{key}' must be a short text"));
        }
    }
}

fn pools_of(variant: &Variant, faults: &mut Vec<String>) {
    for text in variant.hugetlb.keys() {
        if let Err(error) = size::parse(text) {
            faults.push(format!("variant '{}', hugetlb: {error}", variant.name));
        }
    }
}

/// Whether each part is of a kind that can play it.
fn roles(experiment: &Experiment, faults: &mut Vec<String>) {
    for part in experiment.beside.iter().chain(&experiment.fragment) {
        params_of(part, &BTreeMap::new(), faults);
    }
    for part in &experiment.beside {
        let start = kinds::find(&part.kind).map(|kind| kind.start);
        if !matches!(start, Some(Start::BuiltIn | Start::Beside)) {
            faults.push(format!(
                "[[beside]]: '{}' cannot run beside a workload; '{}' and all built-in kinds can",
                part.kind.escape_debug(),
                kinds::STRESS_NG
            ));
        }
    }
    let holders = kinds::all().filter(|kind| kind.more == More::Release).map(|kind| kind.name);
    let holders: Vec<_> = holders.collect();
    if let Some(part) = &experiment.fragment
        && !holders.contains(&part.kind.as_str())
    {
        let (known, kind) = (holders.join(", "), part.kind.escape_debug());
        faults.push(format!("fragment: '{kind}' breaks no memory into pieces; {known} do"));
    }
    let kind = kinds::find(&experiment.workload.kind);
    if let Some(kind) = kind.filter(|kind| kind.start == Start::Beside) {
        faults.push(format!("'{}' is no workload: it runs in [[beside]]", kind.name));
    }
}

fn unknown_kind(name: &str) -> String {
    let known: Vec<_> = kinds::all().map(|kind| kind.name).collect();
    format!("there is no workload '{}'; there are {}", name.escape_debug(), known.join(", "))
}

/// Parameters of a workload with those that differ in a variant.
fn params_of(
    workload: &Workload,
    differing: &BTreeMap<String, Value>,
    faults: &mut Vec<String>,
) -> Option<Params> {
    let Some(kind) = kinds::find(&workload.kind) else {
        faults.push(unknown_kind(&workload.kind));
        return None;
    };
    let mut given = workload.params.clone();
    given.extend(differing.clone());
    Params::new(kind, &given).map_err(|error| faults.push(error.to_string())).ok()
}

/// The metrics that are looked at; without any in the file all of the kind, deciding nothing.
fn metrics(experiment: &Experiment, kind: &Kind, faults: &mut Vec<String>) -> Vec<MetricSpec> {
    for wanted in &experiment.metrics {
        if metric::find(&wanted.key).is_none() && wanted.better.is_none() {
            faults.push(format!(
                "there is no metric '{}'; '{}' measures {}. One that the file defines needs \
                 'better' (lower, higher or neither) and 'unit'",
                wanted.key,
                kind.name,
                kind.metrics.join(", ")
            ));
        }
        let margin = wanted.equal_within_percent.unwrap_or(1.0);
        if !(margin > 0.0 && margin < 100.0) {
            let key = &wanted.key;
            faults.push(format!("metric '{key}': equal_within_percent is above 0, below 100"));
        }
    }
    let mut all = experiment.metrics.clone();
    for key in kind.metrics {
        if all.iter().all(|wanted| wanted.key != *key) {
            all.push(MetricSpec::shown(key));
        }
    }
    all
}

#[cfg(test)]
mod tests;
