//! A session of its own for a program that is started, and nothing else of the one that starts it.

use crate::sandbox::Sandbox;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The first descriptor after standard input, output and error.
const FIRST: libc::c_uint = 3;

/// Makes this process, which has one thread, one with a session of its own, so that it has no
/// terminal to write to, and of open files only its standard ones once it becomes another program,
/// whatever it was started with (Linux 5.11; on older kernels, what was opened to be inherited
/// still is). Allocates nothing.
///
/// # Errors
/// `EPERM` for a process that leads a group.
pub fn begin() -> io::Result<()> {
    let (last, flags) = (libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: takes numbers only. Descriptors stay open until a program is executed, by which the
    // standard library reports whether it was.
    // WHY UNSAFE: rustix 1.1 does not have it.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, last, flags) };
    rustix::process::setsid()?;
    Ok(())
}

/// Lets the program [`begin`] so: in a new session, and in a new process group, whose id is its
/// pid.
pub fn own(command: &mut Command) -> &mut Command {
    // SAFETY: the child of a program with several threads may only call async-signal-safe
    // functions. These are bare system calls; they allocate nothing and take no lock.
    // WHY UNSAFE: the standard library has no safe way to start a session.
    unsafe { command.pre_exec(begin) }
}

/// The same, and the program can gain no privilege by what it executes; with `ids` it becomes that
/// user and group, without any other group. It lives in the sandbox.
pub fn without_privileges(
    command: &mut Command,
    ids: Option<(u32, u32)>,
    sandbox: Sandbox,
) -> &mut Command {
    if let Some((uid, gid)) = ids {
        // Root's groups go as well: the standard library gives them up with root.
        command.uid(uid).gid(gid);
    }
    let start = move || {
        rustix::thread::set_no_new_privs(true)?;
        sandbox.enter()
    };
    // SAFETY: as in `own`: bare system calls between `fork` and `execve`.
    // WHY UNSAFE: the standard library has no safe way to give this up.
    unsafe { own(command).pre_exec(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_privileges_has_none() -> std::io::Result<()> {
        let root = rustix::process::geteuid().is_root();
        let ids = root.then_some((65_533, 65_532));
        let mut command = Command::new("grep");
        command.args(["-E", "^(Uid|Gid|Groups|CapEff|CapPrm|NoNewPrivs):", "/proc/self/status"]);
        let output = without_privileges(&mut command, ids, Sandbox::of_reader()?).output()?;
        let said = String::from_utf8_lossy(&output.stdout).replace('\t', " ");
        assert!(said.contains("NoNewPrivs: 1"), "{said}");
        if root {
            assert!(said.contains("Uid: 65533 65533 65533 65533"), "{said}");
            assert!(said.contains("Gid: 65532 65532 65532 65532"), "{said}");
            assert!(said.lines().any(|line| line.trim_end() == "Groups:"), "{said}");
            assert!(said.contains("CapPrm: 0000000000000000"), "{said}");
        }
        Ok(())
    }

    #[test]
    fn the_program_has_no_descriptor_that_was_to_be_inherited() -> std::io::Result<()> {
        use rustix::io::FdFlags;
        let file = std::fs::File::open("/proc/self/status")?;
        rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
        let list = || Command::new("ls").arg("/proc/self/fd").output();
        let inherited = |output: std::process::Output| {
            // `ls` itself opens one, the lowest that is free.
            String::from_utf8_lossy(&output.stdout).lines().count() > 4
        };
        assert!(inherited(list()?), "the control");
        assert!(!inherited(own(Command::new("ls").arg("/proc/self/fd")).output()?));
        Ok(())
    }

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
