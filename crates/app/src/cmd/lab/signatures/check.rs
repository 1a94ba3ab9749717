//! `hugewise lab signatures --check`: are stressors found again, and what is none of them?

use super::file::read;
use super::stressors::{FOREIGN, Load};
use super::watcher::Watcher;

use crate::cli::{Global, LabSignaturesArgs};
use crate::cmd::lab::run::alone;
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::signature::{Checked, Row};
use anyhow::Context;
use hugewise_evidence::diagnose::{Thresholds, diagnose};
use hugewise_evidence::signature::{Resemblance, Signatures, Verdict, resembled};
use hugewise_lab::environment::Environment;
use hugewise_linux::root::Root;
use std::collections::BTreeSet;
use std::time::Duration;

/// A stressor that runs alone is found again at this distance or less.
pub(super) const ALONE_MAX: f64 = 0.1;

/// Runs the stressors again, alone and two by two, and loads of other kinds.
pub(super) fn run(
    global: &Global,
    args: &LabSignaturesArgs,
    stressors: &[&'static Load],
) -> anyhow::Result<Output> {
    let signatures = read(&args.output)?;
    let root = Root::live();
    let environment = Environment::read(&root);
    let has = |load: &Load| signatures.signatures.iter().any(|one| one.name == load.name);
    let able = |load: &&Load| has(load) && load.obstacle(&environment).is_none();
    let stressors: Vec<&Load> = stressors.iter().copied().filter(able).collect();
    anyhow::ensure!(
        !stressors.is_empty(),
        "none of these stressors has a signature that can be checked"
    );
    let _lock = alone(&root, &args.state_dir)?;
    let mut watcher = Watcher::start(root, Duration::from_secs(args.seconds))?;
    let noisy = watcher.settle(args.noisy)?;
    let mut sets: Vec<Vec<&Load>> = stressors.iter().map(|load| vec![*load]).collect();
    for (index, load) in stressors.iter().enumerate() {
        sets.extend(stressors.iter().skip(index + 1).map(|other| vec![*load, *other]));
    }
    sets.extend(FOREIGN.iter().map(|load| vec![load]));
    let mut rows = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        let names: Vec<&str> = set.iter().map(|load| load.name).collect();
        let label = format!("{} ({} of {})", names.join(" + "), number + 1, sets.len());
        let told = seen(&mut watcher, &label, set, &signatures)?;
        let foreign = FOREIGN.iter().any(|load| names == [load.name]);
        let right = is_right(&names, foreign, &told);
        rows.push(Row { ran: names, foreign, right, told });
    }
    drop(watcher);
    let code = if rows.iter().all(|row| row.right) { exit::OK } else { exit::WARNING };
    let checked = Checked { file: args.output.display().to_string(), noisy, rows };
    match global.json {
        true => Output::pretty_json(&checked.json()?, code),
        false => Ok(Output::text(checked.text(paint(global)), code)),
    }
}

/// What the machine resembles while these run: as `diagnose --signatures` says it.
fn seen(
    watcher: &mut Watcher,
    label: &str,
    loads: &[&Load],
    signatures: &Signatures,
) -> anyhow::Result<Resemblance> {
    let thresholds = Thresholds::default();
    let recording = watcher.watch(label, loads)?;
    let found = diagnose(&recording, &thresholds);
    let told = resembled(&recording, &found, &thresholds, signatures);
    told.into_iter().next().context("nothing is known of this machine")
}

/// Whether it is what was to be found: one at a small distance, two by their names, of others
/// nothing.
fn is_right(ran: &[&str], foreign: bool, told: &Resemblance) -> bool {
    if foreign {
        return told.verdict == Verdict::None;
    }
    let named: BTreeSet<&str> = told.parts.iter().map(|part| part.name.as_str()).collect();
    let near = ran.len() > 1 || told.distance.is_some_and(|distance| distance <= ALONE_MAX);
    told.verdict == Verdict::Resembles && near && named == ran.iter().copied().collect()
}
