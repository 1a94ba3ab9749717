//! `hugewise lab limit`: at which rate a server on this machine is full, and what is full then.

use super::prepare::bounded;
use super::stages::{Log, now};
use crate::cli::{Global, LimitArgs};
use crate::cmd::watch::watch;
use crate::exit;
use crate::output::{Asked, Output, paint};
use crate::progress;
use crate::render::view::limit as view;
use crate::stop::Stop;
use anyhow::Context;
use hugewise_base::format::Format;
use hugewise_base::units::Ns;
use hugewise_evidence::diagnose::{Thresholds, diagnose};
use hugewise_evidence::recording::Recording;
use hugewise_experiment::limit::{
    Around, Before, Bounds, Judged, Limit, Outcome, Resource, SCHEMA, Search, Step, check,
    is_served, judge,
};
use hugewise_experiment::load::{ArrivalKind, LoadResult, LoadSpec, Operations, Target};
use hugewise_experiment::stages::Stage;
use hugewise_lab::load::{self, Access};
use hugewise_lab::session::Session;
use hugewise_linux::root::Root;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What an interruption leaves behind.
const AFTERWARDS: &str = "no more requests are sent, and nothing was written";
/// Where the result goes.
const OUTPUT: &str = "hugewise-limit.json";
/// Largest file of an earlier result: twelve steps took 160 KiB, and there are forty at most.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The server has its caches warm by then.
const WARM_UP_S: u64 = 2;
/// A server comes to rest in this time after a rate that it could not serve.
const REST: Duration = Duration::from_secs(2);
/// So long the machine is watched before the load begins, seconds; no longer than a step. A
/// judgement: what others do is seen in ten samples.
const BEFORE_S: u64 = 5;
/// A server that fails so many of its first requests is not the one that was meant. A judgement.
const FAILED_SHARE: f64 = 0.05;
/// A machine that is busier than that at the lowest rate does something else, too. A judgement.
const BUSY_SHARE: f64 = 0.25;
/// A request that has no answer by then has failed.
const TIMEOUT_MS: u64 = 10_000;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &LimitArgs) -> anyhow::Result<Output> {
    let target = args.target.parse::<Target>();
    target.map_err(|error| exit::coded(exit::USAGE, error.to_string()))?;
    if args.from > args.most {
        let why = format!("--from {} is above --most {}", args.from, args.most);
        return Err(exit::coded(exit::USAGE, why));
    }
    let before = args.check.as_deref().map(read).transpose()?;
    if let Some(other) = before.as_ref().filter(|before| before.target != args.target) {
        let why = format!("--check: that is the limit of {}, not of {}", other.target, args.target);
        return Err(exit::coded(exit::USAGE, why));
    }
    let alone = args.check.is_none() && !global.json;
    let output = args.output.clone().or_else(|| alone.then(|| PathBuf::from(OUTPUT)));
    let asked = output.as_deref().map(|path| Asked::begin(path, global)).transpose()?;
    let log = Log::begin(args.stages.as_deref(), global)?;
    let mut limit = found(args)?;
    if let Some(before) = &before {
        limit.checked = check(&before.judged, &limit.judged, args.factor);
        if limit.checked.is_none() {
            limit.notes.push("--check: that file holds no prediction".to_owned());
        }
    }
    if let Some(log) = log {
        let file = output.as_deref().map_or_else(String::new, |path| path.display().to_string());
        let before = before.as_ref();
        log.add(&[Stage::of_limit(&limit, before, &args.change, now(&file))])?;
    }
    let text = serde_json::to_string_pretty(&limit)? + "\n";
    if let Some(text) = asked.map(|asked| asked.finish(text)).transpose()?.flatten() {
        return Ok(Output::text(text, code(&limit)));
    }
    match global.json {
        true => Output::pretty_json(&serde_json::to_value(&limit)?, code(&limit)),
        false => {
            Ok(Output::text(view::text(&limit, output.as_deref(), paint(global)), code(&limit)))
        }
    }
}

fn code(limit: &Limit) -> u8 {
    let known = limit.judged.limit.as_ref().is_some_and(|limit| !limit.resource.is_ours());
    match &limit.checked {
        _ if !known || limit.judged.served_per_s.is_none() => exit::PARTIAL,
        Some(checked) if checked.outcome != Outcome::AsExpected => exit::WARNING,
        _ => exit::OK,
    }
}

/// An earlier result.
fn read(path: &Path) -> anyhow::Result<Limit> {
    let file = std::fs::File::open(path);
    let file = file.with_context(|| format!("--check: cannot open '{}'", path.display()))?;
    let text = bounded("a result of 'lab limit'", path, file, FILE_BYTES_MAX)?;
    let limit: Limit = serde_json::from_str(&text).map_err(|error| {
        anyhow::anyhow!("--check: '{}' is no result of 'lab limit': {error}", path.display())
    })?;
    let format = Format { what: "a result of 'lab limit'", version: SCHEMA };
    format.check(limit.schema).with_context(|| format!("--check '{}'", path.display()))?;
    Ok(limit)
}

/// Tries rates until the limit is known.
fn found(args: &LimitArgs) -> anyhow::Result<Limit> {
    let session = Session::start("limit", AFTERWARDS, progress::line())?;
    let mut trial = Trial { args, session, root: Root::live(), alone: None };
    let bounds = Bounds { p99_max: args.p99_ms.map(Ns::ms) };
    let search = Search { from_per_s: args.from, most_per_s: args.most, bounds };
    let before = trial.before()?;
    let (warm, _) = trial.load("warming up", args.from, WARM_UP_S, false)?;
    answers(&warm, args.from)?;
    let mut steps: Vec<Step> = Vec::new();
    let mut notes = Vec::new();
    while let Some(rate) = search.next(&steps) {
        let (step, said) = trial.step(rate, steps.len() + 1)?;
        notes.extend(said);
        let first = steps.first().unwrap_or(&step);
        let served = is_served(&step, first, bounds);
        trial.alone = trial.alone.or(step.service);
        steps.push(step);
        if !served {
            trial.session.sleep(REST)?;
        }
    }
    let cpus = std::thread::available_parallelism().ok();
    let cpus = cpus.and_then(|cpus| u32::try_from(cpus.get()).ok());
    let around = Around { bounds, connections: args.connections, cpus, before };
    let judged = judge(&steps, &around);
    notes.extend(steps.first().and_then(|lowest| beside(lowest, &judged)));
    notes.sort();
    notes.dedup();
    Ok(Limit {
        schema: SCHEMA,
        target: args.target.clone(),
        connections: args.connections,
        step_s: args.seconds as f64,
        bounds,
        cpus,
        before: Some(around.before),
        judged,
        steps,
        checked: None,
        notes,
    })
}

/// That the machine is busy where the server has next to nothing to do, and no program is known
/// that has most of it.
fn beside(lowest: &Step, judged: &Judged) -> Option<String> {
    let known = judged.others.as_ref().map_or(0.0, |others| others.percent / 100.0);
    if known >= BUSY_SHARE / 2.0 {
        return None;
    }
    let of_all = lowest.used.iter().find(|used| used.resource == Resource::Cpus);
    let percent = 100.0 * of_all.map(|used| used.share).filter(|share| *share >= BUSY_SHARE)?;
    Some(format!(
        "all CPUs are {percent:.0} % in use at the lowest rate already: where others use them, \
         limit and prediction hold beside them only"
    ))
}

/// An error where the lowest rate fails already: then there is no limit to find, but a mistake.
fn answers(load: &LoadResult, rate: f64) -> anyhow::Result<()> {
    let (failed, all) = (load.failures(), load.intended.unwrap_or(0));
    let Some((kind, _)) = load.failed.iter().max_by_key(|(_, count)| **count) else {
        return Ok(());
    };
    if (failed as f64) < FAILED_SHARE * all as f64 {
        return Ok(());
    }
    let quote = load.errors.iter().max_by_key(|(_, count)| **count);
    let quote = quote.map_or_else(String::new, |(quote, _)| format!(" ({quote})"));
    anyhow::bail!(
        "{failed} of {all} requests failed at {rate}/s already: {kind}{quote}; give a URL that is \
         answered, or a lower --from"
    )
}

/// The server under load, and this machine watched meanwhile.
struct Trial<'a> {
    args: &'a LimitArgs,
    session: Session,
    root: Root,
    /// The time of a request at the lowest rate.
    alone: Option<Ns>,
}

impl Trial<'_> {
    /// What the machine does without the load.
    fn before(&mut self) -> anyhow::Result<Before> {
        self.session.step("watching the machine without load".to_owned())?;
        let length = Duration::from_secs(self.args.seconds.min(BEFORE_S));
        let (root, ended) = (&self.root, &AtomicBool::new(false));
        let session = &mut self.session;
        std::thread::scope(|scope| {
            let watcher = scope.spawn(move || record(root, length, ended));
            let slept = session.sleep(length);
            if slept.is_err() {
                ended.store(true, Ordering::Relaxed);
            }
            let recording = watcher.join();
            slept?;
            let Ok(recording) = recording else {
                anyhow::bail!("the machine could not be watched")
            };
            Ok(Before::of(&recording?, std::process::id()))
        })
    }

    fn step(&mut self, rate: f64, number: usize) -> anyhow::Result<(Step, Option<String>)> {
        let label = format!("rate {number}: {rate:.1}/s");
        let (load, recording) = self.load(&label, rate, self.args.seconds, true)?;
        let recording = recording.context("nothing was recorded")?;
        let found = diagnose(&recording, &Thresholds::default());
        let own_pid = std::process::id();
        let step = Step::of(rate, &load, self.alone, (&recording, &found), own_pid);
        let missed = load.misses.filter(|misses| *misses > 0);
        let said = missed.map(|_| "GETs found no key: the server answered without a value");
        Ok((step, said.map(str::to_owned)))
    }

    /// Sends one rate for so long; with what the machine did meanwhile, if that is wanted.
    fn load(
        &mut self,
        label: &str,
        rate: f64,
        seconds: u64,
        watched: bool,
    ) -> anyhow::Result<(LoadResult, Option<Recording>)> {
        let spec = spec(self.args, rate, seconds);
        let session = &mut self.session;
        session.step(label.to_owned())?;
        let (root, ended) = (&self.root, &AtomicBool::new(false));
        let length = Duration::from_secs(seconds);
        std::thread::scope(|scope| {
            let watcher = watched.then(|| scope.spawn(move || record(root, length, ended)));
            let result = load::run(&spec, &Access::default(), &mut |now| {
                let at = now.at.as_s().min(now.time.as_s());
                session.step(format!("{label}, {at:.0} of {:.0} s", now.time.as_s()))
            });
            if result.is_err() {
                ended.store(true, Ordering::Relaxed);
            }
            let recording = watcher.map(|watcher| watcher.join());
            let result = result?;
            let recording = match recording {
                Some(Ok(recording)) => Some(recording?),
                Some(Err(_)) => anyhow::bail!("the machine could not be watched"),
                None => None,
            };
            Ok((result, recording))
        })
    }
}

/// Reads only, random arrivals, and an answer within a time that a person would wait.
fn spec(args: &LimitArgs, rate: f64, seconds: u64) -> LoadSpec {
    let step = format!("constant {rate:.3}/s for {seconds} s");
    LoadSpec {
        connections: args.connections,
        arrivals: ArrivalKind::Poisson,
        operations: Operations { get_percent: 100, set_percent: 0 },
        timeout_ms: TIMEOUT_MS,
        ..LoadSpec::new(&args.target, &[&step])
    }
}

/// What this machine does meanwhile.
fn record(root: &Root, length: Duration, ended: &AtomicBool) -> anyhow::Result<Recording> {
    let watched = watch(root, length, &Stop::never(), |_| {
        anyhow::ensure!(!ended.load(Ordering::Relaxed), "the load has ended");
        Ok(())
    });
    Ok(watched?.finish())
}
