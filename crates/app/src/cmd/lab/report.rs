//! `hugewise lab report`, and the end of `hugewise lab run`.

use super::results::Results;
use crate::cli::{Global, LabReportArgs};
use crate::cmd::print;
use crate::exit;
use crate::report::lab as report;
use crate::view::lab::render;
use crate::view::paint::Paint;
use hugewise_core::lab::summary::Summary;
use std::io::IsTerminal;
use std::path::Path;

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabReportArgs) -> anyhow::Result<u8> {
    if args.markdown && global.json {
        return Err(exit::coded(exit::USAGE, "either --markdown or --json, not both"));
    }
    if args.markdown {
        let results = Results::read(&args.directory)?;
        let summary = results.summary();
        print(&report::markdown(&summary))?;
        return Ok(code(&results, &summary));
    }
    tell(global, &args.directory)
}

/// Writes the files for readers, and prints the verdict.
pub(super) fn tell(global: &Global, directory: &Path) -> anyhow::Result<u8> {
    let results = Results::read(directory)?;
    let summary = results.summary();
    let page = results.write(&summary)?;
    if global.json {
        print(&format!("{}\n", serde_json::to_string(&summary)?))?;
    } else {
        let paint = Paint::new(global.color, std::io::stdout().is_terminal());
        print(&render(&summary, paint))?;
        print(&format!("\nReport: {}\n", page.display()))?;
    }
    Ok(code(&results, &summary))
}

/// Partial where a run failed or has not been made, or a variant was left out for want of
/// something.
pub(super) fn code(results: &Results, summary: &Summary) -> u8 {
    let failed = results.records.iter().any(|record| !record.is_done());
    let incomplete = summary.runs.taken < summary.runs.planned;
    let wanting = results.plan.without.values().any(|why| why != super::prepare::NOT_ASKED);
    if failed || incomplete || wanting { exit::PARTIAL } else { exit::OK }
}
