//! Which files and directories a root process may believe: those that only root can change.

use hugewise_base::exit::{Coded, REFUSED};
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

/// Whether only root can change it, whoever asks.
pub fn is_roots(meta: &Metadata) -> bool {
    problem(meta).is_none()
}

/// Refuses to write into a file that is another one as well, under another name, or somebody
/// else's: a hard link can be made to files that its maker may not write.
///
/// # Errors
/// Exit code 6, with the path and what to do.
pub fn check_alone(what: &str, path: &Path, meta: &Metadata) -> Result<(), Coded> {
    let why = if meta.nlink() > 1 {
        "has another name as well (a hard link): remove it, or give another name"
    } else if meta.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user: give a file of your own"
    } else {
        return Ok(());
    };
    Err(Coded::new(REFUSED, format!("{what} {} {why}", path.display())))
}

/// Refuses, when run as root, what others can change; everybody else may trust what they like.
///
/// # Errors
/// Exit code 6, with the path and what to do.
pub fn check(what: &str, path: &Path, meta: &Metadata) -> Result<(), Coded> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    match problem(meta) {
        None => Ok(()),
        Some(why) => Err(Coded::new(REFUSED, format!("{what} {} {why}", path.display()))),
    }
}
