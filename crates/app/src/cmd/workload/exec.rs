//! `hugewise workload exec`: becomes another program, after arranging what cannot be arranged from
//! outside: its end with its parent, its cgroup, and whether it may have huge pages.

use crate::exit;
use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use hugewise_linux::prctl;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Arguments of `hugewise workload exec`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Args {
    /// Who must still be there
    #[arg(long)]
    parent: i32,
    /// The signal that it gets when its parent ends
    #[arg(long, value_enum, default_value_t = End::Kill)]
    end: End,
    /// A file `cgroup.procs`
    #[arg(long)]
    group: Option<PathBuf>,
    /// No huge pages
    #[arg(long)]
    never: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

/// How it ends when its parent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum End {
    /// At once.
    Kill,
    /// After it has tidied up.
    Term,
}

/// Runs the command; returns only when that fails.
pub(crate) fn run(args: &[String]) -> anyhow::Result<u8> {
    let args = Args::try_parse_from(args)?;
    let signal = match args.end {
        End::Kill => Signal::KILL,
        End::Term => Signal::TERM,
    };
    set_parent_process_death_signal(Some(signal)).context("asking to end with the parent")?;
    // A parent that was gone before the call cannot send anything.
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(args.parent) {
        return Ok(exit::ERROR);
    }
    if let Some(group) = &args.group {
        std::fs::write(group, std::process::id().to_string())
            .with_context(|| format!("cannot enter the cgroup {}", group.display()))?;
    }
    if args.never {
        prctl::set_thp_disable(true).context("cannot switch huge pages off")?;
    }
    let Some((program, rest)) = args.command.split_first() else { bail!("no program") };
    let error = Command::new(program).args(rest).exec();
    Err(error).with_context(|| format!("cannot start {program}"))
}
