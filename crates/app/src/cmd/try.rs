//! `hugewise try`: the shipped experiment of that name, in little time, and simulated where nothing
//! real can be done.

mod simulated;

use super::lab;
use crate::cli::{Global, STATE_DIR, TryArgs};
use crate::exit;
use crate::output::{Asked, Output, paint};
use crate::render::view::lab as report;
use anyhow::{Context, bail};
use hugewise_base::size;
use hugewise_base::units::{Bytes, Geometry};
use hugewise_experiment::check::Checked;
use hugewise_experiment::kinds::{Executable, Task};
use hugewise_experiment::record::{Record, RunPlan};
use hugewise_experiment::summary::Summary;
use hugewise_lab::engine::Start;
use hugewise_lab::environment::Environment;
use hugewise_lab::shipped;
use hugewise_linux::root::Root;
use hugewise_workloads::demo::layout;
use serde_json::json;
use std::path::Path;

/// Version of the JSON.
const SCHEMA: u32 = 2;
/// The default size: enough that base pages do not fit into any TLB, and three minutes in all.
const SIZE_MAX: Bytes = Bytes::mib(384);
/// Least size that leaves each part a few regions.
const SIZE_MIN: Bytes = Bytes::mib(32);
/// Largest size whose figures fit the table.
const SIZE_LARGEST: Bytes = Bytes::mib(64 * 1024);
/// Most repetitions of any experiment.
const ROUNDS_MAX: u32 = 1000;
/// What a run warms, in percent of the workload: its memory, and where promoted regions move to.
const WARM_PERCENT: i64 = 200;
/// Name of the experiment.
const NAME: &str = "try";

/// Runs the command.
pub(crate) fn run(global: &Global, args: &TryArgs) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let environment = Environment::read(&root);
    let size = wanted_size(args, &environment)?;
    if !(1..=ROUNDS_MAX).contains(&args.rounds) {
        let message = format!("--rounds is from 1 to {ROUNDS_MAX}");
        return Err(exit::coded(exit::USAGE, message));
    }
    let mut plan = RunPlan { text: text_of(size)?, repetitions: Some(args.rounds), ..lab::plan() };
    let mut checked = lab::planned(&plan)?;
    // Now, not after three minutes: a report that cannot be written wastes the run.
    let page = Asked::begin(&args.report, global)?;
    let simulated = obstacle(args, &root, &environment, &checked);
    let parts = layout(size, Geometry::X86_64.huge.0);
    let free_percent = freed(&checked);
    let records = match &simulated {
        Some(_) => {
            plan.repetitions = Some(1);
            plan.environment = serde_json::to_value(&environment)?;
            // No simulator knows the time of a read.
            checked.metrics.retain(|metric| metric.key != "access_ns");
            simulated::run(&parts, free_percent)
        }
        None => real(&checked, &mut plan)?,
    };
    let mut summary = Summary::of(&checked, &plan, &records);
    if let Some(reason) = &simulated {
        let sentence = format!("SIMULATED: no real memory was promoted, because {reason}.");
        summary.verdicts.insert(0, sentence);
    }
    if let Some(page) = page.finish(report::page(&summary, &records))? {
        return Ok(Output::text(page, exit::OK));
    }
    if global.json {
        let rounds = plan.repetitions;
        let shown = json!({
            "schema": SCHEMA, "simulated": simulated, "size": size, "parts": parts,
            "rounds": rounds, "free_percent": free_percent, "environment": environment,
            "records": records,
        });
        return Output::json(&shown, exit::OK);
    }
    let (text, page) = (report::render(&summary, paint(global)), args.report.display());
    Ok(Output::text(format!("{text}\nReport: {page}\n"), exit::OK))
}

/// How much a trial frees at its end, percent.
fn freed(checked: &Checked) -> u64 {
    match checked.params.first().map(|params| params.task()) {
        Some(Task::Executable(Executable::Demo(demo))) => demo.free_percent,
        _ => 0,
    }
}

/// The file of the shipped experiment, with this much memory.
fn text_of(size: Bytes) -> anyhow::Result<String> {
    let text = shipped::find(NAME).context("no experiment of that name is shipped")?;
    let mut experiment: toml::Table = text.parse()?;
    let mib = i64::try_from(size.0 / Bytes::mib(1).0)?;
    experiment.insert("warm_mib".into(), (mib * WARM_PERCENT / 100).into());
    let workload = experiment.get_mut("workload").and_then(toml::Value::as_table_mut);
    workload.context("the experiment has no workload")?.insert("mib".into(), mib.into());
    Ok(experiment.to_string())
}

/// Runs the experiment; its results go with the session. An error when a run failed.
fn real(checked: &Checked, plan: &mut RunPlan) -> anyhow::Result<Vec<Record>> {
    let way = lab::Way {
        purpose: NAME,
        afterwards: "the workload is ended, no setting was changed",
        state_dir: Path::new(STATE_DIR),
        directory: None,
        // Nobody waits for a quiet machine: what disturbed is shown.
        noisy: true,
        start: Start::default(),
    };
    let records = lab::carry_out(checked, plan, None, &way)?;
    let failed = records.iter().filter_map(|record| {
        let problem = record.outcome.problem()?;
        Some(format!("{}: {problem}", record.variant))
    });
    let failed: Vec<String> = failed.collect();
    if !failed.is_empty() {
        bail!("{} of {} runs failed:\n  {}", failed.len(), records.len(), failed.join("\n  "));
    }
    Ok(records)
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
    Ok(size)
}

/// Why nothing real can be done here; `None` when it can.
fn obstacle(
    args: &TryArgs,
    root: &Root,
    environment: &Environment,
    checked: &Checked,
) -> Option<String> {
    if args.simulate {
        return Some("--simulate asked for a simulation".into());
    }
    if !root.is_live() {
        return Some("--root names copies of /proc and /sys".into());
    }
    let obstacle = lab::obstacles_of_variants(checked).into_values().next();
    let is_other = environment.huge_page != Some(Geometry::X86_64.huge);
    let other = "the bundled workload is made for huge pages of 2 MiB";
    obstacle.or_else(|| is_other.then(|| other.into()))
}
