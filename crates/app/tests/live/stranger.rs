//! Programs that attack: this very test program, told to by its first argument. In a guest there is
//! no other one.

use anyhow::{Context, bail};
use hugewise_linux::instance::{InstanceLock, Role};
use hugewise_linux::root::Root;
use rustix::fs::{FlockOperation, fcntl_lock, flock};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal, setsid};
use rustix::thread::UnshareFlags;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

/// This program, wherever it is, also where its directory is closed to the user.
pub(crate) const SELF: &str = "/proc/self/exe";

/// What every such first argument begins with.
const TOLD: &str = "stranger:";
/// Takes every lock that can be had.
const LOCKS: &str = "stranger:locks";
/// Starts a program without a terminal.
pub(crate) const NO_TERMINAL: &str = "stranger:no-terminal";
/// Starts a program with this terminal.
pub(crate) const TERMINAL: &str = "stranger:terminal=";
/// Starts a program with a network, mounts and a sysfs of its own.
pub(crate) const NAMESPACES: &str = "stranger:namespaces";
/// The same, and in a process namespace of its own.
pub(crate) const CONTAINER: &str = "stranger:container";
/// Its first process.
const INSIDE: &str = "stranger:inside";
/// The exit code of what cannot be done here.
pub(crate) const IMPOSSIBLE: u8 = 77;

/// Does what the first argument tells; `None` where that is nothing of these.
pub(crate) fn run() -> Option<ExitCode> {
    let told = std::env::args().nth(1).filter(|told| told.starts_with(TOLD))?;
    let rest: Vec<OsString> = std::env::args_os().skip(2).collect();
    let done = match told.as_str() {
        LOCKS => hold_locks(),
        NO_TERMINAL => without_terminal(&rest),
        NAMESPACES => in_namespaces(&rest),
        CONTAINER => container(&rest),
        INSIDE => inside(&rest),
        terminal => on_terminal(terminal.strip_prefix(TERMINAL).unwrap_or_default(), &rest),
    };
    Some(done.unwrap_or_else(|error| {
        eprintln!("{told}: {error:#}");
        IMPOSSIBLE.into()
    }))
}

/// Everything that keeps an older or a weaker lock from being had, until its input ends.
fn hold_locks() -> anyhow::Result<ExitCode> {
    let thp = ["enabled", "defrag"].map(|name| format!("{}/{name}", crate::machine::THP));
    let mut held = Vec::new();
    for path in thp.iter().map(String::as_str).chain([crate::machine::POOLS, "/proc/self/ns/user"])
    {
        let Ok(file) = File::open(path) else { continue };
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        fcntl_lock(&file, FlockOperation::NonBlockingLockShared)?;
        held.push(file);
    }
    // As the real ones do it: all their marks.
    let nowhere = Path::new("/nowhere");
    let marks = [Role::Manager, Role::Lab, Role::Pools]
        .map(|role| InstanceLock::take(&Root::live(), nowhere, role));
    // A lock for writing would be in the way of everybody: nobody may ask for one, not even root.
    let is_writable = File::options().read(true).write(true).open("/proc/self/ns/user").is_ok();
    println!("ready {} {is_writable}", marks.iter().flatten().count());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(ExitCode::SUCCESS)
}

fn exec(args: &[OsString]) -> anyhow::Result<ExitCode> {
    let (program, args) = args.split_first().context("no program")?;
    Err(Command::new(program).args(args).exec()).context("cannot start it")
}

fn without_terminal(args: &[OsString]) -> anyhow::Result<ExitCode> {
    setsid().context("setsid")?;
    exec(args)
}

/// The first terminal that a session without one opens becomes its own.
fn on_terminal(terminal: &str, args: &[OsString]) -> anyhow::Result<ExitCode> {
    setsid().context("setsid")?;
    let terminal = File::options().read(true).write(true).open(terminal)?;
    File::open("/dev/tty").context("no controlling terminal")?;
    let (program, args) = args.split_first().context("no program")?;
    let mut command = Command::new(program);
    // A session whose leader ends loses its terminal: so this one becomes the program.
    Err(command.args(args).stdin(terminal).exec()).context("cannot start it")
}

fn leave(more: UnshareFlags) -> anyhow::Result<()> {
    let flags = UnshareFlags::NEWNS | UnshareFlags::NEWNET | more;
    #[expect(deprecated, reason = "safe without FILES, and in a program with one thread")]
    rustix::thread::unshare(flags).context("unshare")?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context("private mounts")
}

fn mount_on(kind: &str, place: &str) -> anyhow::Result<()> {
    let mounted = mount(kind, place, kind, MountFlags::empty(), None);
    mounted.with_context(|| format!("cannot mount {kind}"))
}

fn in_namespaces(args: &[OsString]) -> anyhow::Result<ExitCode> {
    leave(UnshareFlags::empty())?;
    mount_on("sysfs", "/sys")?;
    exec(args)
}

fn inside(args: &[OsString]) -> anyhow::Result<ExitCode> {
    // A trial that fails early leaves nobody behind.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    mount_on("proc", "/proc")?;
    mount_on("sysfs", "/sys")?;
    exec(args)
}

fn container(args: &[OsString]) -> anyhow::Result<ExitCode> {
    leave(UnshareFlags::NEWPID)?;
    let status = Command::new(SELF).arg(INSIDE).args(args).status()?;
    Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1).into())
}

/// Somebody who holds all the locks that can be had.
#[derive(Debug)]
pub(crate) struct LockHolder {
    process: Child,
    _input: Option<ChildStdin>,
}

impl LockHolder {
    /// Starts `program`, a copy of this one, by this user.
    pub(crate) fn start(program: &Path, uid: u32) -> anyhow::Result<Self> {
        let mut process = Command::new(program)
            .arg(LOCKS)
            .uid(uid)
            .gid(uid)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a stranger")?;
        let input = process.stdin.take();
        let mut said = String::new();
        BufReader::new(process.stdout.take().context("no output")?).read_line(&mut said)?;
        let holder = Self { process, _input: input };
        if said.trim() != "ready 3 false" {
            bail!("a stranger of user {uid} said '{}'", said.trim());
        }
        Ok(holder)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
