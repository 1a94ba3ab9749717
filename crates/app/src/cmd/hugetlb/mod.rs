//! `hugewise hugetlb`.

mod apply;
mod input;
mod plan;
pub(super) mod revert;
mod verify;

use crate::cli::{Global, HugetlbCommand};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(global: &Global, command: &HugetlbCommand) -> anyhow::Result<Output> {
    match command {
        HugetlbCommand::Plan(args) => plan::run(global, args),
        HugetlbCommand::Apply(args) => apply::run(global, args),
        HugetlbCommand::Verify(args) => verify::run(global, args),
        HugetlbCommand::Revert(args) => revert::run(global, args),
    }
}
