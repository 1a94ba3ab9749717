//! `hugewise investigate`.

mod plan;
mod report;
mod run;

use crate::cli::{Global, InvestigateCommand};
use crate::exit;
use crate::output::Output;
use hugewise_linux::root::Root;

/// Runs the command.
pub(crate) fn run(global: &Global, command: &InvestigateCommand) -> anyhow::Result<Output> {
    if !Root::at(&global.root).is_live() {
        let message = "a copy of /proc has no service: leave '--root' out";
        return Err(exit::coded(exit::USAGE, message));
    }
    match command {
        InvestigateCommand::Plan(args) => plan::run(global, args),
        InvestigateCommand::Run(args) => run::run(global, args),
        InvestigateCommand::Report(args) => report::tell(global, &args.directory),
    }
}
