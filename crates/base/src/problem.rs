//! A piece of text that cannot be read: what stood where, and what was expected.

use serde::Serialize;
use std::fmt;

/// How much of the offending text an error quotes, in characters.
pub const FOUND_CHARS_MAX: usize = 80;

/// A piece of text that is not what its format promises.
///
/// `source` is a kind of file, not an underlying error: there is none, so
/// `std::error::Error::source` is always `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParseError {
    /// Kind of text, such as `"meminfo"`.
    pub source: &'static str,
    /// Line number, from 1.
    pub line: usize,
    /// What stood there: at most [`FOUND_CHARS_MAX`] characters, invalid UTF-8 replaced.
    pub found: String,
    /// What was expected instead.
    pub wanted: &'static str,
}

impl ParseError {
    /// An error about `found`, which is shortened.
    pub fn new(
        source: &'static str,
        line: usize,
        found: impl AsRef<[u8]>,
        wanted: &'static str,
    ) -> Self {
        let found = found.as_ref();
        // No character is longer than 4 bytes: a bound that spares converting a huge line.
        let start = &found[..found.len().min(4 * FOUND_CHARS_MAX)];
        let found = String::from_utf8_lossy(start).chars().take(FOUND_CHARS_MAX).collect();
        Self { source, line, found, wanted }
    }

    /// Without kind and line, for a value whose place the reader is told otherwise.
    pub fn of_value(&self) -> String {
        format!("found '{}', wanted {}", self.found.escape_debug(), self.wanted)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: {}", self.source, self.line, self.of_value())
    }
}

impl std::error::Error for ParseError {}
