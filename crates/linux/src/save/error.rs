//! Why a file is not written, and what is believed.

use crate::private::OVERFLOW;
use std::io;
use std::path::Path;

/// Why a file is not written.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Somebody else decides where it would go.
    #[error(
        "'{path}' leads through the symbolic link '{link}', which belongs to another user (uid \
         {owner}): links of others are not followed; give the path that it should lead to"
    )]
    ForeignLink {
        /// As it was given.
        path: String,
        /// The link.
        link: String,
        /// Whose it is.
        owner: u32,
    },
    /// A pipe or a device of somebody else.
    #[error(
        "'{path}' is {what} of another user (uid {owner}): what is written there could be read or \
         held up by others; give another name"
    )]
    Foreign {
        /// As it was given.
        path: String,
        /// What it is.
        what: &'static str,
        /// Whose it is.
        owner: u32,
    },
    /// A directory on the way, of which somebody else decides what is in it.
    #[error(
        "'{path}' leads through the directory '{directory}', which {what}: what is written there \
         could be exchanged; give a path through directories of your own and of root"
    )]
    OpenDirectory {
        /// As it was given.
        path: String,
        /// The directory.
        directory: String,
        /// Who decides.
        what: String,
    },
    /// Something that takes no such file.
    #[error("'{path}' is {what}, and a regular file is needed: give another name")]
    NotRegular {
        /// As it was given.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// Something that is no socket, where one is to be.
    #[error("'{path}' is there, and no socket: it is not replaced; give another name")]
    NotSocket {
        /// As it was given.
        path: String,
    },
    /// The system says no.
    #[error("cannot write '{path}': {error}")]
    Io {
        /// As it was given.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

impl SaveError {
    /// Whether a rule of safety says no, and not the system.
    pub const fn is_refusal(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

/// An error of the system, with the path.
pub(super) fn io_error(path: &Path, error: impl Into<io::Error>) -> SaveError {
    SaveError::Io { path: path.display().to_string(), error: error.into() }
}

/// Who else than root and this user decides what is in a directory, in words. The sticky bit keeps
/// names that are there; with `new` it is no excuse, because others may put new ones.
pub(super) fn decided_by_others(owner: u32, mode: u32, new: bool) -> Option<String> {
    let root = rustix::process::geteuid().is_root();
    // Who calls sudo may do what root may; who is not root may trust a group.
    let caller = std::env::var("SUDO_UID").ok().filter(|_| root).and_then(|uid| uid.parse().ok());
    if !is_ours(owner) && caller != Some(owner) && !is_outside(owner) {
        return Some(format!("belongs to another user (uid {owner})"));
    }
    let (others, sticky) = (if root { 0o022 } else { 0o002 }, mode & 0o1000 != 0);
    let open = mode & others != 0 && (new || !sticky);
    open.then(|| format!("others may change (mode {:o})", mode & 0o7777))
}

/// Whether an owner is none of this user namespace, as that of `/` in a container without root.
fn is_outside(owner: u32) -> bool {
    let all = |map: String| map.split_ascii_whitespace().eq(["0", "0", "4294967295"]);
    owner == OVERFLOW && std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !all(map))
}

/// Whether nobody but root and this user decides what belongs to this user.
pub(super) fn is_ours(owner: u32) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&owner)
}
