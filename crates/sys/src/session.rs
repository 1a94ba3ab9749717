//! A session of its own for a program that is started, and nothing else of the one that starts it.

use crate::sandbox::Sandbox;
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
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

/// A user whom a program becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The user's id.
    pub uid: u32,
    /// The group that the user's programs start with.
    pub gid: u32,
    /// The others that the user is in: what a server reads may be theirs, as Debian's certificates
    /// are those of the group `ssl-cert`.
    pub groups: Vec<u32>,
}

/// Lets the program [`begin`] as that user, with all of the user's groups and none of this process.
pub fn as_user<'a>(command: &'a mut Command, identity: &Identity) -> &'a mut Command {
    let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
    let groups: Vec<Gid> = identity.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    // Not those of the standard library: it gives up all groups, after which none can be taken.
    let become_it = move || {
        set_thread_groups(&groups)?;
        set_thread_res_gid(gid, gid, gid)?;
        Ok(set_thread_res_uid(uid, uid, uid)?)
    };
    // SAFETY: as in `own`: bare system calls between `fork` and `execve`, in the only thread.
    // WHY UNSAFE: the standard library has no safe way to give a program groups.
    unsafe { own(command).pre_exec(become_it) }
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
    fn a_program_has_the_groups_of_its_user_and_no_other() -> std::io::Result<()> {
        let mut command = Command::new("grep");
        command.args(["-E", "^(Uid|Gid|Groups|CapEff):", "/proc/self/status"]);
        let user = Identity { uid: 65_533, gid: 65_532, groups: vec![65_530, 65_531] };
        if !rustix::process::geteuid().is_root() {
            assert!(as_user(&mut command, &user).output().is_err(), "only root may");
            return Ok(());
        }
        let output = as_user(&mut command, &user).output()?;
        let said = String::from_utf8_lossy(&output.stdout).replace('\t', " ");
        assert!(said.contains("Uid: 65533 65533 65533 65533"), "{said}");
        assert!(said.contains("Gid: 65532 65532 65532 65532"), "{said}");
        assert!(said.lines().any(|line| line.trim_end() == "Groups: 65530 65531"), "{said}");
        assert!(said.contains("CapEff: 0000000000000000"), "{said}");
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
