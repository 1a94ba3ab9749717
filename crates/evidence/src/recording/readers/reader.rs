//! What a reader is, and what it reads.

use std::borrow::Cow;

use crate::recording::Builder;

/// What a reader says to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was mine; I may have complained about it.
    Yes,
    /// It is not mine: ask the others.
    No,
}

/// Reads the lines of one format.
pub trait Reader {
    /// Takes a line, or says that it is not its own.
    ///
    /// Blank lines are handed over too; a reader that ends at one says `No`.
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken;

    /// No more lines of this format follow here.
    fn end(&mut self, _out: &mut Builder) {}
}

/// How far a reader looks around: never more lines than this, behind the line in question or
/// before it.
pub const LINES_AROUND: usize = 64;

/// A place in a text, with the lines around it.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// The lines around it, as many as [`LINES_AROUND`] at least where the text has them.
    pub around: &'a [Cow<'a, str>],
    /// The line in question: its place among them.
    pub at: usize,
    /// Its number in the text, from 1.
    pub number: usize,
}

impl<'a> Lines<'a> {
    /// The line in question, or one of those after it (1: the next).
    #[must_use]
    pub fn ahead(&self, by: usize) -> &'a str {
        self.around.get(self.at + by).map_or("", AsRef::as_ref)
    }

    /// A line before the one in question (1: the one right above).
    #[must_use]
    pub fn above(&self, by: usize) -> Option<&'a str> {
        self.around.get(self.at.checked_sub(by)?).map(AsRef::as_ref)
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(&self) -> usize {
        self.number
    }
}
