//! `hugewise doctor`: what this kernel and these privileges allow.

mod advice;
mod text;

use crate::cli::Global;
use crate::exit;
use crate::view::paint::Paint;
use anyhow::Context;
use hugewise_linux::probe::{self, Features, ProbeChild};
use hugewise_linux::root::Root;
use serde::Serialize;
use std::io::{IsTerminal, Write};

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
    /// What to do next.
    advice: &'a [advice::Advice],
}

/// Runs the command.
pub(crate) fn run(global: &Global) -> anyhow::Result<u8> {
    let root = Root::at(&global.root);
    if !root.has("proc") && !root.has("sys") {
        let shown = global.root.display();
        anyhow::bail!("{shown} holds neither 'proc' nor 'sys': give --root a captured tree");
    }
    let features = probe::run(&root, &ProbeChild::this_program(&["workload", "probe"]));
    let live = if root.is_live() { text::Source::Live } else { text::Source::Tree(&global.root) };
    let advice = advice::for_features(&features, live);
    let partial = advice::something_is_missing(&features);
    let mut out = std::io::stdout().lock();
    let written = if global.json {
        let report = Report {
            schema: SCHEMA,
            command: "doctor",
            version: env!("CARGO_PKG_VERSION"),
            root: global.root.display().to_string(),
            partial,
            features: &features,
            advice: &advice,
        };
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)
    } else {
        let paint = Paint::new(global.color, out.is_terminal());
        out.write_all(text::render(&features, &advice, live, paint).as_bytes())
    };
    match written.and_then(|()| out.flush()) {
        // Whoever reads has seen enough ('| head').
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        other => other.context("writing to standard output")?,
    }
    Ok(if partial { exit::PARTIAL } else { exit::OK })
}
