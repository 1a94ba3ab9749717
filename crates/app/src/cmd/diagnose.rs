//! `hugewise diagnose`.

mod fleet;
mod follow;
mod freezes;
mod input;
mod one_host;
mod picture;
mod report;
mod servers;
mod thresholds;
mod when;

pub(crate) use fleet::{answer as read_of_fleet, files_of as files_of_fleet};
pub(super) use input::{of_past, read};
pub(super) use one_host::{OneHost, one_host, this_host};
pub(super) use report::as_json;

use crate::abandoned;
use crate::cli::{DiagnoseArgs, Global, STATE_DIR};
use crate::cmd::lab::signatures;
use crate::config::nearest;
use crate::exit::{self, coded};
use crate::output::{Asked, Output, paint};
use crate::render::view::diagnosis::{self, Detail};
use crate::render::view::{placement, rules, signature};
use hugewise_evidence::diagnose::diagnose;
use hugewise_evidence::diagnose::node::Node;
use hugewise_evidence::placement::{HOSTS_MIN, Placement};
use hugewise_evidence::recording::Recording;
use hugewise_evidence::signature::resembled;
use hugewise_linux::root::Root;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a machine is watched unless something else is asked for.
const WATCH: Duration = Duration::from_secs(10);

/// What this machine does, watched for as long as usual.
pub(super) fn watched(root: &Root) -> anyhow::Result<Recording> {
    input::watch(root, WATCH, servers::Servers::new(&[])?)
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &DiagnoseArgs) -> anyhow::Result<Output> {
    if args.rules {
        return all_rules(global);
    }
    let thresholds = thresholds::of(&args.set)?;
    if let Some(place) = &args.fleet {
        return fleet::run(global, args, place);
    }
    let explained = args.explain.as_deref().map(questions).transpose()?;
    let alone = args.files.is_empty() && args.redis.is_empty();
    if let Some(nodes) = explained.as_ref().filter(|_| alone && !args.past.is_meant()) {
        return match global.json {
            true => Output::pretty_json(&rules::json(nodes, &thresholds), exit::OK),
            false => Ok(Output::text(rules::explain(nodes, &thresholds, paint(global)), exit::OK)),
        };
    }
    refuse(args, alone)?;
    let length = when::length(args)?;
    if args.freezes {
        return freezes::run(global, args, length);
    }
    if args.follow {
        return follow::run(global, args, thresholds, length);
    }
    let begin = |path: &PathBuf| Asked::begin(path, global);
    let asked = args.report.as_ref().map(begin).transpose()?;
    let drawing = args.flame_graph.as_ref().map(begin).transpose()?;
    let signatures = args.signatures.as_deref().map(signatures::read).transpose()?;
    let recording = recording(global, args, length)?;
    let found = diagnose(&recording, &thresholds);
    let resembled = signatures
        .map(|signatures| resembled(&recording, &found, &thresholds, &signatures))
        .unwrap_or_default();
    let placement = placed(args, &recording);
    let code = report::code(&found, placement.as_ref(), args.hosts);
    let picture = || picture::of(args, &recording, &found);
    let page = || {
        let picture = picture()?;
        diagnosis::page::page(&recording, &found, &resembled, &thresholds, picture.as_deref())
    };
    let drawn = finished(drawing, || picture()?.ok_or_else(picture::none))?;
    let printed = if drawn.is_some() { drawn } else { finished(asked, page)? };
    if let Some(printed) = printed {
        return Ok(Output::text(printed, code));
    }
    if global.json {
        let mut json = report::as_json(&found)?;
        if args.signatures.is_some() {
            json["resembled"] = serde_json::to_value(&resembled)?;
        }
        if let Some(nodes) = &explained {
            json["explained"] = rules::questions(nodes, &thresholds);
        }
        if let Some(placement) = &placement {
            json["placement"] = serde_json::to_value(placement)?;
        }
        return Output::pretty_json(&json, code);
    }
    let explain = |nodes: Vec<_>| rules::explain(&nodes, &thresholds, paint(global)) + "\n";
    let mut text = explained.map(explain).unwrap_or_default();
    let resembles = signature::text(&resembled, paint(global));
    text += &diagnosis::render(&recording, &found, &resembles, detail(args), paint(global));
    if let Some(placement) = &placement {
        text += &format!("\n{}", placement::text(placement, paint(global)));
    }
    if let Some(path) = &args.report {
        text += &format!("Report: {}\n", path.display());
    }
    Ok(Output::text(text, code))
}

/// All questions, as a page or JSON.
fn all_rules(global: &Global) -> anyhow::Result<Output> {
    match global.json {
        true => Output::pretty_json(&rules::page_json(), exit::OK),
        false => Ok(Output::text(rules::page(), exit::OK)),
    }
}

/// Writes a file that was asked for; what goes to standard output is given back.
fn finished(
    asked: Option<Asked>,
    made: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<Option<String>> {
    asked.map_or(Ok(None), |asked| asked.finish(made()?))
}

/// Refuses what does not go together.
fn refuse(args: &DiagnoseArgs, alone: bool) -> anyhow::Result<()> {
    // clap asks for no other option beside one that conflicts with it.
    if args.longer_than.is_some() && !args.freezes {
        return Err(coded(exit::USAGE, "--longer-than is of freezes: add --freezes"));
    }
    for (option, path) in [("--report", &args.report), ("--flame-graph", &args.flame_graph)] {
        if let Some(path) = path.as_ref().filter(|path| is_input(path, &args.files)) {
            let why = format!("{option} {}: it is one of the files to read", path.display());
            return Err(coded(exit::USAGE, why));
        }
    }
    if args.past.is_meant() && (!alone || args.follow) {
        let why = "'--at' and '--history' are of what was recorded: not with FILE, --redis or \
                   --follow";
        return Err(coded(exit::USAGE, why));
    }
    Ok(())
}

/// The hosts compared with each other, where files tell of enough of them, or that was asked for.
fn placed(args: &DiagnoseArgs, recording: &Recording) -> Option<Placement> {
    let are_enough = recording.hosts.len() >= HOSTS_MIN && !args.files.is_empty();
    (args.hosts || are_enough).then(|| Placement::of(recording))
}

/// What was named, or what is seen of this machine.
fn recording(
    global: &Global,
    args: &DiagnoseArgs,
    length: Option<Duration>,
) -> anyhow::Result<Recording> {
    if args.hosts {
        return input::read_of_many(&args.files);
    }
    if !args.files.is_empty() {
        return input::read(&args.files);
    }
    if args.past.is_meant() {
        let (mut past, window) = when::meant(args)?;
        return input::of_past(&mut past, window);
    }
    let servers = servers::Servers::new(&args.redis)?;
    let root = Root::at(&global.root);
    abandoned::say(&root, Path::new(STATE_DIR));
    input::watch(&root, length.unwrap_or(WATCH), servers)
}

/// The questions of this name, or below it.
fn questions(id: &str) -> anyhow::Result<Vec<&'static Node>> {
    let found = rules::named(id);
    if !found.is_empty() {
        return Ok(found);
    }
    let near = nearest(id, rules::names());
    let near = near.map_or_else(String::new, |near| format!(": did you mean '{near}'?"));
    let message =
        format!("no question is called '{id}'{near} ('hugewise diagnose --rules' lists all)");
    Err(coded(exit::USAGE, message))
}

/// Whether a file to write is one of those to read, by whatever name.
fn is_input(path: &Path, files: &[PathBuf]) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(path).is_some_and(|own| files.iter().any(|file| real(file).as_ref() == Some(&own)))
}

fn detail(args: &DiagnoseArgs) -> Detail {
    match (args.tree, args.full) {
        (true, _) => Detail::All,
        (false, true) => Detail::Full,
        (false, false) => Detail::Short,
    }
}
