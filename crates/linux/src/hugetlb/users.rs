//! Names of users.

use crate::process;
use crate::root::Root;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The user whom a file or directory belongs to; `None` where either is not known.
#[must_use]
pub fn owner(root: &Root, path: &Path) -> Option<String> {
    let uid = fs::metadata(path).ok()?.uid();
    process::users(root).remove(&uid)
}
