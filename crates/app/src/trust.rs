//! Which files and directories a root process may believe: those that only root can change.

use crate::exit;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is wrong with the owner or the mode, in words; `None` where nothing is.
fn problem(meta: &Metadata) -> Option<&'static str> {
    // No group either: who else is in root's group nobody checks.
    let (own, closed) = (meta.uid() == 0, meta.mode() & 0o022 == 0);
    match (own, closed, meta.is_dir()) {
        (true, true, _) => None,
        // Never advise to change the mode of a directory: it may be /tmp.
        (_, _, true) => Some("can be changed by others than root: use a directory that cannot"),
        (false, _, false) => Some("does not belong to root: chown it to root, or move it away"),
        (true, false, false) => {
            Some("can be changed by others than root: take that permission away (chmod go-w)")
        }
    }
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
