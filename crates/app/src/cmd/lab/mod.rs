//! `hugewise lab`.

mod compare;
pub(super) mod form;
mod limit;
mod list;
mod obstacles;
mod prepare;
mod report;
mod results;
mod run;
mod setup;
pub(crate) mod signatures;
mod simulate;
mod stages;
mod suite;

pub(super) use obstacles::of_variants as obstacles_of_variants;
pub(super) use prepare::{file_text, planned};
pub(super) use run::{Way, carry_out, needs_leave, plan};
pub(super) use stages::{Log, now};

use crate::cli::{Global, LabCommand, LabExperiment};
use crate::exit;
use crate::output::Output;
use hugewise_lab::store::Store;
use hugewise_linux::root::Root;

/// Runs the command.
pub(crate) fn run(global: &Global, command: &LabCommand) -> anyhow::Result<Output> {
    let is_live = Root::at(&global.root).is_live();
    let needs_none = matches!(
        command,
        LabCommand::Simulate(_) | LabCommand::Stages(_) | LabCommand::Workload(_)
    );
    if !is_live && !needs_none {
        let message = "experiments run on the live machine: leave --root out";
        return Err(exit::coded(exit::USAGE, message));
    }
    match command {
        LabCommand::List(args) => list::run(global, args),
        LabCommand::Setup(args) => {
            let text = prepare::text_of(&args.which.experiment)?;
            setup::write(args, &text)?;
            match suite::is_one(&text) {
                true => suite::setup(global, args, text),
                false => setup::run(global, alone(&args.which, args)?, text),
            }
        }
        LabCommand::Run(args) => {
            let text = prepare::text_of(&args.which.experiment)?;
            match suite::is_one(&text) {
                true => suite::run_all(global, args, text),
                false => run::run(global, alone(&args.which, args)?, text),
            }
        }
        LabCommand::Report(args) => {
            // What is no directory of results `report` says.
            let store = Store::existing(&args.directory).ok();
            match store.map(|store| store.suite()).transpose()?.flatten() {
                Some(plan) => suite::report(global, args, &plan),
                None => report::run(global, args),
            }
        }
        LabCommand::Compare(args) => compare::run(global, args),
        LabCommand::Signatures(args) => signatures::run(global, args),
        LabCommand::Limit(args) => limit::run(global, args),
        LabCommand::Stages(args) => stages::run(global, args),
        LabCommand::Simulate(args) => simulate::run(global, args),
        LabCommand::Workload(args) => {
            let code = hugewise_workloads::run(&args.kind, &args.args)?;
            Ok(Output::text("", code))
        }
    }
}

/// The arguments of an experiment that is no suite.
fn alone<'a, T>(which: &LabExperiment, args: &'a T) -> anyhow::Result<&'a T> {
    if which.workload.is_empty() {
        return Ok(args);
    }
    let name = &which.experiment;
    let why = format!("'{name}' has one workload: '--workload' chooses among those of a suite");
    Err(exit::coded(exit::USAGE, why))
}
