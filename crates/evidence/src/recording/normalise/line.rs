//! The lines of a text while what stands around them is taken away.

use std::borrow::Cow;

/// How many lines of a text somebody understands.
pub(in crate::recording) type Judge<'a> = &'a dyn Fn(&str) -> usize;

/// A line of a text, with its number in the input, from 1.
#[derive(Clone, Debug)]
pub(super) struct NumberedLine<'a> {
    pub(super) number: usize,
    pub(super) text: Cow<'a, str>,
}

impl NumberedLine<'_> {
    /// Takes a number of bytes from its start.
    pub(super) fn cut(&mut self, length: usize) {
        match &mut self.text {
            Cow::Borrowed(text) => *text = text.get(length..).unwrap_or_default(),
            Cow::Owned(text) => {
                if text.is_char_boundary(length) {
                    text.drain(..length);
                }
            }
        }
    }
}

/// How many lines of these somebody understands.
pub(super) fn score(judge: Judge<'_>, lines: &[NumberedLine<'_>]) -> usize {
    judge(&joined(lines))
}

/// The text of some lines.
pub(super) fn joined(lines: &[NumberedLine<'_>]) -> String {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_ref()).collect();
    texts.join("\n")
}

/// Machines that stood before lines, each with the number of the first of these.
pub(super) type Hosts = Vec<(usize, String)>;
