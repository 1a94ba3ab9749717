//! One module a command; each gets its parsed arguments and returns what it says, and an exit code.

mod advise;
mod bill;
mod config;
mod control;
mod diagnose;
mod doctor;
mod hugetlb;
mod investigate;
mod journal;
mod lab;
mod machine;
mod manage;
mod map;
mod metrics;
mod programs;
mod record;
mod recorded;
mod replay;
mod response;
mod revert;
mod scan;
mod serve;
mod snapshot;
mod status;
mod thp;
mod top;
mod r#try;
mod watch;

pub(crate) use diagnose::{files_of_fleet, read_of_fleet};

use crate::cli::{Cli, Command, Global, ManageCommand, ManageLine, StatusArgs};
use crate::output::Output;
use hugewise_linux::root::Root;

/// Runs the command.
pub(crate) fn run(cli: Cli) -> anyhow::Result<Output> {
    let global = &cli.global;
    check_root(global)?;
    match cli.command {
        Command::Doctor => doctor::run(global),
        Command::Try(args) => r#try::run(global, &args),
        Command::Status(args) => seen(global, &args),
        Command::Top(args) => top::run(global, &args),
        Command::Record(args) => record::run(global, &args),
        Command::Serve(args) if args.once => metrics::run(global, &args),
        Command::Serve(args) => serve::run(global, &args),
        Command::Manage(line) => managed(global, &line),
        Command::Revert(args) => revert::run(global, &args),
        Command::Diagnose(args) => diagnose::run(global, &args),
        Command::Response(args) => response::run(global, &args),
        Command::Hugetlb(command) => hugetlb::run(global, &command),
        Command::Advise(line) => advise::run(global, &line),
        Command::Thp(command) => thp::run(global, &command),
        Command::Lab(command) => lab::run(global, &command),
        Command::Investigate(command) => investigate::run(global, &command),
    }
}

/// The machine, or the memory of one process.
fn seen(global: &Global, args: &StatusArgs) -> anyhow::Result<Output> {
    match args.map.map {
        Some(pid) => map::run(global, pid, &args.map),
        None => status::run(global, args),
    }
}

/// Runs a manager, or asks one, or reads what one wrote.
fn managed(global: &Global, line: &ManageLine) -> anyhow::Result<Output> {
    match &line.command {
        None => manage::run(global, &line.args),
        Some(ManageCommand::Pause(args)) => control::run(global, args, control::Verb::Pause),
        Some(ManageCommand::Resume(args)) => control::run(global, args, control::Verb::Resume),
        Some(ManageCommand::Config(command)) => config::run(global, command),
        Some(ManageCommand::Journal(args)) => journal::run(global, args),
        Some(ManageCommand::Replay(args)) => replay::run(global, args),
    }
}

/// A directory that holds nothing of a machine is a mistake, not an unknown machine.
fn check_root(global: &Global) -> anyhow::Result<()> {
    let root = Root::at(&global.root);
    anyhow::ensure!(
        root.has("proc") || root.has("sys"),
        "--root {}: it holds neither 'proc' nor 'sys'. What 'hugewise record' wrote is read by \
         'hugewise diagnose FILE'",
        root.shown()
    );
    Ok(())
}
