//! `hugewise diagnose`.

mod input;

pub(super) use input::read;

use crate::cli::{DiagnoseArgs, Global};
use crate::exit::{self, coded};
use crate::output::{Asked, Output, paint};
use crate::render::view::{diagnosis, rules};
use hugewise_core::evidence::diagnose::{Diagnosis, Severity, Thresholds, diagnose};
use hugewise_linux::root::Root;
use std::time::Duration;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &DiagnoseArgs) -> anyhow::Result<Output> {
    let mut thresholds = Thresholds::default();
    for pair in &args.set {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| coded(exit::USAGE, format!("--set '{pair}': wanted KEY=VALUE")))?;
        let set = thresholds.set(key.trim(), value.trim());
        set.map_err(|error| coded(exit::USAGE, format!("--set: {error}")))?;
    }
    let explained = args.explain.as_ref().map(|node| rules::explain(node, &thresholds));
    let mut text = explained.transpose().map_err(|error| coded(exit::USAGE, error))?;
    if let Some(text) = text.take_if(|_| args.files.is_empty()) {
        return Ok(Output::text(text, exit::OK));
    }
    let mut text = text.unwrap_or_default();
    let asked = args.report.as_ref().map(|path| Asked::begin(path, global)).transpose()?;
    let recording = if args.files.is_empty() {
        let length = super::manage::duration(&args.r#for)?;
        input::watch(&Root::at(&global.root), Duration::from_nanos(length.0))?
    } else {
        input::read(&args.files)?
    };
    let found = diagnose(&recording, &thresholds);
    let code = code(&found);
    if let Some(asked) = asked {
        let page = crate::render::view::diagnosis::page::page(&recording, &found, &thresholds)?;
        if let Some(page) = asked.finish(page)? {
            return Ok(Output::text(page, code));
        }
    }
    if global.json {
        let mut json = serde_json::to_value(&found)?;
        json["command"] = "diagnose".into();
        json["version"] = env!("CARGO_PKG_VERSION").into();
        json["partial"] = partial(&found).into();
        text += &serde_json::to_string_pretty(&json)?;
        text.push('\n');
    } else {
        text += &diagnosis::render(&recording, &found, args.tree, paint(global));
        if let Some(path) = &args.report {
            text += &format!("Report: {}\n", path.display());
        }
    }
    Ok(Output::text(text, code))
}

/// Whether input was left out or cut off: then nothing found is no all-clear.
fn partial(found: &Diagnosis) -> bool {
    !found.problems.is_empty() || diagnosis::nothing_seen(found)
}

fn code(found: &Diagnosis) -> u8 {
    match found.worst() {
        Some(Severity::Critical) => exit::CRITICAL,
        Some(Severity::Warning) => exit::WARNING,
        Some(Severity::Note) | None if partial(found) => exit::PARTIAL,
        Some(Severity::Note) | None => exit::OK,
    }
}
