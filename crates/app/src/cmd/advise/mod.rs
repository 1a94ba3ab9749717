//! `hugewise advise`: what the products on this host want, and how to give it to them.

mod apply;
mod host;
mod rules;
mod run;

use crate::cli::{AdviseArgs, AdviseCommand, AdviseLine, Global};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::advise::report;
use host::Advised;

/// Runs the command.
pub(super) fn run(global: &Global, line: &AdviseLine) -> anyhow::Result<Output> {
    match &line.command {
        None => advise(global, &line.args),
        Some(AdviseCommand::List(args)) => rules::list(global, args),
        Some(AdviseCommand::Show(args)) => rules::show(global, args),
        Some(AdviseCommand::Lint(args)) => rules::checked(global, args),
        Some(AdviseCommand::Apply(args)) => apply::run(global, args),
        Some(AdviseCommand::Verify(args)) => apply::verify(global, args),
        Some(AdviseCommand::Revert(args)) => apply::revert(global, args),
        Some(AdviseCommand::Run(args)) => run::run(global, args),
    }
}

fn advise(global: &Global, args: &AdviseArgs) -> anyhow::Result<Output> {
    let book = rules::book(&args.rules)?;
    let pids = crate::cli::pids(&args.pid);
    let advised = Advised::new(global, &book, &pids)?;
    let view = advised.view(&book, global, &args.state_dir);
    let code = match () {
        () if view.required() > 0 => exit::WARNING,
        () if !view.missing.is_empty() => exit::PARTIAL,
        () => exit::OK,
    };
    match global.json {
        true => Output::json(&report::json(&view), code),
        false => Ok(Output::text(report::text(&view, args.all, paint(global)), code)),
    }
}
