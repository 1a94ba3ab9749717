//! Starts a program without a terminal, or with another one.

use super::exec;
use anyhow::Context;
use rustix::process::setsid;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes the program of the arguments, without a terminal.
pub(super) fn without_terminal(args: &[OsString]) -> anyhow::Result<u8> {
    setsid().context("setsid")?;
    exec(args)
}

/// Becomes the program behind the first argument, which is its terminal: the first one that a
/// session without a terminal opens becomes its own.
pub(super) fn on_terminal(args: &[OsString]) -> anyhow::Result<u8> {
    let [terminal, program, args @ ..] = args else { anyhow::bail!("no terminal or program") };
    setsid().context("setsid")?;
    let terminal = File::options().read(true).write(true).open(terminal)?;
    File::open("/dev/tty").context("no controlling terminal")?;
    let mut command = Command::new(program);
    // A session whose leader ends loses its terminal: so this one becomes the program.
    Err(command.args(args).stdin(terminal).exec()).context("cannot start it")
}
