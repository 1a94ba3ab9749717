//! `hugewise hugetlb`.

pub(crate) mod apply;
mod input;
mod plan;
pub(super) mod revert;
mod saved;
mod verify;

use crate::cli::{Global, HugetlbCommand};

/// Runs the command.
pub(crate) fn run(global: &Global, command: &HugetlbCommand) -> anyhow::Result<u8> {
    match command {
        HugetlbCommand::Plan(args) => plan::run(global, args),
        HugetlbCommand::Apply(args) => apply::run(global, args),
        HugetlbCommand::Verify(args) => verify::run(global, args),
        HugetlbCommand::Revert(args) => revert::run(global, args),
    }
}
