//! `hugewise advise`: what the products on this host want, and how to give it to them.

mod run;

use crate::cli::{AdviseCommand, AdviseLine, Global};
use crate::output::Output;

/// Runs the command.
pub(super) fn run(global: &Global, line: &AdviseLine) -> anyhow::Result<Output> {
    match &line.command {
        Some(AdviseCommand::Run(args)) => run::run(global, args),
        _ => anyhow::bail!("not there yet"),
    }
}
