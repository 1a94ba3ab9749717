//! `hugewise investigate run`.

use super::report::{read, tell};
use crate::cli::{Global, InvestigateRunArgs};
use crate::cmd::lab::{Log, Way, carry_out, file_text, needs_leave, now, plan};
use crate::exit;
use crate::output::Output;
use crate::render::view::investigate as view;
use hugewise_experiment::check::Checked;
use hugewise_experiment::ledger::Ledger;
use hugewise_experiment::record::RunPlan;
use hugewise_experiment::stages::Stage;
use hugewise_experiment::verdict::Verdicts;
use hugewise_lab::engine::Start;
use hugewise_lab::store::Store;
use serde_json::json;
use std::path::{Path, PathBuf};

/// What an interruption leaves behind.
const AFTERWARDS: &str = "the trials so far are kept and every change is undone; the same command \
                          continues";
/// What a trial takes beside its length and the time to settle, seconds: measured on a VM of two
/// CPUs with changes of settings.
const OVERHEAD_S: f64 = 0.6;

/// Runs the command.
pub(super) fn run(global: &Global, args: &InvestigateRunArgs) -> anyhow::Result<Output> {
    let text = file_text("the ledger", &args.ledger)?;
    let (ledger, checked) = read(&args.ledger.display().to_string(), &text)?;
    let directory = args.output.clone().unwrap_or_else(|| directory(&ledger));
    if args.trials.dry_run {
        return planned(global, &ledger, &checked);
    }
    needs_leave(&checked, args.trials.machine_wide)?;
    let log = Log::begin(args.trials.stages.as_deref(), global)?;
    let found = Store::at(&directory).plan()?;
    let mut trials = match &found {
        Some(old) => resumable(args, old, &text, &directory)?,
        None => {
            let empty = plan();
            RunPlan { text, seed: args.trials.seed.unwrap_or(empty.seed), ..empty }
        }
    };
    let way = Way {
        purpose: "investigate",
        afterwards: AFTERWARDS,
        state_dir: &args.trials.state_dir,
        directory: Some(&directory),
        // A live machine is never quiet: what others do meanwhile happens to all trials alike.
        noisy: true,
        start: Start::default(),
    };
    let records = carry_out(&checked, &mut trials, found.as_ref(), &way)?;
    let verdicts = Verdicts::of(&ledger, &records);
    if let Some(log) = log.filter(|_| verdicts.left == 0) {
        let proof = directory.display().to_string();
        log.add(&Stage::of_verdicts(&verdicts, now(&proof)))?;
    }
    tell(global, &directory)
}

fn directory(ledger: &Ledger) -> PathBuf {
    Path::new("hugewise-investigate").join(&ledger.name)
}

/// The plan of what is in the directory already, if it is of this ledger.
fn resumable(
    args: &InvestigateRunArgs,
    old: &RunPlan,
    text: &str,
    directory: &Path,
) -> anyhow::Result<RunPlan> {
    let differs = if old.text == text {
        let other = args.trials.seed.is_some_and(|seed| seed != old.seed);
        other.then(|| format!("this ledger with the seed {}", old.seed))
    } else {
        Some("another ledger, or this one before it was changed".to_owned())
    };
    match differs {
        None => Ok(old.clone()),
        Some(what) => anyhow::bail!(
            "{} holds trials of {what}: give another directory by --output, or move that one away",
            directory.display()
        ),
    }
}

/// What would be done.
fn planned(global: &Global, ledger: &Ledger, checked: &Checked) -> anyhow::Result<Output> {
    let repetitions = ledger.repetitions();
    let trials = checked.variants().len() as u64 * u64::from(repetitions);
    let one = ledger.trials.length_s as f64 + ledger.trials.settle_ms as f64 / 1e3 + OVERHEAD_S;
    let seconds = trials as f64 * one;
    if global.json {
        let json = json!({
            "schema": 1,
            "name": ledger.name,
            "hypotheses": ledger.hypotheses.iter().map(|one| &one.name).collect::<Vec<_>>(),
            "trials": trials,
            "repetitions": repetitions,
            "seconds": seconds,
            "machine_wide": checked.machine_wide(),
        });
        return Output::pretty_json(&json, exit::OK);
    }
    Ok(Output::text(view::planned(ledger, checked, seconds), exit::OK))
}
