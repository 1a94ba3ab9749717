//! One module a command; each gets its parsed arguments and returns an exit code.

mod capture;
mod config;
mod control;
mod diagnose;
mod doctor;
pub(crate) mod hugetlb;
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
use anyhow::Context;
use std::io::Write;

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
        Command::Diagnose(args) => diagnose::run(global, &args),
        Command::Hugetlb(command) => hugetlb::run(global, &command),
        Command::Lab(command) => lab::run(global, &command),
        Command::Rules => rules::run(),
        Command::Capture(args) => capture::run(global, &args),
        Command::Config(command) => config::run(global, &command),
        Command::Workload(args) => workload::run(&args),
    }
}

/// Writes to standard output; a reader that has seen enough ('| head') is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing to standard output"),
    }
}
