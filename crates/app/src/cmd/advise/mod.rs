//! `hugewise advise`: what the products on this host want, and how to give it to them.

mod apply;
mod host;
mod place;
mod rules;
mod run;

use super::bill;
use crate::cli::{AdviseArgs, AdviseCommand, AdviseLine, Global};
use crate::exit;
use crate::output::{Output, paint};
use crate::render::view::advise::report;
use crate::render::view::bill::text as estimated;
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
        Some(AdviseCommand::Place(args)) => place::run(global, args),
    }
}

fn advise(global: &Global, args: &AdviseArgs) -> anyhow::Result<Output> {
    match args.bill.estimate.as_deref() {
        None => {}
        // Of this host, the estimate is a section; a recording is of another moment.
        Some([]) if args.bill.check.is_empty() => {}
        Some(recordings) => return bill::run(global, recordings, &args.bill),
    }
    let book = rules::book(&args.rules)?;
    let pids = crate::cli::pids(&args.pid);
    let advised = Advised::new(global, &book, &pids)?;
    let view = advised.view(&book, global, &args.state_dir);
    let mut code = match () {
        () if view.required() > 0 => exit::WARNING,
        () if !view.missing.is_empty() => exit::PARTIAL,
        () => exit::OK,
    };
    let estimate = match args.bill.estimate {
        Some(_) => Some(bill::estimate(global, &[], &args.bill)?),
        None => None,
    };
    if let Some((_, of_estimate)) = estimate {
        code = if code == exit::OK { of_estimate } else { code };
    }
    let estimate = estimate.map(|(answer, _)| answer);
    if global.json {
        let mut json = report::json(&view);
        if let Some(answer) = &estimate {
            json["estimate"] = answer.json()?;
        }
        return Output::json(&json, code);
    }
    let mut text = report::text(&view, args.all, paint(global));
    match &estimate {
        Some(answer) => text += &format!("\n{}", estimated(answer, paint(global))),
        None => text += report::ESTIMATE,
    }
    Ok(Output::text(text, code))
}
