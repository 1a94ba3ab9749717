//! One manager a machine, also across containers: a lock on a file that all of them share.

use crate::root::Root;
use hugewise_core::ownership::THP_DIR;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;

/// Directory of the HugeTLB pools.
const POOLS: &str = "sys/kernel/mm/hugepages";

/// Held as long as the manager runs; the kernel drops it when the process ends, however it ends.
#[derive(Debug)]
pub struct InstanceLock(#[expect(dead_code, reason = "held, not read")] File);

/// Why the lock of those who size pools was not had.
#[derive(Debug, thiserror::Error)]
pub enum PoolsLockError {
    /// Somebody else has it.
    #[error("another hugewise is changing the HugeTLB pools: wait for its end")]
    Taken,
    /// The kernel has no HugeTLB.
    #[error("this kernel has no HugeTLB pages ('{0}' is missing): it needs CONFIG_HUGETLBFS")]
    NoPools(String),
    /// Anything else.
    #[error("cannot lock '{0}': {1}")]
    Io(String, std::io::Error),
}

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("another hugewise manages this machine: stop it first, or use 'hugewise status'")]
    Taken,
    /// An experiment is running.
    #[error("another 'hugewise lab run' is running on this machine: wait for its end")]
    LabTaken,
    /// The kernel has no THP.
    #[error("this kernel has no transparent huge pages ('{0}' is missing)")]
    NoThp(String),
    /// Anything else.
    #[error("cannot lock '{0}': {1}")]
    Io(String, std::io::Error),
}

impl InstanceLock {
    /// Takes the lock of those who size HugeTLB pools: `flock` on the directory of the pools.
    ///
    /// # Errors
    /// See [`PoolsLockError`].
    pub fn take_pools(root: &Root) -> Result<Self, PoolsLockError> {
        let path = root.path(POOLS);
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => PoolsLockError::NoPools(name.clone()),
            _ => PoolsLockError::Io(name.clone(), error),
        })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(PoolsLockError::Taken),
            Err(errno) => Err(PoolsLockError::Io(name, errno.into())),
        }
    }

    /// Takes the lock of experiments: `flock` on a file beside the switch, so that a manager may
    /// run within one.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take_lab(root: &Root) -> Result<Self, LockError> {
        Self::take_file(root, "defrag", LockError::LabTaken)
    }

    /// Takes the lock: `flock` on the THP switch itself, which every container sees.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take(root: &Root) -> Result<Self, LockError> {
        Self::take_file(root, "enabled", LockError::Taken)
    }

    fn take_file(root: &Root, name: &str, taken: LockError) -> Result<Self, LockError> {
        let path = root.path(format!("{THP_DIR}/{name}"));
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => LockError::NoThp(name.clone()),
            _ => LockError::Io(name.clone(), error),
        })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(taken),
            Err(errno) => Err(LockError::Io(name, errno.into())),
        }
    }
}
