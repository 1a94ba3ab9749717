//! The readers: one a format, found by content.
//!
//! A reader takes lines as long as they are its own. It never panics, keeps no more than a header
//! and what the next line needs, and puts what it understands into the [`Builder`].

mod atop;
mod atop_json;
mod atop_text;
mod buddyinfo;
pub mod capture;
#[cfg(test)]
mod check;
mod free;
mod gc;
mod iftop;
mod interrupts;
mod iotop;
mod meminfo;
mod perf;
mod shell;
mod sockets;
mod sysstat;
mod tcp_counts;
mod top;
mod vmstat;
mod vmstat_counts;
mod words;

use super::Builder;

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

/// A place in a text, with what follows it.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// The whole text.
    pub all: &'a [&'a str],
    /// The line in question.
    pub at: usize,
}

impl<'a> Lines<'a> {
    /// The line in question, or one of those after it (1: the next).
    #[must_use]
    pub fn ahead(&self, by: usize) -> &'a str {
        self.all.get(self.at + by).copied().unwrap_or("")
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(&self) -> usize {
        self.at + 1
    }
}

/// Tells whether a format begins at a place. Such a function has called [`Builder::begin`] when
/// it gives a reader, and changed nothing when it does not. `shell`, whose lines are mostly no
/// data, leaves it to its reader.
type Begins = fn(&Lines<'_>, &mut Builder) -> Option<Box<dyn Reader>>;

/// The formats, the more particular ones first.
const FORMATS: &[Begins] = &[
    atop_text::begins,
    shell::begins,
    perf::begins,
    sysstat::timed::begins,
    sysstat::iostat::begins,
    top::begins,
    iotop::begins,
    iftop::begins,
    tcp_counts::begins,
    sockets::begins,
    free::begins,
    meminfo::begins,
    interrupts::begins,
    buddyinfo::begins,
    vmstat::begins,
    vmstat_counts::begins,
    gc::begins,
];

/// Reads a text that is JSON of one tool; `false`, and nothing changed, when it is another's.
type ReadsJson = fn(&[u8], &mut Builder) -> bool;

/// The tools with JSON.
const JSON_FORMATS: &[ReadsJson] = &[sysstat::sadf::read, atop_json::read];

/// The reader of the format that begins here.
pub(super) fn find(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    FORMATS.iter().find_map(|begins| begins(lines, out))
}

/// Reads a text that is JSON of a known tool; `false` when it is not.
pub(super) fn read_json(bytes: &[u8], out: &mut Builder) -> bool {
    let object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    object && JSON_FORMATS.iter().any(|reads| reads(bytes, out))
}
