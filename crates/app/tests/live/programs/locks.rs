//! Takes every lock that can be had.

use super::{MARK, SELF};
use anyhow::{Context, bail};
use hugewise_linux::instance::{InstanceLock, Role};
use hugewise_linux::root::Root;
use rustix::fs::{FlockOperation, fcntl_lock, flock};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Holds everything that keeps an older or a weaker lock from being had, until its input ends.
pub(super) fn run(_: &[OsString]) -> anyhow::Result<u8> {
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
    Ok(0)
}

/// Somebody who holds all the locks that can be had.
#[derive(Debug)]
pub(crate) struct LockHolder {
    process: Child,
    _input: Option<ChildStdin>,
}

impl LockHolder {
    /// A process of this user.
    pub(crate) fn start(uid: u32) -> anyhow::Result<Self> {
        Self::start_copy(Path::new(SELF), uid)
    }

    /// The same, started from a copy of this program.
    pub(crate) fn start_copy(program: &Path, uid: u32) -> anyhow::Result<Self> {
        let mut process = Command::new(program)
            .args([MARK, "locks"])
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
