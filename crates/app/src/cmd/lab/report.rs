//! `hugewise lab report`, and the end of `hugewise lab run`.

use super::results::Results;
use crate::cli::{Global, LabReportArgs};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::lab as report;
use crate::render::view::lab::render;
use hugewise_experiment::summary::Summary;
use std::path::Path;

/// Runs the command.
pub(super) fn run(global: &Global, args: &LabReportArgs) -> anyhow::Result<Output> {
    if args.markdown && global.json {
        return Err(exit::coded(exit::USAGE, "either --markdown or --json, not both"));
    }
    if args.markdown {
        let results = Results::read(&args.directory)?;
        let summary = results.summary();
        return Ok(Output::text(report::markdown(&summary), code(&results, &summary)));
    }
    tell(global, &args.directory)
}

/// Writes the files for readers; says the verdict.
pub(super) fn tell(global: &Global, directory: &Path) -> anyhow::Result<Output> {
    let results = Results::read(directory)?;
    let summary = results.summary();
    let page = results.write(&summary)?;
    let code = code(&results, &summary);
    if global.json {
        return Output::json(&summary, code);
    }
    let text = render(&summary, paint(global));
    Ok(Output::text(format!("{text}\nReport: {}\n", page.display()), code))
}

/// Partial where a run failed or has not been made, or a variant was left out for want of
/// something.
pub(super) fn code(results: &Results, summary: &Summary) -> u8 {
    let failed = results.records.iter().any(|record| !record.is_done());
    let incomplete = summary.runs.taken < summary.runs.planned;
    let wanting = results.plan.without.values().any(|why| why != super::prepare::NOT_ASKED);
    if failed || incomplete || wanting { exit::PARTIAL } else { exit::OK }
}
