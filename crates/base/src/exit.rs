//! Exit codes of the program, and errors that carry one. Stable: scripts rely on them, and
//! `docs/reference/json.md#exit-codes` lists them.

use std::error::Error;
use std::fmt;

/// Nothing found, or done.
pub const OK: u8 = 0;
/// An error, or unreadable input.
pub const ERROR: u8 = 1;
/// Wrong usage.
pub const USAGE: u8 = 2;
/// Findings of warning level.
pub const WARNING: u8 = 3;
/// Critical findings.
pub const CRITICAL: u8 = 4;
/// Partial: data or features are missing.
pub const PARTIAL: u8 = 5;
/// The whole command was refused by a safety rule.
pub const REFUSED: u8 = 6;

/// An error with an exit code of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coded {
    /// The exit code.
    pub code: u8,
    /// What happened, where, and what to do.
    pub message: String,
}

impl Coded {
    /// An error that ends the command with `code`.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Coded {}

/// The code of an error: that of the innermost [`Coded`] among its causes, or [`ERROR`].
pub fn of(error: &(dyn Error + 'static)) -> u8 {
    let (mut code, mut cause) = (ERROR, Some(error));
    while let Some(error) = cause {
        code = error.downcast_ref::<Coded>().map_or(code, |coded| coded.code);
        cause = error.source();
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(Coded);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn the_innermost_code_counts() {
        assert_eq!(of(&Outer(Coded::new(REFUSED, "no"))), REFUSED);
        assert_eq!(of(&fmt::Error), ERROR);
    }
}
