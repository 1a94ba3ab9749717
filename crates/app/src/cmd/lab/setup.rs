//! `hugewise lab setup`: what a run would need, change and take.

use super::prepare::{Prepared, prepare};
use crate::cli::{Global, LabExperiment, LabSetupArgs};
use crate::output::{Output, refused};
use crate::render::text::wrap;
use crate::say::note;
use crate::{config, exit};
use anyhow::Context;
use hugewise_base::count::counted;
use hugewise_base::escape::printable;
use hugewise_experiment::kinds::Params;
use hugewise_experiment::settings;
use hugewise_lab::engine::duration;
use hugewise_lab::store::Store;
use hugewise_linux::root::Root;
use hugewise_linux::{machine, save};
use hugewise_manager::ownership;
use serde::Serialize;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What a run takes beside its measurements and waits, seconds: coming to rest, filling memory,
/// putting settings back. 3 to 9 s on a VM of two CPUs; once there are runs their time is known.
const OVERHEAD_S: f64 = 6.0;

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabSetupArgs, text: String) -> anyhow::Result<Output> {
    let prepared = prepare(&args.which, text)?;
    let partial = !prepared.missing.is_empty() || !prepared.without.is_empty();
    let code = if partial { exit::PARTIAL } else { exit::OK };
    let name = &prepared.checked.experiment.name;
    tell(global, &prepared, &directory(name, args.which.quick), code, &next(&args.which))
}

/// The command that runs it.
fn next(which: &LabExperiment) -> String {
    let quick = if which.quick { " --quick" } else { "" };
    let more = !which.variant.is_empty() || !which.workload.is_empty();
    let more = if more || which.repetitions.is_some() { ", with the same options" } else { "" };
    format!("Run it: 'hugewise lab run {}{quick}'{more}.\n", printable(&which.experiment))
}

/// Writes the file, where that is wanted: before anything else, as what cannot be run as it is has
/// to be copied, to be made smaller. Never over somebody's work.
pub(super) fn write(args: &LabSetupArgs, text: &str) -> anyhow::Result<()> {
    if let Some(path) = &args.write {
        save::create(path, text.as_bytes()).map_err(refused)?;
        note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Where the results of an experiment are unless the command line says otherwise.
pub(super) fn directory(name: &str, quick: bool) -> PathBuf {
    let quick = if quick { "-quick" } else { "" };
    Path::new("hugewise-lab").join(format!("{name}{quick}"))
}

/// Says what would be done, and what comes next; the directory is where the results would be.
pub(super) fn tell(
    global: &Global,
    prepared: &Prepared,
    directory: &Path,
    code: u8,
    next: &str,
) -> anyhow::Result<Output> {
    let time = time(prepared, directory);
    if global.json {
        let checked = &prepared.checked;
        let json = json!({
            "schema": 1,
            "experiment": checked.experiment,
            "runs": runs(prepared),
            "settings": changes(prepared),
            "managers": managers(prepared)?,
            "seconds": time.seconds,
            "seconds_measured": time.measured,
            "machine_wide": checked.machine_wide(),
            "without": prepared.without,
            "missing": prepared.missing,
        });
        return Output::json(&json, code);
    }
    Ok(Output::text(text(prepared, &managers(prepared)?, &time) + next, code))
}

/// How long all runs would take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Time {
    /// Of all.
    pub(super) seconds: f64,
    /// From runs that were made, and not guessed.
    measured: bool,
}

/// How long the runs of an experiment take, whose results are there.
pub(super) fn time(prepared: &Prepared, directory: &Path) -> Time {
    let runs = runs(prepared) as f64;
    if let Some(mean) = mean_s(prepared, directory) {
        return Time { seconds: runs * mean, measured: true };
    }
    let (checked, repetitions) = (&prepared.checked, prepared.checked.experiment.stop.repetitions);
    let one = |params: &Params| params.run_seconds(&checked.experiment) as f64;
    let all = checked.params.iter().map(|params| one(params) + OVERHEAD_S).sum::<f64>();
    Time { seconds: all * f64::from(repetitions), measured: false }
}

/// Mean time of the runs of this experiment that were made already. What cannot be read is none:
/// it is only a better guess.
fn mean_s(prepared: &Prepared, directory: &Path) -> Option<f64> {
    let store = Store::existing(directory).ok()?;
    let plan = store.plan().ok()??;
    let records = store.records().ok()?;
    let same = plan.text == prepared.text && plan.quick == prepared.quick && !records.is_empty();
    same.then(|| records.iter().map(|record| record.seconds).sum::<f64>() / records.len() as f64)
}

/// Each setting that a variant's manager would change as the machine is now.
fn managers(prepared: &Prepared) -> anyhow::Result<Vec<Change>> {
    let root = Root::live();
    let files = machine::thp_files(&root, machine::geometry(&root));
    let mut all = Vec::new();
    for variant in prepared.checked.variants() {
        let Some(manage) = variant.manage.as_ref().filter(|manage| !manage.keep_settings) else {
            continue;
        };
        let set: Vec<_> = manage.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let config = config::load(None, &set);
        let config = config.with_context(|| format!("variant '{}', manage", variant.name))?.config;
        // Under 'never' the variant is left out, and that is said.
        let wanted = ownership::wanted(&config, manage.mode, &files).unwrap_or_default();
        all.extend(wanted.into_iter().map(|one| Change {
            variant: variant.name.clone(),
            now: now(&root, &one.file),
            what: format!("/{}", one.file),
            then: one.value,
        }));
    }
    Ok(all)
}

fn runs(prepared: &Prepared) -> usize {
    let repetitions = prepared.checked.experiment.stop.repetitions;
    prepared.checked.variants().len() * usize::try_from(repetitions).unwrap_or(usize::MAX)
}

/// A setting that a run changes.
#[derive(Debug, Serialize)]
struct Change {
    variant: String,
    #[serde(rename = "file")]
    what: String,
    now: String,
    then: String,
}

impl Change {
    fn line(&self) -> String {
        let Self { variant, what, now, then } = self;
        wrap("  ", &format!("{variant}: {what}: '{now}' -> '{then}'"))
    }
}

/// A setting's value; of a list of choices the chosen one.
fn now(root: &Root, file: &str) -> String {
    let line = root.read_line(file).unwrap_or_else(|_| "unknown".into());
    let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(line.clone(), |(chosen, _)| chosen.to_owned())
}

/// Each setting that a variant changes.
fn changes(prepared: &Prepared) -> Vec<Change> {
    let root = Root::live();
    let mut all = Vec::new();
    for variant in prepared.checked.variants() {
        for (key, value) in prepared.checked.settings(variant) {
            let file = settings::file(&key).unwrap_or_default();
            let now = now(&root, &file);
            if now != value {
                let (variant, what) = (variant.name.clone(), format!("/{file}"));
                all.push(Change { variant, what, now, then: value });
            }
        }
        for (page, pages) in &variant.hugetlb {
            let what = format!("HugeTLB pool of {page} pages");
            let (now, then) = ("as it is".to_owned(), format!("{pages} more"));
            all.push(Change { variant: variant.name.clone(), what, now, then });
        }
    }
    all
}

fn text(prepared: &Prepared, managers: &[Change], time: &Time) -> String {
    let experiment = &prepared.checked.experiment;
    let mut out = wrap("", &format!("{}: {}", experiment.name, experiment.question));
    if !experiment.about.is_empty() {
        let _ = write!(out, "\n{}", wrap("", experiment.about.trim()));
    }
    let _ = writeln!(out, "\nWorkload: {}", experiment.workload.kind);
    if let Some(load) = &experiment.load {
        let (own, by) = (load.steps.join(", "), load.command.join(" "));
        out += &wrap("Load: ", if by.is_empty() { &own } else { &by });
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
    changes.iter().for_each(|change| out += &change.line());
    if !managers.is_empty() {
        out += "\nChanged by managers of variants, as the machine is now:\n";
    }
    managers.iter().for_each(|change| out += &change.line());
    out += &remarks(prepared);
    let (runs, duration) = (counted(runs(prepared), "run", "runs"), duration(time.seconds));
    let _ = match time.measured {
        true => writeln!(out, "\n{runs}, {duration} in all at the pace of those made so far."),
        false => writeln!(out, "\n{runs}, up to {duration} in all."),
    };
    out
}

/// What needs leave, is left out or is missing.
fn remarks(prepared: &Prepared) -> String {
    let mut out = String::new();
    let wide = prepared.checked.machine_wide();
    let wide: Vec<_> = wide.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if !wide.is_empty() {
        let change = if wide.len() == 1 { "changes" } else { "change" };
        let text = format!(
            "{} {change} the memory of every program of this machine: 'run' needs --machine-wide",
            wide.join(", ")
        );
        out += &wrap("\nNote: ", &text);
    }
    for (variant, why) in &prepared.without {
        out += &wrap("\nLeft out: ", &format!("{variant}: {why}"));
    }
    for text in &prepared.missing {
        out += &wrap("\nMissing: ", &format!("{text}; without it nothing is run"));
    }
    out
}
