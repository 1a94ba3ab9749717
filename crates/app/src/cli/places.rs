//! Directories, unless told otherwise.

pub(crate) use hugewise_base::owner::STATE_DIR;

/// Where the machine's history is kept.
pub(crate) const HISTORY_DIR: &str = "/var/lib/hugewise/history";
