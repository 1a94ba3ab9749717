//! Directories, unless others are given.

pub use hugewise_base::owner::STATE_DIR;

/// Where the machine's history is kept.
pub const HISTORY_DIR: &str = "/var/lib/hugewise/history";
