//! Suites: many workloads under the same variants, a round after the other.
//!
//! Each workload is an experiment in a directory of its own below that of the suite. What is done
//! is on disk, whoever ends it: the next start goes on with what is left.

use super::prepare::{Prepared, prepare, refused};
use super::results::Results;
use super::{form, run, setup};
use crate::cli::{Global, LabExperiment, LabReportArgs, LabRunArgs, LabSetupArgs};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::colour::Paint;
use crate::render::view::regret as view;
use crate::say::note;
use hugewise_experiment::across::environments;
use hugewise_experiment::check::Checked;
use hugewise_experiment::enough::Enough;
use hugewise_experiment::record::RunPlan;
use hugewise_experiment::regret::{self, Material, Report};
use hugewise_experiment::schedule;
use hugewise_experiment::suite::{Asked, Part, SCHEMA, Suite, SuitePlan};
use hugewise_lab::engine::Start;
use hugewise_lab::environment::{self, Environment, utc};
use hugewise_lab::store::Store;
use hugewise_linux::root::Root;
use hugewise_manager::config::Mode;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// What an interruption leaves behind.
const AFTERWARDS: &str = "the runs so far are kept and every setting is as it was; the same \
                          command continues them";
/// What of a machine must stay as it is while a suite lasts: kernel, processor, hugewise itself.
const SAME: [&str; 4] = ["kernel", "cpu", "cpus", "hugewise"];

/// A workload that can be run here.
struct Workload {
    name: String,
    directory: PathBuf,
    checked: Checked,
    plan: RunPlan,
    /// How long all its runs take, seconds.
    seconds: f64,
}

/// Whether a text is that of a suite.
pub(super) fn is_one(text: &str) -> bool {
    text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("row"))
}

/// The suite of a plan, and the experiments that follow from it; `name` is what it is called.
fn read(name: &str, plan: &SuitePlan) -> anyhow::Result<(Suite, Vec<Part>)> {
    let suite: Suite = form::read(name, &plan.text).map_err(|faults| refused(name, &faults))?;
    let parts = suite.parts(&Asked::from(plan));
    Ok((suite, parts.map_err(|faults| refused(name, &faults))?))
}

/// `hugewise lab setup`: what would be run, skipped and changed, and how long it takes.
pub(super) fn setup(global: &Global, args: &LabSetupArgs, text: String) -> anyhow::Result<Output> {
    let plan = planned(&args.which, None, text)?;
    rehearse(global, &args.which, plan, None)
}

/// `hugewise lab run`: what is left of it, and the report.
pub(super) fn run_all(global: &Global, args: &LabRunArgs, text: String) -> anyhow::Result<Output> {
    if args.trials.stages.is_some() {
        let why = "--stages: a suite compares many workloads, and is no stage of one";
        return Err(exit::coded(exit::USAGE, why));
    }
    let new = planned(&args.which, args.trials.seed, text)?;
    let (suite, _) = read(&args.which.experiment, &new)?;
    let minutes = suite.quick.minutes.filter(|_| args.which.quick);
    let minutes = minutes.map(|minutes| format!("{minutes}m"));
    let until = run::until(args.r#for.as_deref().or(minutes.as_deref()))?;
    let directory = args.output.clone();
    let directory = directory.unwrap_or_else(|| setup::directory(&suite.name, args.which.quick));
    if args.trials.dry_run {
        return rehearse(global, &args.which, new, Some(&directory));
    }
    let found = Store::at(&directory).suite()?;
    let mut plan = match found {
        Some(old) => continued(old, &new, args.trials.seed.is_some(), &directory)?,
        None => new,
    };
    let _lock = run::alone(&Root::live(), &args.trials.state_dir)?;
    let workloads = workloads(&mut plan, &args.which, &directory)?;
    for one in &workloads {
        run::needs_leave(&one.checked, args.trials.machine_wide)?;
    }
    let store = Store::create_plain(&directory)?;
    store.begin_suite(&plan)?;
    rounds(args, &plan, &workloads, until)?;
    for one in &workloads {
        if Store::at(&one.directory).plan()?.is_some() {
            let results = Results::read(&one.directory)?;
            results.write(&results.summary())?;
        }
    }
    let report = reported(&plan, &directory)?;
    store.write("regret.json", &serde_json::to_vec_pretty(&report)?)?;
    store.write("regret.txt", view::text(&report, Paint::plain()).as_bytes())?;
    tell(global, &report, Some(&directory))
}

/// `hugewise lab report`.
pub(super) fn report(
    global: &Global,
    args: &LabReportArgs,
    plan: &SuitePlan,
) -> anyhow::Result<Output> {
    if args.markdown {
        let message = "a suite has no Markdown: each workload below its directory has";
        return Err(exit::coded(exit::USAGE, message));
    }
    tell(global, &reported(plan, &args.directory)?, Some(&args.directory))
}

fn tell(global: &Global, report: &Report, directory: Option<&Path>) -> anyhow::Result<Output> {
    let is_whole = report.absent.is_empty() && report.runs[0] >= report.runs[1];
    let code = if is_whole { exit::OK } else { exit::PARTIAL };
    if global.json {
        return Output::json(report, code);
    }
    let mut text = view::text(report, paint(global));
    if let Some(directory) = directory {
        text += &view::places(&directory.display().to_string());
    }
    Ok(Output::text(text, code))
}

/// Says what would be done, and does nothing.
fn rehearse(
    global: &Global,
    which: &LabExperiment,
    mut plan: SuitePlan,
    directory: Option<&Path>,
) -> anyhow::Result<Output> {
    let own = setup::directory(&which.experiment, which.quick);
    let workloads = workloads(&mut plan, which, directory.unwrap_or(&own))?;
    let report = reported(&plan, Path::new(""))?;
    let code = if report.absent.is_empty() { exit::OK } else { exit::PARTIAL };
    if global.json {
        return Output::json(&report, code);
    }
    let (suite, parts) = read(&which.experiment, &plan)?;
    let seconds = workloads.iter().map(|one| one.seconds).sum();
    let wide = workloads.iter().flat_map(|one| one.checked.machine_wide()).collect();
    Ok(Output::text(view::planned(&suite, &parts, &report, &wide, seconds), code))
}

/// A plan of a suite that begins.
fn planned(which: &LabExperiment, seed: Option<u64>, text: String) -> anyhow::Result<SuitePlan> {
    Ok(SuitePlan {
        schema: SCHEMA,
        text,
        quick: which.quick,
        seed: seed.unwrap_or(run::plan().seed),
        rounds: which.repetitions,
        variants: which.variant.clone(),
        workloads: which.workload.clone(),
        environment: serde_json::to_value(Environment::read(&Root::live()))?,
        build: environment::build()?,
        began: utc(SystemTime::now()),
        skipped: BTreeMap::new(),
    })
}

/// The plan that is in the directory already, if this start asks for the same, here.
fn continued(
    old: SuitePlan,
    new: &SuitePlan,
    with_seed: bool,
    directory: &Path,
) -> anyhow::Result<SuitePlan> {
    let machine = environments(&old.environment, &new.environment);
    let other = machine.into_iter().find(|(key, ..)| SAME.contains(&key.as_str()));
    let differs = if old.text != new.text || old.quick != new.quick {
        Some("another suite, or this one before its file was changed".to_owned())
    } else if with_seed && old.seed != new.seed {
        Some(format!("this suite with the seed {}", old.seed))
    } else if !new.variants.is_empty() && old.variants != new.variants {
        Some(format!("this suite with the variants '{}'", old.variants.join(", ")))
    } else if !new.workloads.is_empty() && old.workloads != new.workloads {
        Some(format!("this suite with the workloads '{}'", old.workloads.join(", ")))
    } else if let Some((key, then, now)) = other {
        Some(format!("runs of another machine ({key}: {then}, and here {now})"))
    } else if old.build != new.build {
        Some(format!("runs of another build of hugewise ({}, this is {})", old.build, new.build))
    } else {
        None
    };
    if let Some(what) = differs {
        let place = directory.display();
        anyhow::bail!("{place} holds {what}: give another by --output, or move that one away");
    }
    note(&format!("continuing the suite in {}", directory.display()));
    Ok(SuitePlan { rounds: new.rounds.or(old.rounds), ..old })
}

/// The workloads that can be run here; which cannot, and why, is noted in the plan.
fn workloads(
    plan: &mut SuitePlan,
    asked: &LabExperiment,
    directory: &Path,
) -> anyhow::Result<Vec<Workload>> {
    let (_, parts) = read(&asked.experiment, plan)?;
    let mut all = Vec::new();
    plan.skipped.clear();
    for part in parts {
        let which = LabExperiment {
            experiment: part.name.clone(),
            quick: plan.quick,
            variant: Vec::new(),
            workload: Vec::new(),
            repetitions: plan.rounds,
        };
        match workload(plan.seed, &which, &part, directory.join(&part.name)) {
            Ok(one) => all.push(one),
            Err(error) if exit::of_error(&error) == exit::PARTIAL => {
                plan.skipped.insert(part.name, format!("{error:#}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn workload(
    seed: u64,
    which: &LabExperiment,
    part: &Part,
    directory: PathBuf,
) -> anyhow::Result<Workload> {
    let prepared: Prepared = prepare(which, toml::to_string(&part.experiment)?)?;
    if !prepared.missing.is_empty() {
        return Err(exit::coded(exit::PARTIAL, prepared.missing.join("; ")));
    }
    let seconds = setup::time(&prepared, &directory).seconds;
    let found = Store::at(&directory).plan()?;
    let plan = match &found {
        Some(old) => run::resumable(which, Some(seed), &prepared, old, &directory)?,
        None => run::new(which, Some(seed), prepared),
    };
    let checked = super::planned(&plan)?;
    run::permitted(&checked, found.is_some())?;
    Ok(Workload { name: part.name.clone(), directory, checked, plan, seconds })
}

/// Round after round, the workloads of each in an order that chance makes.
fn rounds(
    args: &LabRunArgs,
    plan: &SuitePlan,
    workloads: &[Workload],
    until: Option<Instant>,
) -> anyhow::Result<()> {
    let most = workloads.iter().map(|one| one.checked.experiment.stop.repetitions).max();
    for round in 0..most.unwrap_or(0) {
        let order = schedule::order(plan.seed, round, workloads.len());
        for (place, at) in order.into_iter().enumerate() {
            let (one, all) = (&workloads[at], workloads.len());
            let of = format!("round {}, {} ({} of {all}), ", round + 1, one.name, place + 1);
            let way = run::Way {
                purpose: "lab",
                afterwards: AFTERWARDS,
                state_dir: &args.trials.state_dir,
                directory: Some(&one.directory),
                noisy: args.noisy,
                start: Start { of, until },
            };
            let found = Store::at(&one.directory).plan()?;
            let mut own = found.clone().unwrap_or_else(|| one.plan.clone());
            let mut checked = one.checked.clone();
            checked.experiment.stop.repetitions = round + 1;
            let ended = run::carry_on(&checked, &mut own, found.as_ref(), &way)?;
            if ended.why == Enough::Start {
                ended.why.text().into_iter().for_each(note);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What the runs so far say.
fn reported(plan: &SuitePlan, directory: &Path) -> anyhow::Result<Report> {
    let (suite, parts) = read("the plan", plan)?;
    let rounds = plan.rounds.unwrap_or(suite.rounds);
    let (mut all, mut runs, mut time) = (Vec::new(), [0, 0], Duration::ZERO);
    let workloads = parts.len();
    let mut ours = Vec::new();
    for part in parts {
        let place = directory.join(&part.name);
        let has_begun = place.join("plan.json").is_file();
        if !has_begun && plan.skipped.contains_key(&part.name) {
            continue;
        }
        let results = has_begun.then(|| Results::read(&place)).transpose()?;
        let begun = results.as_ref().map(|results| results.checked.variants().to_vec());
        let variants = begun.unwrap_or(part.experiment.variants);
        runs[1] += variants.len() * usize::try_from(rounds)?;
        for one in variants {
            let acts = one.manage.as_ref().is_some_and(|manage| manage.mode != Mode::Observe);
            if acts && !ours.contains(&one.name) {
                ours.push(one.name);
            }
        }
        let Some(results) = results else { continue };
        runs[0] += results.records.len();
        time += results.records.iter().map(|one| Duration::from_secs_f64(one.seconds)).sum();
        let (workload, figures, records) = (part.name, part.figures, results.records);
        all.push(Material { workload, figures, without: results.plan.without, records });
    }
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    Ok(Report {
        schema: regret::SCHEMA,
        name: suite.name,
        question: suite.question,
        quick: plan.quick,
        workloads,
        rounds,
        runs,
        seconds: time.as_secs_f64(),
        bars: suite.bars,
        modes: regret::modes(&ours, &all, &suite.bars),
        absent: regret::absent(&plan.skipped, &all),
        environment: plan.environment.clone(),
        began: plan.began.clone(),
    })
}
