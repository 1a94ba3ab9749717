//! `hugewise diagnose`.

mod input;

pub(super) use input::read;

use crate::cli::{DiagnoseArgs, Global};
use crate::exit::{self, coded};
use crate::view::paint::Paint;
use crate::view::{diagnosis, rules};
use anyhow::Context;
use hugewise_core::diagnose::{Diagnosis, Severity, Thresholds, diagnose};
use hugewise_linux::root::Root;
use std::io::IsTerminal;
use std::time::Duration;

/// Runs the command.
pub(crate) fn run(global: &Global, args: &DiagnoseArgs) -> anyhow::Result<u8> {
    let mut thresholds = Thresholds::default();
    for pair in &args.set {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| coded(exit::USAGE, format!("--set '{pair}': wanted KEY=VALUE")))?;
        let set = thresholds.set(key.trim(), value.trim());
        set.map_err(|error| coded(exit::USAGE, format!("--set: {error}")))?;
    }
    if let Some(node) = &args.explain {
        let text = rules::explain(node, &thresholds).map_err(|error| coded(exit::USAGE, error))?;
        super::print(&text)?;
        if args.files.is_empty() {
            return Ok(exit::OK);
        }
    }
    let recording = if args.files.is_empty() {
        let length = super::manage::duration(&args.r#for)?;
        input::watch(&Root::at(&global.root), Duration::from_nanos(length.0))?
    } else {
        input::read(&args.files)?
    };
    let found = diagnose(&recording, &thresholds);
    if let Some(path) = &args.report {
        let page = crate::report::diagnosis::page(&recording, &found, &thresholds)?;
        std::fs::write(path, page)
            .with_context(|| format!("cannot write the report '{}'", path.display()))?;
    }
    let code = code(&found);
    if global.json {
        let mut json = serde_json::to_value(&found)?;
        json["command"] = "diagnose".into();
        json["version"] = env!("CARGO_PKG_VERSION").into();
        json["partial"] = partial(&found).into();
        super::print(&format!("{}\n", serde_json::to_string_pretty(&json)?))?;
    } else {
        let paint = Paint::new(global.color, std::io::stdout().is_terminal());
        super::print(&diagnosis::render(&recording, &found, args.tree, paint))?;
        if let Some(path) = &args.report {
            super::print(&format!("Report: {}\n", path.display()))?;
        }
    }
    Ok(code)
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
