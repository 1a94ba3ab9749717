//! Exit codes, stable (documented in `docs/reference.md`).

use std::fmt;

/// Nothing found, or done.
pub(crate) const OK: u8 = 0;
/// An error, or unreadable input.
pub(crate) const ERROR: u8 = 1;
/// Wrong usage.
pub(crate) const USAGE: u8 = 2;
/// Findings of warning level.
pub(crate) const WARNING: u8 = 3;
/// Critical findings.
pub(crate) const CRITICAL: u8 = 4;
/// Partial: data or features are missing.
pub(crate) const PARTIAL: u8 = 5;
/// The whole command was refused by a safety rule.
pub(crate) const REFUSED: u8 = 6;

/// An error with an exit code of its own; attach it with `anyhow::Error::context` or return it.
#[derive(Debug)]
pub(crate) struct Coded {
    /// The exit code.
    pub(crate) code: u8,
    /// What happened, where, and what to do.
    pub(crate) message: String,
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Coded {}

/// An error that ends the command with `code`.
pub(crate) fn coded(code: u8, message: impl Into<String>) -> anyhow::Error {
    Coded { code, message: message.into() }.into()
}

/// The code of an error: that of the innermost [`Coded`], or [`ERROR`].
pub(crate) fn of_error(error: &anyhow::Error) -> u8 {
    error.chain().filter_map(|e| e.downcast_ref::<Coded>()).last().map_or(ERROR, |e| e.code)
}
