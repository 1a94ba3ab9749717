//! Directories, unless told otherwise.

/// Where old values of settings and the journal are kept.
pub(crate) const STATE_DIR: &str = "/var/lib/hugewise";

/// Where the machine's history is kept.
pub(crate) const HISTORY_DIR: &str = "/var/lib/hugewise/history";
