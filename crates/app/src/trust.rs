//! Which files and directories a root process may believe: those that only root can change.

use crate::exit;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is wrong with the owner or the mode of a file, in words; `None` where nothing is.
pub(crate) fn problem(meta: &Metadata) -> Option<&'static str> {
    if meta.uid() != 0 {
        return Some("does not belong to root: chown it to root, or move it away");
    }
    // The group root is root's own, but who else is in it nobody checks: so no group at all.
    (meta.mode() & 0o022 != 0).then_some(
        "can be changed by others than root: take the write permission away (chmod go-w)",
    )
}

/// Refuses, when run as root, what others can change; everybody else may trust what they like.
///
/// # Errors
/// Exit code 6, with the path and what to do.
pub(crate) fn check(what: &str, path: &Path, meta: &Metadata) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    match problem(meta) {
        None => Ok(()),
        Some(why) => Err(exit::coded(exit::REFUSED, format!("{what} {} {why}", path.display()))),
    }
}
