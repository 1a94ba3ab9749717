//! Starts a program in namespaces of its own.

use super::{command, exec};
use anyhow::Context;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;
use std::ffi::OsString;

/// Becomes the program of the arguments, with a network, mounts and a sysfs of its own.
pub(super) fn run(args: &[OsString]) -> anyhow::Result<u8> {
    leave(UnshareFlags::empty())?;
    mount_on("sysfs", "/sys")?;
    exec(args)
}

/// Becomes the program of the other arguments, for which the first one, a file, is `/etc/subuid`.
pub(super) fn lending(args: &[OsString]) -> anyhow::Result<u8> {
    let (lent, program) = args.split_first().context("no file")?;
    private_mounts()?;
    mount_bind(lent, "/etc/subuid").context("cannot replace /etc/subuid")?;
    exec(program)
}

/// The same as `run`, and in a process namespace of its own.
pub(super) fn container(args: &[OsString]) -> anyhow::Result<u8> {
    leave(UnshareFlags::NEWPID)?;
    let status = command("container-init").args(args).status()?;
    Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

/// The first process of a container.
pub(super) fn container_init(args: &[OsString]) -> anyhow::Result<u8> {
    // A trial that fails early leaves nobody behind.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    mount_on("proc", "/proc")?;
    mount_on("sysfs", "/sys")?;
    exec(args)
}

/// Leaves the mounts of everybody else: what is mounted from here on is seen by nobody.
pub(super) fn private_mounts() -> anyhow::Result<()> {
    unshare(UnshareFlags::NEWNS)
}

/// Enters a user namespace of this user's own.
pub(super) fn own_users() -> anyhow::Result<()> {
    #[expect(deprecated, reason = "safe without FILES, and in a program with one thread")]
    rustix::thread::unshare(UnshareFlags::NEWUSER).context("unshare")
}

fn leave(more: UnshareFlags) -> anyhow::Result<()> {
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET | more)
}

fn unshare(flags: UnshareFlags) -> anyhow::Result<()> {
    #[expect(deprecated, reason = "safe without FILES, and in a program with one thread")]
    rustix::thread::unshare(flags).context("unshare")?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("private mounts")
}

fn mount_on(kind: &str, place: &str) -> anyhow::Result<()> {
    let mounted = mount(kind, place, kind, MountFlags::empty(), None);
    mounted.with_context(|| format!("cannot mount {kind}"))
}
