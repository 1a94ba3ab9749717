//! The way back: what each owner of settings has changed, and the files that `hugetlb apply` wrote.

use super::saved;
use crate::exit::{self, coded};
use crate::say::note;
use hugewise_collect::hugetlb::kept::{KeptFiles, RestoredFile};
use hugewise_evidence::hugetlb::{files, pools};
use hugewise_linux::instance::{Holder, InstanceLock, LockError, Role};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Trail};
use std::path::Path;

/// What became of everything that `hugetlb apply` had changed.
#[derive(Debug)]
pub(crate) struct Reverted {
    /// Settings.
    pub(crate) settings: Vec<Restored>,
    /// Files.
    pub(crate) files: Vec<RestoredFile>,
}

impl Reverted {
    /// Whether there was nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.files.is_empty()
    }

    /// Whether something has to be done another time.
    pub(crate) fn is_partial(&self) -> bool {
        let stays = |s: &Restored| matches!(s, Restored::Failed { .. } | Restored::InUse { .. });
        self.settings.iter().any(stays)
            || self.files.iter().any(|file| matches!(file, RestoredFile::Failed { .. }))
    }
}

/// Puts back everything that `hugetlb apply` has changed; files first, so that a reboot in the
/// middle does not bring pools again.
pub(crate) fn restore(root: &Root, state_dir: &Path, dry_run: bool) -> anyhow::Result<Reverted> {
    let _lock = if dry_run { None } else { alone(root, state_dir)? };
    let mut trail = Trail::existing(root.clone(), state_dir, pools::OWNER)?;
    let mut kept = KeptFiles::open(root.clone(), state_dir, files::OWNER)?;
    if dry_run || !root.is_live() {
        return Ok(Reverted { settings: trail.plan(), files: kept.plan() });
    }
    // Also where nothing is to be done: an 'apply' that was cut short left empty trails.
    let files = kept.restore();
    let done = Reverted { files, settings: trail.restore() };
    if !done.is_partial() {
        saved::remove(state_dir)?;
    }
    Ok(done)
}

/// The lock; `None` where it cannot be had, but nobody is known to have it.
fn alone(root: &Root, state_dir: &Path) -> anyhow::Result<Option<InstanceLock>> {
    match InstanceLock::take(root, state_dir, Role::Pools) {
        Ok(lock) => {
            lock.remarks().iter().for_each(|remark| note(remark));
            Ok(Some(lock))
        }
        Err(error @ LockError::Taken(_, Holder::Outside)) => {
            note(&format!("{error}, or a stranger's program that looks like it: goes on"));
            Ok(None)
        }
        Err(error @ LockError::Taken(..)) => Err(coded(exit::REFUSED, error.to_string())),
        Err(error @ LockError::Io(..)) => {
            note(&format!("{error}: goes on without"));
            Ok(None)
        }
        // Files can go back on any kernel.
        Err(LockError::Missing(..)) => Ok(None),
    }
}
