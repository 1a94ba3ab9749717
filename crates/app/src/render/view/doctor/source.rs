//! Where the answer comes from.

use std::path::Path;

/// Where the answer comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// This machine.
    Live,
    /// Copies of its files.
    Tree(&'a Path),
}
