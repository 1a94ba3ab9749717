//! Lines that no format begins at, by their shape: a log repeats few messages with other figures,
//! and what was refused often enough need not be asked again.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

/// After this many refusals a shape is refused unseen. Formats that begin at a line by what its
/// neighbours show have begun long before.
const REFUSALS_MIN: u8 = 32;

/// Most shapes that are counted: 16 bytes each. A log has some hundreds of messages.
const SHAPES_MAX: usize = 16_384;

/// Fewest letters of a line whose shape counts: less is a row of a table.
const LETTERS_MIN: usize = 12;

/// How often lines of each shape were refused. The hashes have a key: nobody can make a line that
/// looks like another one.
#[derive(Default)]
pub(super) struct Refused {
    counts: BTreeMap<u64, u8>,
    hasher: RandomState,
    /// The latest shape, and what it is made in, for its memory.
    latest: Option<u64>,
    shape: Vec<u8>,
}

impl Refused {
    /// The shape of a line: words with a digit stand for each other. `None` where it has no such
    /// word, as headings have none, or hardly any letter.
    fn shape(&mut self, line: &str) -> Option<u64> {
        let bytes = line.as_bytes();
        if !bytes.iter().any(u8::is_ascii_digit) {
            return None;
        }
        self.shape.clear();
        let (mut letters, mut at) = (0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let mut digit = false;
            let word = rest.iter().take_while(|byte| {
                digit |= byte.is_ascii_digit();
                is_word(**byte)
            });
            let length = word.count();
            if digit {
                self.shape.push(0);
            } else {
                self.shape.extend_from_slice(rest.get(..length.max(1)).unwrap_or_default());
                letters += length;
            }
            at += length.max(1);
        }
        (letters >= LETTERS_MIN).then(|| self.hasher.hash_one(&self.shape))
    }

    /// Whether lines of this shape were refused before, often enough.
    pub(super) fn knows(&mut self, line: &str) -> bool {
        self.latest = self.shape(line);
        self.latest
            .and_then(|shape| self.counts.get(&shape))
            .is_some_and(|count| *count >= REFUSALS_MIN)
    }

    /// No format begins at the line that was asked about.
    pub(super) fn count(&mut self) {
        let Some(shape) = self.latest else { return };
        if self.counts.len() >= SHAPES_MAX {
            self.counts.clear();
        }
        let count = self.counts.entry(shape).or_default();
        *count = count.saturating_add(1);
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte > 127
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_shape_differ_in_words_with_digits() {
        let mut refused = Refused::default();
        let mut same = |a: &str, b: &str| {
            let first = refused.shape(a);
            first.is_some() && first == refused.shape(b)
        };
        let line = "10:00:01 worker-7 took job 0xa17f from queue";
        assert!(same(line, "11:22:33 worker-12 took job 0x3 from queue"));
        assert!(!same(line, "10:00:01 worker-7 lost job 0xa17f from queue"));
        assert!(!same(line, "10:00:01 worker-7  took job 0xa17f from queue"));
        for short in ["procs memory swap io system", "cpu 5 6 7", "", "1.25 0 0 0 7"] {
            assert_eq!(refused.shape(short), None, "{short}");
        }
    }

    #[test]
    fn a_shape_is_refused_unseen_only_after_many_times() {
        let mut refused = Refused::default();
        for number in 0..REFUSALS_MIN {
            let line = format!("request {number} was answered");
            assert!(!refused.knows(&line));
            refused.count();
        }
        assert!(refused.knows("request 77 was answered"));
        for number in 0..2 * SHAPES_MAX {
            let letters: String = number.to_string().bytes().map(|d| char::from(d + 49)).collect();
            refused.knows(&format!("request 1 of somebody {letters}"));
            refused.count();
        }
        assert!(refused.counts.len() <= SHAPES_MAX);
    }
}
