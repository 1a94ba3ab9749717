//! Programs that hugewise starts: itself once more.

use crate::session::{BEAT, Session};
use anyhow::{Context, bail};
use hugewise_base::units::Bytes;
use hugewise_linux::root::Root;
use std::process::{Command, Stdio};

/// This program, ready to be started again.
pub fn this_program() -> anyhow::Result<Command> {
    // The link and not what it points to: it works even when the file was replaced meanwhile.
    let exe = Root::live().path("proc/self/exe");
    let exe = if exe.exists() { exe } else { std::env::current_exe()? };
    Ok(Command::new(exe))
}

/// Touches and frees as much memory as the next run may take, in a process of its own.
pub fn warm(session: &Session, bytes: Bytes) -> anyhow::Result<()> {
    let mut command = this_program()?;
    command
        .args(hugewise_workloads::COMMAND)
        .args(["warm", &bytes.0.to_string()])
        .stdin(Stdio::null());
    let mut child = command.spawn().context("cannot start the warm-up")?;
    let ended = loop {
        match (session.beat(), child.try_wait()?) {
            (Err(interrupted), _) => break Err(interrupted),
            (Ok(()), Some(status)) => break Ok(status),
            (Ok(()), None) => std::thread::sleep(BEAT / 5),
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    let status = ended?;
    if status.success() { Ok(()) } else { bail!("the warm-up ended with {status}") }
}
