//! Directories, unless told otherwise.

/// Where old values of settings and the journal are kept.
pub(crate) const STATE_DIR: &str = "/var/lib/hugewise";
