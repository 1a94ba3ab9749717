//! From the bytes of a paste to plain lines, before any reader sees them.
//!
//! What a mail, a tracker, a terminal, a log or a tool for many machines put around a listing is
//! taken away: encodings ([`encoding`]), escape sequences and letters that cannot be seen
//! ([`terminal`]), marks of Markdown and HTML ([`markup`]), JSON around a text ([`json`]), marks of
//! quotation and indents ([`quotes`]), and whatever else stands before each line ([`prefix`]).
//!
//! Only what all lines of a run share is taken. What could as well be part of a row goes only where
//! more lines are understood without it: a [`Judge`] counts them. So `sar`, GC logs and the log of
//! the kernel keep their times.

mod encoding;
mod json;
mod lead;
mod line;
mod markup;
mod prefix;
mod quotes;
mod table;
mod terminal;

use std::borrow::Cow;

use line::{Hosts, Judge, NumberedLine, joined};

pub(super) use encoding::{FromUtf16, decoded, utf16};
pub(super) use lead::lead;

/// Largest text that can be a ticket; a recording of days is larger, and nobody quotes it.
pub(super) const TICKET_BYTES_MAX: usize = 4 << 20;

/// Most times that a text was set in and quoted in turn.
const PASSES_MAX: usize = 4;

/// A line of an input as it is seen, by itself.
pub(super) fn line(bytes: &[u8]) -> Cow<'_, str> {
    match encoding::letters(bytes) {
        Cow::Borrowed(text) => terminal::seen(text),
        Cow::Owned(text) => Cow::Owned(terminal::seen(&text).into_owned()),
    }
}

/// Where the lines of a text stood in the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Places of lines whose number is not the one after the last, with it.
    jumps: Vec<(usize, usize)>,
    /// Machines by the number of the first line about each, in order, where there are several.
    pub(super) hosts: Hosts,
}

impl Places {
    /// The number of a line in the input, from 1, by its place, from 0.
    pub(super) fn number(&self, at: usize) -> usize {
        let after = self.jumps.partition_point(|(from, _)| *from <= at);
        let jump = after.checked_sub(1).and_then(|last| self.jumps.get(last));
        jump.map_or(at + 1, |(from, number)| number + (at - from))
    }
}

/// A text as plain lines. `decoded`: what [`decoded`] made of it.
///
/// A time before lines that have none of their own is lost, but where rows are read with it.
pub(super) fn normalise(decoded: &[u8], judge: Judge<'_>) -> (String, Places) {
    let (mut lines, mut hosts) = (split(decoded), Hosts::new());
    for _ in 0..PASSES_MAX {
        let marked = markup::strip(&mut lines);
        let quoted = quotes::strip(&mut lines);
        let prefixed = prefix::strip(&mut lines, judge, &mut hosts);
        let tabled = table::strip(&mut lines, judge);
        let opened = json::open(&mut lines, judge);
        if !(marked || quoted || prefixed || tabled || opened) {
            break;
        }
    }
    let (mut places, mut wanted) = (Places::default(), 1);
    for (at, line) in lines.iter().enumerate() {
        if line.number != wanted {
            places.jumps.push((at, line.number));
        }
        wanted = line.number + 1;
    }
    // One name says nothing: it may be that of a container.
    hosts.sort();
    if hosts.windows(2).any(|two| two[0].1 != two[1].1) {
        places.hosts = hosts;
    }
    (joined(&lines), places)
}

/// The lines of a text. One that knows no other ends has a carriage return at the end of each.
fn split(text: &[u8]) -> Vec<NumberedLine<'_>> {
    let ends = text.iter().filter(|byte| **byte == b'\n').count();
    let returns = text.iter().filter(|byte| **byte == b'\r').count();
    let end = if returns > 2 * ends { b'\r' } else { b'\n' };
    let numbered = text.split(|byte| *byte == end).zip(1..);
    numbered.map(|(text, number)| NumberedLine { number, text: line(text) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of which nobody understands anything.
    pub(super) fn plain(text: &str) -> String {
        normalise(text.as_bytes(), &|_| 0).0
    }

    #[test]
    fn line_ends_of_all_systems() {
        for text in ["a\nb\n", "a\r\nb\r\n", "a\rb\r", "a\r\r\nb\r\r\n"] {
            assert_eq!(plain(text), "a\nb\n", "{text:?}");
        }
        assert_eq!(plain("a\r\n10%\r20%\r\nb\n"), "a\n20%\nb\n");
    }

    #[test]
    fn numbers_are_those_of_the_input() {
        let (text, places) = normalise(b"a\nb<br>c<br>d\ne\n", &|_| 0);
        assert_eq!(text, "a\nb\nc\nd\ne\n");
        let all: Vec<usize> = (0..6).map(|at| places.number(at)).collect();
        assert_eq!(all, [1, 2, 2, 2, 3, 4]);
    }
}
