//! Why a file is not written, and what is believed.

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
    /// Something that takes no such file.
    #[error("'{path}' is {what}, and a regular file is needed: give another name")]
    NotRegular {
        /// As it was given.
        path: String,
        /// What it is.
        what: &'static str,
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
        matches!(self, Self::ForeignLink { .. } | Self::Foreign { .. } | Self::NotRegular { .. })
    }
}

/// An error of the system, with the path.
pub(super) fn io_error(path: &Path, error: impl Into<io::Error>) -> SaveError {
    SaveError::Io { path: path.display().to_string(), error: error.into() }
}

/// Whether nobody but root and this user decides what belongs to this user.
pub(super) fn is_ours(owner: u32) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&owner)
}
