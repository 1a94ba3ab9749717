//! `hugewise lab signatures`: what stressors do to this machine's counters.

mod check;
mod file;
mod stressors;
mod watcher;

pub(crate) use self::file::read;

use self::stressors::{Load, chosen};
use self::watcher::Watcher;
use super::run::alone;
use crate::cli::{Global, LabSignaturesArgs};
use crate::exit;
use crate::output::{self, Asked, Output, paint};
use crate::render::view::signature as view;
use anyhow::Context;
use hugewise_evidence::diagnose::Thresholds;
use hugewise_evidence::signature::file::{Pair, SCHEMA};
use hugewise_evidence::signature::{Measured, Signature, Signatures, Skipped, between};
use hugewise_lab::environment::Environment;
use hugewise_linux::root::Root;
use hugewise_linux::save;
use std::path::Path;
use std::time::Duration;

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabSignaturesArgs) -> anyhow::Result<Output> {
    let stressors = chosen(&args.only)?;
    if args.check {
        return check::run(global, args, &stressors);
    }
    let root = Root::live();
    let _lock = alone(&root, &args.state_dir)?;
    make_room(&args.output)?;
    let asked = Asked::begin(&args.output, global)?;
    let mut watcher = Watcher::start(root, Duration::from_secs(args.seconds))?;
    let noisy = watcher.settle(args.noisy)?;
    let made = make(&mut watcher, &stressors, noisy)?;
    // Nothing runs any more when it is written.
    drop(watcher);
    let text = serde_json::to_string_pretty(&made)? + "\n";
    let code = if made.skipped.is_empty() { exit::OK } else { exit::PARTIAL };
    let to_output = asked.finish(text.clone())?;
    if let Some(text) = to_output.or(global.json.then_some(text)) {
        return Ok(Output::text(text, code));
    }
    let text = view::made(&made, &args.output, stressors::about, paint(global));
    Ok(Output::text(text, code))
}

/// Makes the directory of a file, as `lab run` makes that of its results.
fn make_room(file: &Path) -> anyhow::Result<()> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    match directory.filter(|directory| !directory.exists()) {
        Some(directory) => {
            save::new_directory(directory, save::DIRECTORY).map(drop).map_err(output::refused)
        }
        None => Ok(()),
    }
}

/// Watches the machine at rest, and then each stressor.
fn make(
    watcher: &mut Watcher,
    stressors: &[&'static Load],
    noisy: Vec<String>,
) -> anyhow::Result<Signatures> {
    let thresholds = Thresholds::default();
    let environment = Environment::read(watcher.root());
    let recording = watcher.watch("at rest", &[])?;
    let rest = Measured::of(&recording, &thresholds);
    let rest = rest.context("this machine does not say how much CPU time it uses")?;
    let (mut signatures, mut skipped) = (Vec::new(), Vec::new());
    for (number, load) in stressors.iter().copied().enumerate() {
        let label = format!("{} ({} of {})", load.name, number + 1, stressors.len());
        let skip = |why: String| Skipped { name: load.name.to_owned(), why };
        if let Some(why) = load.obstacle(&environment) {
            skipped.push(skip(why));
            continue;
        }
        let recording = match watcher.watch(&label, &[load]) {
            Ok(recording) => recording,
            Err(error) => {
                // After Ctrl-C nothing is skipped.
                watcher.beat()?;
                skipped.push(skip(format!("{error:#}")));
                continue;
            }
        };
        let seen = Measured::of(&recording, &thresholds).context("CPU time is gone")?;
        signatures.push((load.name, seen, watcher.seconds()));
    }
    let vectors: Vec<_> = signatures.iter().map(|(_, seen, _)| seen.all.above(&rest.all)).collect();
    let one = |(name, seen, watched_s): &(&str, Measured, f64)| {
        let halves =
            seen.halves.as_ref().map(|halves| halves.each_ref().map(|h| h.above(&rest.all)));
        Signature {
            name: (*name).to_owned(),
            watched_s: *watched_s,
            rates: seen.all.above(&rest.all).rates(),
            halves_distance: halves.and_then(|[a, b]| between(&vectors, seen.cpus, &a, &b)),
        }
    };
    let all: Vec<Signature> = signatures.iter().map(one).collect();
    anyhow::ensure!(!all.is_empty(), "no stressor runs here: {}", reasons(&skipped));
    let mut pairs = Vec::new();
    for (index, a) in all.iter().enumerate() {
        for (other, b) in all.iter().enumerate().skip(index + 1) {
            let distance = between(&vectors, rest.cpus, &vectors[index], &vectors[other]);
            let names = [a.name.clone(), b.name.clone()];
            pairs.extend(distance.map(|distance| Pair { names, distance }));
        }
    }
    Ok(Signatures {
        schema: SCHEMA,
        hugewise: environment.hugewise,
        began: environment.time,
        kernel: environment.kernel,
        cpus: rest.cpus,
        noisy,
        rest: rest.all.rates(),
        signatures: all,
        skipped,
        pairs,
    })
}

fn reasons(skipped: &[Skipped]) -> String {
    let all: Vec<String> = skipped.iter().map(|one| format!("{}: {}", one.name, one.why)).collect();
    all.join("; ")
}
