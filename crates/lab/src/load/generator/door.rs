//! The way in to a server.

use hugewise_experiment::load::Target;
use std::fmt;

/// Where the server is, and how to get in.
#[derive(Clone)]
pub(in crate::load) struct Door {
    pub(in crate::load) target: Target,
    pub(in crate::load) password: Option<String>,
}

impl fmt::Debug for Door {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.target, f)
    }
}
