//! One module a command; each gets its parsed arguments and returns what it says, and an exit code.

mod capture;
mod config;
mod control;
mod diagnose;
mod doctor;
mod hugetlb;
mod lab;
mod look;
mod manage;
mod map;
mod replay;
mod revert;
mod rules;
mod status;
mod r#try;
mod workload;

use crate::cli::{Cli, Command};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Output> {
    let global = &cli.global;
    match cli.command {
        Command::Doctor => doctor::run(global),
        Command::Try(args) => r#try::run(global, &args),
        Command::Status(args) => status::run(global, &args),
        Command::Map(args) => map::run(global, &args),
        Command::Manage(args) => manage::run(global, &args),
        Command::Pause(args) => control::run(global, &args, control::Verb::Pause),
        Command::Resume(args) => control::run(global, &args, control::Verb::Resume),
        Command::Revert(args) => revert::run(global, &args),
        Command::Replay(args) => replay::run(global, &args),
        Command::Diagnose(args) => diagnose::run(global, &args),
        Command::Hugetlb(command) => hugetlb::run(global, &command),
        Command::Lab(command) => lab::run(global, &command),
        Command::Rules => Ok(rules::run()),
        Command::Capture(args) => capture::run(global, &args),
        Command::Config(command) => config::run(global, &command),
        Command::Workload(args) => workload::run(&args).map(|code| Output::text("", code)),
    }
}
