//! Programs that tests start beside hugewise: victims, neighbours, attackers.
//!
//! Each of them is this very test program, which becomes one where its arguments say so. A guest
//! has no other program, and every user may execute this one, also where its directory is closed to
//! that user.
//!
//! To add one: a file here and a row in [`PROGRAMS`]. Trials start it by [`command`], or by
//! `Hold::start_program` where it answers requests ([`kit`]).

mod duty;
mod fuse;
mod kit;
mod locks;
mod namespaces;
mod neighbour;
mod session;
mod shadow;

pub(crate) use fuse::{FuseHolder, Lock, Silence};
pub(crate) use locks::LockHolder;
pub(crate) use shadow::{Counts, trials};

use anyhow::Context;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// What a program does with its arguments; an exit code.
type Program = fn(&[OsString]) -> anyhow::Result<u8>;

const PROGRAMS: [(&str, Program); 12] = [
    ("fuse-server", fuse::server),
    ("fuse-holder", fuse::holder),
    ("neighbour", neighbour::run),
    ("shadow", shadow::run),
    ("locks", locks::run),
    ("no-terminal", session::without_terminal),
    ("terminal", session::on_terminal),
    ("namespaces", namespaces::run),
    ("duty", duty::run),
    ("lending", namespaces::lending),
    ("container", namespaces::container),
    ("container-init", namespaces::container_init),
];

/// The argument that the name of a program follows.
const MARK: &str = "workload";

/// This program, wherever it is, also where its directory is closed to the user.
pub(crate) const SELF: &str = "/proc/self/exe";

/// The exit code of a program that cannot do its work here.
pub(crate) const IMPOSSIBLE: u8 = 77;

/// Becomes the program that the arguments name; `None` where they are those of the tests.
pub(crate) fn run() -> Option<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [mark, name, rest @ ..] = arguments.as_slice() else { return None };
    if mark != MARK {
        return None;
    }
    let row = PROGRAMS.iter().find(|(known, _)| name == known);
    let done = row.context("there is no such program").and_then(|(_, program)| program(rest));
    let code = done.unwrap_or_else(|error| {
        eprintln!("{}: {error:#}", name.display());
        IMPOSSIBLE
    });
    Some(code.into())
}

/// The words that start one of them; its arguments may follow.
pub(crate) fn words(name: &str) -> [&str; 3] {
    [SELF, MARK, name]
}

/// Starts one of them; its arguments may follow.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(SELF);
    command.args([MARK, name]);
    command
}

/// Becomes the program that the arguments name; returns only when that fails.
fn exec(arguments: &[OsString]) -> anyhow::Result<u8> {
    let (program, rest) = arguments.split_first().context("no program")?;
    Err(Command::new(program).args(rest).exec()).context("cannot start it")
}
