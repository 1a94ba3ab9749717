//! `hugewise rules`.

use crate::cli::Global;
use crate::exit;
use crate::output::Output;
use crate::render::view::rules;

/// Runs the command.
pub(crate) fn run(global: &Global) -> anyhow::Result<Output> {
    if global.json {
        return Output::pretty_json(&rules::page_json(), exit::OK);
    }
    Ok(Output::text(rules::page(), exit::OK))
}
