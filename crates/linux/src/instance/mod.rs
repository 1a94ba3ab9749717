//! One manager a machine, one experiment, one who sizes pools.
//!
//! Two things together (`docs/adr/0015-a-lock-that-strangers-cannot-hold.md`):
//!
//! - a lock on a file in the state directory, which nobody but its owner can open: who keeps old
//!   values in the same place never runs twice, whatever else can or cannot be seen;
//! - a mark that every hugewise of this kernel sees, for those that keep them elsewhere.

mod holder;
mod mark;
mod role;

pub use holder::Holder;
pub use role::Role;

use crate::root::Root;
use crate::trail::{make_dir, trusted};
use mark::Mark;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a lock that is taken is tried again.
const AGAIN: Duration = Duration::from_millis(50);

/// How long to wait for a manager that was asked to end. The lock was free after 34 ms at most
/// (`docs/measurements.md#one-lock-for-a-machine`); the rest is for busier machines.
pub const ENDING: Duration = Duration::from_secs(5);

/// Why a lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("{what}", what = .0.taken(.1))]
    Taken(Role, Holder),
    /// The kernel lacks what the lock is for.
    #[error("{what} ('{1}' is missing)", what = .0.missing())]
    Missing(Role, String),
    /// Anything else.
    #[error("cannot lock '{0}': {1}")]
    Io(String, io::Error),
}

/// Held as long as it is needed; the kernel drops it when the process ends, however it ends.
#[derive(Debug)]
pub struct InstanceLock {
    /// `None` where no values are kept.
    _file: Option<File>,
    _mark: Option<Mark>,
    remarks: Vec<String>,
}

impl InstanceLock {
    /// Takes a lock. `state_dir` is where old values are kept, and is not made: where there is none
    /// there are no values, and the mark alone counts. So it does for a user whom the directory is
    /// closed to.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take(root: &Root, state_dir: &Path, role: Role) -> Result<Self, LockError> {
        needs(root, role)?;
        let path = state_dir.join(role.file());
        let io = |error| LockError::Io(path.display().to_string(), error);
        let file = open(state_dir, &path).map_err(io)?;
        // Whoever else has it: the mark tells.
        let busy = match file.as_ref().map(|f| flock(f, FlockOperation::NonBlockingLockExclusive)) {
            None | Some(Ok(())) => false,
            Some(Err(rustix::io::Errno::WOULDBLOCK)) => true,
            Some(Err(errno)) => return Err(io(errno.into())),
        };
        if !root.is_live() {
            return match busy {
                true => Err(LockError::Taken(role, Holder::SameDirectory)),
                false => Ok(Self { _file: file, _mark: None, remarks: Vec::new() }),
            };
        }
        let first = mark::look(role).in_the_way();
        if busy {
            // Nobody but this user can open the file: that is certain, whoever it is.
            let seen = first.filter(|holder| matches!(holder, Holder::Pid(_)));
            return Err(LockError::Taken(role, seen.unwrap_or(Holder::SameDirectory)));
        }
        if let Some(holder) = first {
            return Err(LockError::Taken(role, holder));
        }
        let mark = Mark::set(role).map_err(|errno| io(errno.into()))?;
        // Who came at the same time sees this mark, or is seen here.
        let seen = mark::look(role);
        match seen.in_the_way() {
            Some(holder) => Err(LockError::Taken(role, holder)),
            None => Ok(Self { _file: file, _mark: mark, remarks: seen.remarks() }),
        }
    }

    /// As [`Self::take`], for somebody who is going to keep values: makes the directory.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take_to_keep(root: &Root, state_dir: &Path, role: Role) -> Result<Self, LockError> {
        let io = |error| LockError::Io(state_dir.display().to_string(), error);
        make_dir(state_dir).map_err(io)?;
        Self::take(root, state_dir, role)
    }

    /// As [`Self::take`], from somebody who is about to end: a manager that was asked to, or whose
    /// experiment was killed, still puts its settings back. It has `patience` for that.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take_from_ending(
        root: &Root,
        state_dir: &Path,
        role: Role,
        patience: Duration,
    ) -> Result<Self, LockError> {
        let until = Instant::now() + patience;
        loop {
            match Self::take(root, state_dir, role) {
                Err(LockError::Taken(..)) if Instant::now() < until => std::thread::sleep(AGAIN),
                result => return result,
            }
        }
    }

    /// What an operator should know of: marks of strangers, which were ignored.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }
}

/// Whether the kernel has what a lock is for.
///
/// # Errors
/// [`LockError::Missing`] where it has not.
pub fn needs(root: &Root, role: Role) -> Result<(), LockError> {
    let needs = role.needs();
    match root.has(&needs) {
        true => Ok(()),
        false => Err(LockError::Missing(role, root.path(needs).display().to_string())),
    }
}

/// Who has the lock on this kernel, without taking it.
pub fn held_by(role: Role) -> Option<Holder> {
    mark::look(role).in_the_way()
}

/// The file of a lock: this user's alone. `None` where there is no directory, or it is closed to
/// this user.
fn open(state_dir: &Path, path: &Path) -> io::Result<Option<File>> {
    let dir = match File::open(state_dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if is_closed(&error) => return Ok(None),
        dir => dir?,
    };
    trusted(state_dir, &dir)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?);
    // Others could lock what they can open.
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(Some(file))
}

/// Whether somebody without privileges was told no.
fn is_closed(error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied && !rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests;
