//! A format as a sequence of texts and fields, and how a line is matched with it.

use super::slot::{Slot, What};
use crate::response::values::Values;

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::response) enum Piece {
    /// Stands in each line as it is.
    Text(Vec<u8>),
    /// Differs from line to line.
    Field(Slot),
}

/// Longest format that is read, in pieces.
const PIECES_MAX: usize = 200;

/// A format of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::response) struct Pieces(Vec<Piece>);

impl Pieces {
    /// A text behind what there is.
    pub(in crate::response) fn text(&mut self, more: &[u8]) {
        match self.0.last_mut() {
            _ if more.is_empty() => {}
            Some(Piece::Text(text)) => text.extend_from_slice(more),
            _ => self.0.push(Piece::Text(more.to_vec())),
        }
    }

    /// A field behind what there is.
    pub(in crate::response) fn field(&mut self, slot: Slot) {
        if let (What::Skip, Some(Piece::Field(last))) = (slot.what, self.0.last_mut())
            && last.what == What::Skip
        {
            last.list |= slot.list;
            return;
        }
        if self.0.len() < PIECES_MAX {
            self.0.push(Piece::Field(slot));
        }
    }

    /// Takes a blank at the end away, for a field that may be missing together with it.
    pub(in crate::response) fn drop_blank(&mut self) {
        if let Some(Piece::Text(text)) = self.0.last_mut() {
            let _ = text.pop_if(|last| *last == b' ');
            if text.is_empty() {
                self.0.pop();
            }
        }
    }

    /// The same with other fields.
    pub(in crate::response) fn with(&self, change: impl Fn(Slot) -> Slot) -> Self {
        let changed = self.0.iter().map(|piece| match piece {
            Piece::Field(slot) => Piece::Field(change(*slot)),
            text @ Piece::Text(_) => text.clone(),
        });
        Self(changed.collect())
    }

    /// What the fields mean.
    pub(in crate::response) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Field(slot) => Some(*slot),
            Piece::Text(_) => None,
        })
    }

    /// Whether it has a field of this meaning.
    pub(in crate::response) fn has(&self, what: What) -> bool {
        self.slots().any(|slot| slot.what == what)
    }

    /// The values of a line; `None` where the line is not of this format. A field continues until
    /// the first occurrence of the text that follows it.
    pub(in crate::response) fn read<'a>(&self, line: &'a [u8]) -> Option<Values<'a>> {
        let mut values = Values::default();
        let mut rest = line;
        let mut pieces = self.0.iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(text) => rest = rest.strip_prefix(text.as_slice())?,
                Piece::Field(slot) => {
                    let end = match pieces.peek() {
                        None => rest.len(),
                        Some(Piece::Text(next)) => find(rest, next, slot.list)?,
                        Some(Piece::Field(_)) => word(rest),
                    };
                    let (text, behind) = rest.split_at_checked(end)?;
                    rest = behind;
                    if !slot.take(text, &mut values) {
                        return None;
                    }
                }
            }
        }
        rest.trim_ascii().is_empty().then_some(values)
    }
}

/// Where a field ends that another one follows at once.
fn word(text: &[u8]) -> usize {
    text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len())
}

/// Where `wanted` stands first. A quote behind a backslash is a part of the field: so Apache and
/// Envoy write one that a client sent. A list continues behind `, ` and ` : `.
fn find(text: &[u8], wanted: &[u8], list: bool) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.iter().position(|c| *c == first)?;
        let escaped = || {
            let before = text.get(..at).unwrap_or_default();
            before.iter().rev().take_while(|c| **c == b'\\').count() % 2 == 1
        };
        let goes_on = || {
            let (before, behind) = text.split_at_checked(at).unwrap_or_default();
            list && (before.ends_with(b",")
                || before.ends_with(b" :")
                || behind.starts_with(b" : "))
        };
        let inside = (first == b'"' && escaped()) || (first == b' ' && goes_on());
        if text.get(at..)?.starts_with(wanted) && !inside {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::values::Unit;

    fn pieces() -> Pieces {
        let mut pieces = Pieces::default();
        pieces.text(b"[");
        pieces.field(Slot::of(What::End));
        pieces.text(b"] \"");
        pieces.field(Slot::of(What::Request));
        pieces.text(b"\" ");
        pieces.field(Slot::of(What::Status));
        pieces.text(b" ");
        pieces.field(Slot::time(What::Total, Unit::Seconds));
        pieces
    }

    #[test]
    fn fields_end_at_the_next_text() {
        let line = b"[2026-11-26T12:00:00Z] \"GET /a\\\"b HTTP/1.1\" 200 0.120\n";
        let values = pieces().read(line).expect("matches");
        assert_eq!((values.status, values.total_us), (Some(200), Some(120_000)));
        assert_eq!(values.request, Some(&b"GET /a\\\"b HTTP/1.1"[..]));
    }

    #[test]
    fn what_does_not_fit_is_no_such_line() {
        for line in ["", "[x", "[x] \"GET\" abc 0.1", "[x] \"GET\" 200 soon", "y [x] \"G\" 200 1"] {
            assert!(pieces().read(line.as_bytes()).is_none(), "{line}");
        }
    }
}
