//! One manager a machine, also across containers: a lock on a file that all of them share.

use crate::root::Root;
use hugewise_core::ownership::THP_DIR;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::time::{Duration, Instant};

/// How often a lock that somebody else has is asked for again.
const AGAIN: Duration = Duration::from_millis(50);

/// Patience with a manager that was told to end. Measured: 40 experiments killed at any moment of
/// their manager's first 0.4 s, half of them beside three busy loops on two CPUs; the lock was free
/// after 34 ms at most (Linux 6.18). The rest is for busier machines.
pub const ENDING: Duration = Duration::from_secs(5);

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

    /// As [`Self::take`], from a manager that is about to end: one that was told to, or whose
    /// experiment was killed, still puts its settings back. It has `patience` for that.
    ///
    /// # Errors
    /// See [`LockError`].
    pub fn take_from_ending(root: &Root, patience: Duration) -> Result<Self, LockError> {
        let until = Instant::now() + patience;
        loop {
            match Self::take(root) {
                Err(LockError::Taken) if Instant::now() < until => std::thread::sleep(AGAIN),
                result => return result,
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::fs;

    /// A directory that looks like the root of a machine with huge pages.
    struct Tree(Scratch);

    impl Tree {
        fn new() -> Self {
            let tree = Self(Scratch::new());
            fs::create_dir_all(tree.0.join(THP_DIR)).expect("mkdir");
            for file in ["enabled", "defrag"] {
                fs::write(tree.0.join(THP_DIR).join(file), "").expect("write");
            }
            tree
        }
    }

    #[test]
    fn an_ending_manager_is_waited_for() {
        let tree = Tree::new();
        let root = Root::at(&tree.0);
        let lock = InstanceLock::take(&root).expect("free");
        assert!(matches!(InstanceLock::take(&root), Err(LockError::Taken)));
        let ending = std::thread::spawn(move || {
            std::thread::sleep(4 * AGAIN);
            drop(lock);
        });
        InstanceLock::take_from_ending(&root, Duration::from_secs(60)).expect("it ended");
        ending.join().expect("no panic");
    }

    #[test]
    fn one_that_goes_on_is_not_waited_for_long() {
        let tree = Tree::new();
        let root = Root::at(&tree.0);
        let _lock = InstanceLock::take(&root).expect("free");
        let result = InstanceLock::take_from_ending(&root, 2 * AGAIN);
        assert!(matches!(result, Err(LockError::Taken)), "{result:?}");
        // Experiments have another one: a manager runs within.
        InstanceLock::take_lab(&root).expect("free");
    }
}
