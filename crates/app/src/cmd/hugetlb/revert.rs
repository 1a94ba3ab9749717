//! `hugewise hugetlb revert`.

use super::saved;
use crate::cli::{Global, HugetlbRevertArgs};
use crate::cmd::print;
use crate::exit::{self, coded};
use crate::view::text::wrap;
use hugewise_linux::hugetlb::kept::{KeptFiles, RestoredFile};
use hugewise_linux::instance::{InstanceLock, PoolsLockError};
use hugewise_linux::root::Root;
use hugewise_linux::trail::{Restored, Scope, Trail};
use std::path::Path;

/// Runs the command.
pub(super) fn run(global: &Global, args: &HugetlbRevertArgs) -> anyhow::Result<u8> {
    let root = Root::at(&global.root);
    if !root.is_live() && !args.dry_run {
        let message = "--root reads another tree, and nothing is changed there: add --dry-run";
        return Err(coded(exit::USAGE, message));
    }
    let done = restore(&root, &args.state_dir, args.dry_run)?;
    if global.json {
        let (settings, files) = (&done.settings, &done.files);
        let json = serde_json::json!({
            "schema": 1, "dry_run": args.dry_run, "settings": settings, "files": files
        });
        print(&format!("{json}\n"))?;
    } else if done.is_empty() {
        let place = args.state_dir.display();
        print(&format!("Nothing to put back: the trail in '{place}' is empty.\n"))?;
    } else {
        print(&done.text())?;
        if args.dry_run {
            print("Nothing was changed (--dry-run): that is what would happen.\n")?;
        }
    }
    Ok(if done.is_partial() { exit::PARTIAL } else { exit::OK })
}

/// What became of everything that `apply` had changed.
#[derive(Debug)]
pub(in crate::cmd) struct Reverted {
    /// Settings.
    pub(in crate::cmd) settings: Vec<Restored>,
    /// Files.
    pub(in crate::cmd) files: Vec<RestoredFile>,
}

impl Reverted {
    /// Whether there was nothing to do.
    pub(in crate::cmd) fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.files.is_empty()
    }

    /// Whether something has to be done another time.
    pub(in crate::cmd) fn is_partial(&self) -> bool {
        let stays = |s: &Restored| matches!(s, Restored::Failed { .. } | Restored::InUse { .. });
        self.settings.iter().any(stays)
            || self.files.iter().any(|file| matches!(file, RestoredFile::Failed { .. }))
    }

    /// A paragraph for each.
    pub(in crate::cmd) fn text(&self) -> String {
        let settings = self.settings.iter().map(crate::cmd::revert::describe);
        let files = self.files.iter().map(describe);
        settings.chain(files).map(|line| wrap("", &line)).collect()
    }
}

/// Puts everything back; files first, so that a reboot in the middle does not bring pools again.
pub(in crate::cmd) fn restore(
    root: &Root,
    state_dir: &Path,
    dry_run: bool,
) -> anyhow::Result<Reverted> {
    let _lock = match InstanceLock::take_pools(root) {
        Ok(lock) => Some(lock),
        Err(error @ PoolsLockError::Taken) => {
            return Err(coded(exit::REFUSED, error.to_string()));
        }
        // Files can go back on any kernel.
        Err(_) => None,
    };
    let mut trail = Trail::existing(root.clone(), state_dir, Scope::Hugetlb)?;
    let mut kept = KeptFiles::open(root.clone(), state_dir)?;
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

fn describe(file: &RestoredFile) -> String {
    match file {
        RestoredFile::Removed { file } => format!("/{file}: removed"),
        RestoredFile::PutBack { file } => format!("/{file}: has its old content again"),
        RestoredFile::Unchanged { file } => format!("/{file}: is as it was"),
        RestoredFile::Foreign { file } => {
            format!("/{file}: left alone: somebody edited it meanwhile")
        }
        RestoredFile::Failed { file, error } => format!("/{file}: NOT put back: {error}"),
    }
}
