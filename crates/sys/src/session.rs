//! A session of its own for a program that is started.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the program start in a new session, so that it has no terminal to write to, and in a new
/// process group, whose id is its pid.
pub fn own(command: &mut Command) -> &mut Command {
    let start = || Ok(rustix::process::setsid().map(|_| ())?);
    // SAFETY: the child of a program with several threads may only call async-signal-safe
    // functions. This one is a bare system call; it allocates nothing and takes no lock.
    // WHY UNSAFE: the standard library has no safe way to start a session.
    unsafe { command.pre_exec(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_leads_a_session() -> std::io::Result<()> {
        let mut child = own(Command::new("sleep").arg("60")).spawn()?;
        let pid = rustix::process::Pid::from_child(&child);
        let session = rustix::process::getsid(Some(pid));
        let group = rustix::process::getpgid(Some(pid));
        child.kill()?;
        child.wait()?;
        assert_eq!((session?, group?), (pid, pid));
        Ok(())
    }
}
