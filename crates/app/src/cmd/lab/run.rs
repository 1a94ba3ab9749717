//! `hugewise lab run`.

use super::prepare::{Prepared, planned, prepare};
use super::results::Results;
use super::stages::{Log, now};
use super::{obstacles, report, setup};
use crate::cli::{Global, LabExperiment, LabRunArgs, duration};
use crate::exit;
use crate::output::Output;
use crate::progress;
use crate::say::note;
use hugewise_experiment::across::environments;
use hugewise_experiment::check::Checked;
use hugewise_experiment::record::{Record, Resumed, RunPlan, SCHEMA};
use hugewise_experiment::stages;
use hugewise_lab::engine::{self, Ended, Start};
use hugewise_lab::environment::{Environment, utc};
use hugewise_lab::session::Session;
use hugewise_lab::stage::Stage;
use hugewise_lab::stale;
use hugewise_lab::store::Store;
use hugewise_linux::instance::{ENDING, InstanceLock, LockError, Role};
use hugewise_linux::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// What an interruption leaves behind.
const AFTERWARDS: &str = "the runs so far are kept and every setting is as it was; the same \
                          command continues it";

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabRunArgs, text: String) -> anyhow::Result<Output> {
    let prepared = prepare(&args.which, text)?;
    let name = &prepared.checked.experiment.name;
    let own = || setup::directory(name, args.which.quick);
    let directory = args.output.clone().unwrap_or_else(own);
    if args.trials.dry_run {
        return setup::tell(global, &prepared, &directory, exit::OK, "");
    }
    let found = Store::at(&directory).plan()?;
    let mut plan = match &found {
        Some(old) => resumable(&args.which, args.trials.seed, &prepared, old, &directory)?,
        None => new(&args.which, args.trials.seed, prepared),
    };
    // What is run is what the plan says, whatever this start would have planned.
    let checked = planned(&plan)?;
    needs_leave(&checked, args.trials.machine_wide)?;
    permitted(&checked, found.is_some())?;
    let log = Log::begin(args.trials.stages.as_deref(), global)?;
    let way = Way {
        purpose: "lab",
        afterwards: AFTERWARDS,
        state_dir: &args.trials.state_dir,
        directory: Some(&directory),
        noisy: args.noisy,
        start: Start { of: String::new(), until: until(args.r#for.as_deref())? },
    };
    carry_out(&checked, &mut plan, found.as_ref(), &way)?;
    if let Some(log) = log {
        let proof = directory.display().to_string();
        log.add(&stages::Stage::of_summary(&Results::read(&directory)?.summary(), now(&proof)))?;
    }
    report::tell(global, &directory)
}

/// How a plan is carried out.
#[derive(Debug)]
pub(in crate::cmd) struct Way<'a> {
    /// Part of the name of the session's directory.
    pub(in crate::cmd) purpose: &'static str,
    /// What an interruption leaves behind.
    pub(in crate::cmd) afterwards: &'static str,
    /// Directory of the settings trail.
    pub(in crate::cmd) state_dir: &'a Path,
    /// Where the results are; `None`: they go with the session, and so does its trail.
    pub(in crate::cmd) directory: Option<&'a Path>,
    /// Whether it also runs on a machine that is not quiet.
    pub(in crate::cmd) noisy: bool,
    /// What bounds this start.
    pub(in crate::cmd) start: Start,
}

/// Carries out a plan, from where an earlier start, `found`, left it; the records of all runs.
pub(in crate::cmd) fn carry_out(
    checked: &Checked,
    plan: &mut RunPlan,
    found: Option<&RunPlan>,
    way: &Way<'_>,
) -> anyhow::Result<Vec<Record>> {
    let _lock = alone(&Root::live(), way.state_dir)?;
    let ended = carry_on(checked, plan, found, way)?;
    if let Some(why) = ended.why.text() {
        note(why);
    }
    Ok(ended.records)
}

/// The same, for who has made sure to be [`alone`].
pub(super) fn carry_on(
    checked: &Checked,
    plan: &mut RunPlan,
    found: Option<&RunPlan>,
    way: &Way<'_>,
) -> anyhow::Result<Ended> {
    let session = Session::start(way.purpose, way.afterwards, progress::line())?;
    let own = session.directory().to_owned();
    let (directory, state_dir) = match way.directory {
        Some(directory) => (directory.to_owned(), way.state_dir.to_owned()),
        None => (own.join("results"), own.join("state")),
    };
    let store = Store::create(&directory)?;
    if store.plan()?.as_ref() != found {
        anyhow::bail!("another start wrote to {} just now: start again", directory.display());
    }
    let (mut stage, left) = Stage::open(checked, session, &state_dir, way.noisy)?;
    for step in &left {
        note(&format!("left by an experiment that was killed: {step}"));
    }
    // Looked at once the settings are back.
    let is_round = !way.start.of.is_empty();
    if found.is_none() || !is_round {
        begin(plan, found, &store)?;
    }
    let ended = engine::run(checked, plan, &store, &mut stage, &way.start);
    // Before anything is said, everything is as it was.
    drop(stage);
    ended
}

/// The moment from which no further run is begun.
pub(super) fn until(length: Option<&str>) -> anyhow::Result<Option<Instant>> {
    let length = length.map(duration).transpose()?;
    Ok(length.map(|length| Instant::now() + Duration::from_nanos(length.0)))
}

/// Refuses what cannot run at all.
pub(super) fn permitted(checked: &Checked, resumed: bool) -> anyhow::Result<()> {
    let missing = obstacles::missing_programs(checked);
    if !missing.is_empty() {
        return Err(exit::coded(exit::PARTIAL, format!("skipped: {}", missing.join("; "))));
    }
    // A new plan leaves such variants out; one that was made earlier, or by root, has them.
    let obstacles = if resumed { obstacles::of_variants(checked) } else { BTreeMap::new() };
    obstacles.first_key_value().map_or(Ok(()), |(variant, why)| {
        let message = format!(
            "the experiment cannot continue here: '{variant}' of its plan cannot be run: {why}. \
             Give another directory by --output to begin one without it"
        );
        Err(exit::coded(exit::PARTIAL, message))
    })
}

/// Refuses what touches programs outside the experiment, unless that was allowed.
pub(in crate::cmd) fn needs_leave(checked: &Checked, machine_wide: bool) -> anyhow::Result<()> {
    let wide = checked.machine_wide();
    wide.first().filter(|_| !machine_wide).map_or(Ok(()), |(key, value)| {
        let message = format!(
            "{key} = {value} would change the memory of every program of this machine: give \
             --machine-wide where that may be"
        );
        Err(exit::coded(exit::REFUSED, message))
    })
}

/// Proof that no other experiment and no manager of the whole machine, which would be part of every
/// variant, is running here; what killed ones have left behind is cleared.
pub(super) fn alone(root: &Root, state_dir: &Path) -> anyhow::Result<InstanceLock> {
    let lock = InstanceLock::take(root, state_dir, Role::Lab).map_err(refused)?;
    let manager = InstanceLock::take_from_ending(root, state_dir, Role::Manager, ENDING);
    drop(manager.map_err(refused)?);
    lock.remarks().iter().for_each(|remark| note(remark));
    stale::clear(root);
    Ok(lock)
}

fn refused(error: LockError) -> anyhow::Error {
    match error {
        LockError::Taken(..) => exit::coded(exit::REFUSED, error.to_string()),
        LockError::Missing(..) | LockError::Io(..) => error.into(),
    }
}

/// The plan of what is in the directory already, if this start asks for the same.
pub(super) fn resumable(
    which: &LabExperiment,
    seed: Option<u64>,
    prepared: &Prepared,
    old: &RunPlan,
    directory: &Path,
) -> anyhow::Result<RunPlan> {
    let differs = if old.text != prepared.text || old.quick != which.quick {
        Some("another experiment, or this one before its file was changed".to_owned())
    } else if seed.is_some_and(|seed| seed != old.seed) {
        Some(format!("this experiment with the seed {}", old.seed))
    } else {
        let checked = planned(old)?;
        let planned: BTreeSet<&str> = checked.variants().iter().map(|v| v.name.as_str()).collect();
        let asked: BTreeSet<&str> = which.variant.iter().map(String::as_str).collect();
        let names: Vec<&str> = planned.iter().copied().collect();
        (!asked.is_empty() && asked != planned)
            .then(|| format!("this experiment with the variants {}", names.join(", ")))
    };
    if let Some(what) = differs {
        anyhow::bail!(
            "{} holds {what}: give another directory by --output, or move that one away",
            directory.display()
        );
    }
    let mut plan = old.clone();
    plan.repetitions = which.repetitions.or(old.repetitions);
    Ok(plan)
}

/// The plan of an experiment that begins.
pub(super) fn new(which: &LabExperiment, seed: Option<u64>, prepared: Prepared) -> RunPlan {
    let empty = plan();
    RunPlan {
        text: prepared.text,
        quick: which.quick,
        seed: seed.unwrap_or(empty.seed),
        repetitions: which.repetitions,
        without: prepared.without,
        ..empty
    }
}

/// A plan that says nothing but in which order the variants come: another one each time.
pub(crate) fn plan() -> RunPlan {
    RunPlan {
        schema: SCHEMA,
        text: String::new(),
        quick: false,
        seed: seed(),
        repetitions: None,
        without: BTreeMap::new(),
        began: None,
        environment: serde_json::Value::Null,
        resumed: Vec::new(),
    }
}

/// Writes down when and where it begins, or what has changed since.
fn begin(plan: &mut RunPlan, found: Option<&RunPlan>, store: &Store) -> anyhow::Result<()> {
    let began = utc(SystemTime::now());
    let environment = serde_json::to_value(Environment::read(&Root::live()))?;
    if let Some(old) = found {
        let directory = store.directory().display();
        note(&format!("continuing the experiment in {directory}"));
        let changed = environments(&old.environment, &environment);
        let changed = changed.into_iter().map(|(key, then, now)| format!("{key}: {then} -> {now}"));
        let changed: Vec<String> = changed.collect();
        for text in &changed {
            note(&format!("not as it was when the experiment began: {text}"));
        }
        let repetitions = plan.repetitions.filter(|_| plan.repetitions != old.repetitions);
        if repetitions.is_some() {
            note("other repetitions than before: the report says so");
        }
        let runs = store.records()?.len();
        plan.resumed.push(Resumed { began, runs, repetitions, environment_changed: changed });
    } else {
        (plan.began, plan.environment) = (began, environment);
    }
    store.begin(plan)
}

/// Another one each time.
fn seed() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(time.subsec_nanos()) ^ time.as_secs().rotate_left(20)
}
