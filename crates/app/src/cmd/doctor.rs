//! `hugewise doctor`: what this kernel and these privileges allow.

use crate::abandoned;
use crate::cli::{Global, STATE_DIR};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::doctor::{self, advice};
use crate::render::words::plain;
use hugewise_linux::probe::{self, Features, ProbeChild};
use hugewise_linux::root::Root;
use hugewise_linux::track::{self, Found};
use serde::Serialize;
use std::path::Path;

/// Version of the JSON. It changes when a field changes its meaning or goes, not when one comes.
const SCHEMA: u32 = 1;

/// The answer as JSON.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    command: &'static str,
    version: &'static str,
    /// The tree that was read; `/`: this machine.
    root: String,
    /// Whether anything that `manage` needs is missing (exit code 5).
    partial: bool,
    #[serde(flatten)]
    features: &'a Features,
    /// Ways to learn which memory a program accesses.
    trackers: &'a [Found],
    /// What to do next.
    advice: &'a [advice::Advice],
}

/// Runs the command.
pub(crate) fn run(global: &Global) -> anyhow::Result<Output> {
    let root = Root::at(&global.root);
    let features = probe::run(&root, &ProbeChild::this_program(&["lab", "workload", "probe"]));
    let trackers = track::find(&root);
    let live =
        if root.is_live() { doctor::Source::Live } else { doctor::Source::Tree(&global.root) };
    let advice = advice::for_features(&features, live);
    let partial = advice::something_is_missing(&features);
    let code = if partial { exit::PARTIAL } else { exit::OK };
    if !global.json {
        abandoned::say(&root, Path::new(STATE_DIR));
        let text = plain(&doctor::render(&features, &trackers, &advice, live, paint(global)));
        return Ok(Output::text(text, code));
    }
    let report = Report {
        schema: SCHEMA,
        command: "doctor",
        version: env!("CARGO_PKG_VERSION"),
        root: global.root.display().to_string(),
        partial,
        features: &features,
        trackers: &trackers,
        advice: &advice,
    };
    Output::pretty_json(&report, code)
}
