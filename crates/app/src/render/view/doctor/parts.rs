//! What the sections of `doctor` are made of.

use std::fmt::Write;

/// Columns of a mechanism's name.
pub(super) const KEY_WIDTH: usize = 27;
/// Columns of its state.
pub(super) const STATE_WIDTH: usize = 9;

/// Adds a line.
pub(super) fn push(out: &mut String, line: &str) {
    let _ = writeln!(out, "{line}");
}
