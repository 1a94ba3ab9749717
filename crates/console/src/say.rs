//! Standard error: notes, and the one progress line. Both are by the way: a reader that has gone,
//! or a full disk, stops nothing.

#![expect(clippy::disallowed_methods, reason = "one of the two places that write")]

use crate::words::plain;
use hugewise_base::escape::printable;
use std::io::{IsTerminal, Write, stderr};

/// Goes to the start of the line, and clears it.
const CLEAR: &str = "\r\x1b[K";

/// Says something by the way, a line or several: names of files are in it, and nothing of them may
/// reach the terminal as a command.
pub fn note(text: &str) {
    for line in format!("hugewise: {}", plain(text)).lines() {
        let _ = writeln!(stderr(), "{}", printable(line));
    }
}

/// A line that is written over itself while somebody watches; a log gets none. It goes away with
/// the value.
#[derive(Debug)]
pub struct Progress {
    watched: bool,
}

impl Progress {
    /// A line, where `wanted` and standard error is a terminal.
    pub fn new(wanted: bool) -> Self {
        Self { watched: wanted && stderr().is_terminal() }
    }

    /// Whether somebody watches.
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Replaces the line.
    pub fn show(&self, text: &str) {
        if self.watched {
            let _ = write!(stderr(), "{CLEAR}{text}");
        }
    }

    /// Says what is to stay readable, on a line of its own: also where nobody watches.
    pub fn log(&self, text: &str) {
        let clear = if self.watched { CLEAR } else { "" };
        let _ = writeln!(stderr(), "{clear}{text}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show("");
    }
}
