//! One module a command; each gets its parsed arguments and returns an exit code.

mod capture;
mod config;
mod control;
mod doctor;
mod look;
mod manage;
mod map;
mod replay;
mod revert;
mod status;
mod r#try;
mod workload;

use crate::cli::{Cli, Command};

/// Runs the command.
pub(crate) fn run(cli: Cli) -> anyhow::Result<u8> {
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
        Command::Capture(args) => capture::run(global, &args),
        Command::Config(command) => config::run(global, &command),
        Command::Workload(args) => workload::run(&args),
    }
}
