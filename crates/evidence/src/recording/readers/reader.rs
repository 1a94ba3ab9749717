//! What a reader is, and what it reads.

use super::words::elided;
use crate::recording::{Builder, SourceKind};

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
    pub around: &'a [String],
    /// The line in question: its place among them.
    pub at: usize,
    /// Its number in the text, from 1.
    pub number: usize,
}

impl<'a> Lines<'a> {
    /// The line in question, or one of those after it (1: the next).
    pub fn ahead(&self, by: usize) -> &'a str {
        self.around.get(self.at + by).map_or("", AsRef::as_ref)
    }

    /// A line before the one in question (1: the one right above).
    pub fn above(&self, by: usize) -> Option<&'a str> {
        self.around.get(self.at.checked_sub(by)?).map(AsRef::as_ref)
    }

    /// Begins a source of this kind here: its reader.
    pub fn begin(
        &self,
        kind: SourceKind,
        reader: impl Reader + 'static,
        out: &mut Builder,
    ) -> Box<dyn Reader> {
        out.begin(kind, self.number);
        Box::new(reader)
    }

    /// The same where readings that follow each other are one source.
    pub fn resume(
        &self,
        kind: SourceKind,
        reader: impl Reader + 'static,
        out: &mut Builder,
    ) -> Box<dyn Reader> {
        out.resume(kind, self.number);
        Box::new(reader)
    }

    /// Its number, from 1.
    pub const fn number(&self) -> usize {
        self.number
    }
}

/// A reader in whose format blank lines mean nothing.
pub(super) struct PastBlanks<R>(pub(super) R);

impl<R: Reader> Reader for PastBlanks<R> {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        if line.trim().is_empty() { Taken::Yes } else { self.0.take(line, out) }
    }

    fn end(&mut self, out: &mut Builder) {
        self.0.end(out);
    }
}

/// The same for lines that stand for what somebody left out.
pub(super) struct PastGaps<R>(pub(super) R);

impl<R: Reader> Reader for PastGaps<R> {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let gap = line.trim().is_empty() || elided(line);
        if gap { Taken::Yes } else { self.0.take(line, out) }
    }

    fn end(&mut self, out: &mut Builder) {
        self.0.end(out);
    }
}
