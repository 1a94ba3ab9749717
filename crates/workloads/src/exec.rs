//! `hugewise lab workload exec`: becomes another program, after arranging what cannot be arranged
//! from outside: its end with its parent, its cgroup, whether it may have huge pages, and whose
//! program it is.

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use hugewise_base::exit;
use hugewise_linux::nobody::Nobody;
use hugewise_linux::{prctl, session};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use rustix::thread::set_no_new_privs;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Arguments of `hugewise lab workload exec`.
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
    /// A program of others: in a session of its own, and without any new privilege
    #[arg(long)]
    foreign: bool,
    /// Whom it becomes, and the only group
    #[arg(long, value_names = ["UID", "GID"], num_args = 2, requires = "foreign")]
    user: Option<Vec<u32>>,
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
    if let Some(group) = &args.group {
        std::fs::write(group, std::process::id().to_string())
            .with_context(|| format!("cannot enter the cgroup {}", group.display()))?;
    }
    if args.never {
        prctl::set_thp_disable(true).context("cannot switch huge pages off")?;
    }
    if args.foreign {
        give_up(args.user.as_deref())?;
    }
    // After the change of user, which takes the request away.
    set_parent_process_death_signal(Some(signal)).context("asking to end with the parent")?;
    // A parent that was gone before the call cannot send anything.
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(args.parent) {
        return Ok(exit::ERROR);
    }
    let Some((program, rest)) = args.command.split_first() else { bail!("no program") };
    let error = Command::new(program).args(rest).exec();
    let hint = match (error.kind(), &args.user) {
        (ErrorKind::PermissionDenied, Some(_)) => {
            ": it runs as a user without privileges, who must be able to read it and to enter the \
             directories above it"
        }
        _ => "",
    };
    Err(error).with_context(|| format!("cannot start {program}{hint}"))
}

/// Gives up what a program of others does not need. This process has one thread: what the kernel
/// changes is all of it.
fn give_up(user: Option<&[u32]>) -> anyhow::Result<()> {
    // With our terminal it could type into it; with what we were started with it could read or
    // write what is root's. One that leads a group has a session of its own already.
    let _ = session::begin();
    let Some([uid, gid]) = user else {
        return set_no_new_privs(true).context("giving up further privileges");
    };
    Nobody { uid: *uid, gid: *gid }
        .become_it()
        .context("becoming a user without privileges (this needs CAP_SETUID and CAP_SETGID)")
}
