//! `hugewise try`.

mod simulated;

use super::lab;
use crate::cli::{Global, STATE_DIR, TryArgs};
use crate::exit;
use crate::output::{Asked, Output};
use crate::progress;
use crate::render::view::trial;
use crate::render::view::trial::model::{SCHEMA, Trial};
use crate::render::view::trial::table;
use crate::render::view::trial::verdict::Verdict;
use anyhow::{Context, bail};
use hugewise_base::size;
use hugewise_base::units::{Bytes, Geometry};
use hugewise_experiment::check::{Checked, check};
use hugewise_experiment::kind::Value;
use hugewise_experiment::kinds::{Executable, Params, Task};
use hugewise_experiment::record::Record;
use hugewise_experiment::spec::Experiment;
use hugewise_lab::environment::Environment;
use hugewise_lab::session::Session;
use hugewise_lab::stage::Stage;
use hugewise_lab::store::Store;
use hugewise_lab::{engine, shipped};
use hugewise_linux::root::Root;
use hugewise_workloads::demo::layout;
use std::path::Path;

/// The default size: enough that base pages do not fit into any TLB, and under two minutes in all.
const SIZE_MAX: Bytes = Bytes::mib(384);
/// Least size that leaves each part a few regions.
const SIZE_MIN: Bytes = Bytes::mib(32);
/// Largest size whose figures fit the table.
const SIZE_LARGEST: Bytes = Bytes::mib(64 * 1024);
/// What a run warms, in percent of the workload: its memory, and where promoted regions move to.
const WARM_PERCENT: u64 = 200;
/// Name of the experiment.
const NAME: &str = "try";

/// Runs the command.
pub(crate) fn run(global: &Global, args: &TryArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let environment = Environment::read(&root);
    let size = wanted_size(args, &environment)?;
    if args.rounds == 0 {
        return Err(exit::coded(exit::USAGE, "--rounds is at least 1"));
    }
    let checked = experiment(size, args.rounds)?;
    // Now, not after two minutes: a report that cannot be written wastes the run.
    let report = Asked::begin(&args.report, global)?;
    let simulated = obstacle(args, &root, &environment, size);
    let parts = layout(size, Geometry::X86_64.huge.0);
    let free_percent = checked.params.first().map_or(0, freed);
    let records = match &simulated {
        Some(_) => simulated::run(&parts, free_percent),
        None => real(&checked)?,
    };
    let rounds = if simulated.is_some() { 1 } else { args.rounds };
    let schema = SCHEMA;
    let shown =
        Trial { schema, simulated, size, parts, rounds, free_percent, environment, records };
    let verdict = Verdict::of(&shown);
    let page = trial::page(&shown, &verdict)?;
    if let Some(page) = report.finish(page)? {
        return Ok(Output::text(page, exit::OK));
    }
    if global.json {
        return Output::json(&shown, exit::OK);
    }
    let (text, report) = (table::text(&shown, &verdict), args.report.display());
    Ok(Output::text(format!("{text}\nReport: {report}\n"), exit::OK))
}

/// How much a trial frees at its end, percent.
fn freed(params: &Params) -> u64 {
    match params.task() {
        Task::Executable(Executable::Demo(demo)) => demo.free_percent,
        _ => 0,
    }
}

/// The shipped experiment, with this much memory and so many repetitions.
fn experiment(size: Bytes, rounds: u32) -> anyhow::Result<Checked> {
    let text = shipped::find(NAME).context("no experiment of that name is shipped")?;
    let mut experiment: Experiment = toml::from_str(text)?;
    let mib = size.0 / Bytes::mib(1).0;
    experiment.workload.params.insert("mib".into(), Value::Count(mib));
    experiment.warm_mib = Some(mib * WARM_PERCENT / 100);
    experiment.stop.repetitions = rounds;
    check(experiment, false).map_err(|faults| exit::coded(exit::USAGE, faults.join("; ")))
}

/// Runs the experiment; its results go with the session. An error when a run failed.
fn real(checked: &Checked) -> anyhow::Result<Vec<Record>> {
    // Its own values are kept with the session; who keeps some in the usual place is asked, too.
    let _alone = lab::alone(&Root::live(), Path::new(STATE_DIR))?;
    let afterwards = "the workload is ended, no setting was changed";
    let session = Session::start(NAME, afterwards, progress::line())?;
    let directory = session.directory().to_owned();
    let store = Store::create(&directory.join("results"))?;
    // Nobody is told to wait for a quiet machine: what disturbed is shown.
    let (mut stage, _) = Stage::open(checked, session, &directory.join("state"), true)?;
    let ended = engine::run(checked, &lab::plan(), &store, &mut stage)?;
    let failed = ended.records.iter().filter_map(|record| {
        let problem = record.outcome.problem()?;
        Some(format!("{}: {problem}", record.variant))
    });
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        let all = ended.records.len();
        bail!("{} of {all} runs failed:\n  {}", failed.len(), failed.join("\n  "));
    }
    Ok(ended.records)
}

fn wanted_size(args: &TryArgs, environment: &Environment) -> anyhow::Result<Bytes> {
    let Some(text) = &args.size else {
        let quarter = environment.mem_available.map_or(SIZE_MAX, |bytes| bytes.percent(25.0));
        return Ok(quarter.min(SIZE_MAX).max(SIZE_MIN));
    };
    let size = size::with_unit(text);
    let size = size.map_err(|why| exit::coded(exit::USAGE, format!("--size {why}")))?;
    let size = Bytes(size.bytes());
    if size < SIZE_MIN || size > SIZE_LARGEST {
        let message = format!("--size is from {SIZE_MIN} to {SIZE_LARGEST}");
        return Err(exit::coded(exit::USAGE, message));
    }
    // Who says how large does not want a simulation instead.
    match too_large(environment, size).filter(|_| !args.simulate) {
        Some(why) => Err(exit::coded(exit::ERROR, format!("--size {text}: {why}"))),
        None => Ok(size),
    }
}

/// Why nothing real can be done here; `None` when it can.
fn obstacle(args: &TryArgs, root: &Root, environment: &Environment, size: Bytes) -> Option<String> {
    if args.simulate {
        return Some("--simulate asked for a simulation".into());
    }
    if !root.is_live() {
        return Some("--root names copies of /proc and /sys".into());
    }
    if !rustix::process::geteuid().is_root() {
        let text = "promoting the memory of a process needs root; run it again as root";
        return Some(text.into());
    }
    match environment.switch().as_deref() {
        None => return Some("this kernel has no transparent huge pages".into()),
        Some("never") => {
            let text = "transparent huge pages are switched off on this machine ('never'), and \
                        that is respected";
            return Some(text.into());
        }
        Some(_) => {}
    }
    if environment.huge_page != Some(Geometry::X86_64.huge) {
        return Some("the bundled workload is made for huge pages of 2 MiB".into());
    }
    too_large(environment, size)
}

/// Why the memory does not suffice; `None` where it does, or nobody knows.
fn too_large(environment: &Environment, size: Bytes) -> Option<String> {
    // Warming takes twice as much, and others need a rest.
    let needed = size.percent(250.0);
    environment.mem_available.filter(|available| *available < needed).map(|available| {
        format!("it needs {needed} of available memory and {available} are there; see --size")
    })
}
