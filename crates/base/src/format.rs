//! Versions of the files that a later program reads again: trails, journals, histories, and what
//! users write.
//!
//! A file without a version is of the first one: files that were written before there were
//! versions stay readable. Of a later version nothing is taken over, for a part of it would be
//! guessed, and nothing is written over it.

/// A format, and the latest version of it that this program reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// What it is, for users.
    pub what: &'static str,
    /// The latest version that is known.
    pub version: u32,
}

/// The version of a file that does not name one.
pub const FIRST: u32 = 1;

/// A file is of a later version than this program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaterVersion {
    /// The format as this program knows it.
    pub format: Format,
    /// The version of the file.
    pub found: u32,
}

impl std::error::Error for LaterVersion {}

impl std::fmt::Display for LaterVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { format: Format { what, version }, found } = self;
        write!(
            f,
            "{what} has version {found}, and this hugewise reads versions up to {version}: use the \
             newer one that wrote it; nothing was changed"
        )
    }
}

impl Format {
    /// Whether this program reads that version.
    ///
    /// # Errors
    /// It is a later one.
    pub fn check(self, found: u32) -> Result<(), LaterVersion> {
        if found <= self.version { Ok(()) } else { Err(LaterVersion { format: self, found }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_later_is_refused() {
        let format = Format { what: "a journal", version: 2 };
        assert_eq!([0, FIRST, 2].map(|found| format.check(found)), [Ok(()); 3]);
        let error = format.check(3).expect_err("later").to_string();
        assert!(error.starts_with("a journal has version 3, and this hugewise reads"), "{error}");
    }
}
