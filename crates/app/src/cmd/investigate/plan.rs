//! `hugewise investigate plan`.

use crate::cli::{Global, InvestigatePlanArgs};
use crate::cmd::diagnose::{read, watched};
use crate::exit;
use crate::output::Output;
use hugewise_evidence::diagnose::{Thresholds, diagnose};
use hugewise_experiment::load::Target;
use hugewise_experiment::propose;
use hugewise_linux::root::Root;
use serde_json::json;

/// Runs the command.
pub(super) fn run(global: &Global, args: &InvestigatePlanArgs) -> anyhow::Result<Output> {
    if let Some(target) = &args.target {
        let parsed = target.parse::<Target>();
        parsed.map_err(|error| exit::coded(exit::USAGE, format!("--target: {error}")))?;
    }
    let recording =
        if args.files.is_empty() { watched(&Root::at(&global.root))? } else { read(&args.files)? };
    let found = diagnose(&recording, &Thresholds::default());
    let ledger = propose::ledger(&found, args.target.as_deref());
    if global.json {
        return Output::json(&json!({ "schema": 1, "ledger": ledger }), exit::OK);
    }
    Ok(Output::text(ledger, exit::OK))
}
