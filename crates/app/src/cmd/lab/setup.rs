//! `hugewise lab setup`: what a run would need, change and take.

use super::prepare::{Prepared, prepare};
use crate::cli::{Global, LabSetupArgs};
use crate::cmd::print;
use crate::exit;
use crate::lab::engine::duration;
use crate::view::text::wrap;
use anyhow::Context;
use hugewise_core::lab::load::Profile;
use hugewise_core::lab::settings;
use hugewise_core::lab::spec::Experiment;
use hugewise_linux::root::Root;
use serde_json::json;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

/// What a run takes beside its measurement, seconds: settling, filling, comparing. A guess, said
/// to be one; once a run has been made its time is known.
const OVERHEAD_S: f64 = 15.0;

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabSetupArgs) -> anyhow::Result<u8> {
    let prepared = prepare(&args.which)?;
    if let Some(path) = &args.write {
        write(path, &prepared.text)?;
    }
    tell(global, &prepared)?;
    let partial = !prepared.missing.is_empty() || !prepared.without.is_empty();
    Ok(if partial { exit::PARTIAL } else { exit::OK })
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    // Never over somebody's work.
    let file = options.write(true).create_new(true).open(path);
    let mut file = file.with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Says what would be done.
pub(super) fn tell(global: &Global, prepared: &Prepared) -> anyhow::Result<()> {
    if global.json {
        let checked = &prepared.checked;
        let json = json!({
            "schema": 1,
            "experiment": checked.experiment,
            "runs": runs(prepared),
            "settings": changes(prepared),
            "machine_wide": checked.machine_wide(),
            "without": prepared.without,
            "missing": prepared.missing,
        });
        return print(&format!("{json}\n"));
    }
    print(&text(prepared))
}

/// Length of a measurement, seconds.
fn measured_s(experiment: &Experiment) -> f64 {
    let load = experiment.load.as_ref();
    let profile = load.and_then(|load| Profile::parse(&load.steps).ok());
    profile.map_or(experiment.measure_s as f64, |profile| profile.time().as_s())
}

fn runs(prepared: &Prepared) -> usize {
    let repetitions = prepared.checked.experiment.stop.repetitions;
    prepared.checked.variants().len() * usize::try_from(repetitions).unwrap_or(usize::MAX)
}

/// Each setting that a variant changes: variant, file, value now, value then.
fn changes(prepared: &Prepared) -> Vec<(String, String, String, String)> {
    let root = Root::live();
    let mut all = Vec::new();
    for variant in prepared.checked.variants() {
        for (key, value) in prepared.checked.settings(variant) {
            let file = settings::file(&key).unwrap_or_default();
            let now = root.read_line(&file).unwrap_or_else(|_| "unknown".into());
            if now != value && !now.contains(&format!("[{value}]")) {
                all.push((variant.name.clone(), format!("/{file}"), now, value));
            }
        }
        for (page, pages) in &variant.hugetlb {
            let what = format!("HugeTLB pool of {page} pages");
            all.push((variant.name.clone(), what, "as it is".into(), format!("{pages} more")));
        }
    }
    all
}

fn text(prepared: &Prepared) -> String {
    let experiment = &prepared.checked.experiment;
    let mut out = wrap("", &format!("{}: {}", experiment.name, experiment.question));
    if !experiment.about.is_empty() {
        let _ = write!(out, "\n{}", wrap("", experiment.about.trim()));
    }
    let _ = writeln!(out, "\nWorkload: {}", experiment.workload.kind);
    if let Some(load) = &experiment.load {
        out += &wrap("Load: ", &load.steps.join(", "));
    }
    let baseline = prepared.checked.baseline;
    for (index, variant) in prepared.checked.variants().iter().enumerate() {
        let role = if index == baseline { " (baseline)" } else { "" };
        let mut about = variant.about.clone();
        if about.is_empty() {
            about = format!("huge pages: {}", variant.huge_pages.key());
            if let Some(manage) = &variant.manage {
                let _ = write!(about, "; managed, mode {}", manage.mode.key());
            }
        }
        out += &wrap(&format!("  {:<16} ", format!("{}{role}", variant.name)), &about);
    }
    let changes = changes(prepared);
    if !changes.is_empty() {
        out += "\nChanged during runs, and put back after each:\n";
    }
    for (variant, file, now, value) in changes {
        out += &wrap("  ", &format!("{variant}: {file}: '{now}' -> '{value}'"));
    }
    for (key, value) in prepared.checked.machine_wide() {
        let text = format!(
            "{key} = {value} changes the memory of every program of this machine: 'run' needs \
             --machine-wide"
        );
        out += &wrap("\nNote: ", &text);
    }
    for (variant, why) in &prepared.without {
        out += &wrap("\nLeft out: ", &format!("{variant}: {why}"));
    }
    for text in &prepared.missing {
        out += &wrap("\nMissing: ", &format!("{text}; without it nothing is run"));
    }
    let seconds = runs(prepared) as f64 * (measured_s(experiment) + OVERHEAD_S);
    let runs = runs(prepared);
    let _ = writeln!(out, "\n{runs} runs; at a guess {} in all.", duration(seconds));
    out
}
