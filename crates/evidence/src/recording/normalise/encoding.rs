//! From bytes to letters: UTF-8, UTF-16 of either byte order, Latin-1.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// As much of a text as shows how it is encoded, in bytes.
const SEEN_BYTES: usize = 4096;
/// Fewer units tell nothing where no mark says the byte order.
const UNITS_MIN: usize = 4;

/// The mark that UTF-8 may begin with.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The order of the two bytes of a unit of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::recording) enum Order {
    Little,
    Big,
}

impl Order {
    const fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(pair),
            Self::Big => u16::from_be_bytes(pair),
        }
    }
}

/// The byte order of a text in UTF-16: by its mark, or because every other byte of a text in
/// Latin letters is zero.
pub(in crate::recording) fn utf16(bytes: &[u8]) -> Option<Order> {
    let seen = &bytes[..bytes.len().min(SEEN_BYTES)];
    let order = match seen {
        [0xff, 0xfe, ..] => Order::Little,
        [0xfe, 0xff, ..] => Order::Big,
        _ => unmarked(seen)?,
    };
    is_plain(seen, order).then_some(order)
}

fn unmarked(seen: &[u8]) -> Option<Order> {
    let units = seen.len() / 2;
    let zeros = |from: usize| seen.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let order = match (zeros(0), zeros(1)) {
        (0, odd) if odd * 2 >= units => Order::Little,
        (even, 0) if even * 2 >= units => Order::Big,
        _ => return None,
    };
    (units >= UNITS_MIN).then_some(order)
}

/// Whether these are letters, blanks and what a terminal understands, and nothing else.
fn is_plain(seen: &[u8], order: Order) -> bool {
    let (pairs, _) = seen.as_chunks::<2>();
    let usual =
        |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\x07'..='\x0c' | '\x1b');
    // The last unit may be half of a letter.
    let mut letters = char::decode_utf16(pairs.iter().map(|pair| order.unit(*pair))).peekable();
    while let Some(letter) = letters.next() {
        let cut = letter.is_err() && letters.peek().is_none();
        if !cut && !letter.is_ok_and(usual) {
            return false;
        }
    }
    true
}

/// A text in UTF-16 as one in UTF-8.
pub(in crate::recording) struct FromUtf16<R> {
    rest: R,
    order: Order,
    /// What is not handed on yet, and where that begins.
    ready: Vec<u8>,
    at: usize,
    /// The first half of a letter of two units.
    half: Option<u16>,
}

impl<R: BufRead> FromUtf16<R> {
    pub(in crate::recording) const fn new(rest: R, order: Order) -> Self {
        Self { rest, order, ready: Vec::new(), at: 0, half: None }
    }

    /// Makes ready what can be had at once. A byte that is left at the end of all is dropped.
    fn refill(&mut self) -> io::Result<()> {
        (self.at, self.half) = (0, self.half);
        self.ready.clear();
        let mut bytes = Vec::with_capacity(SEEN_BYTES);
        (&mut self.rest).take(SEEN_BYTES as u64).read_to_end(&mut bytes)?;
        let ended = bytes.len() < SEEN_BYTES;
        let (pairs, _) = bytes.as_chunks::<2>();
        let mut units: Vec<u16> = self.half.take().into_iter().collect();
        units.extend(pairs.iter().map(|pair| self.order.unit(*pair)));
        let open = |unit: &mut u16| (0xd800..0xdc00).contains(unit) && !ended;
        self.half = units.pop_if(open);
        for letter in char::decode_utf16(units) {
            let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.ready.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }
}

impl<R: BufRead> Read for FromUtf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.ready.len() {
            self.refill()?;
        }
        let read = self.ready.get(self.at..).unwrap_or_default().read(into)?;
        self.at += read;
        Ok(read)
    }
}

/// A whole text in UTF-8, or something else that is a letter a byte, without its mark.
pub(in crate::recording) fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some(order) = utf16(bytes) else {
        return Cow::Borrowed(bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes));
    };
    let mut text = Vec::with_capacity(bytes.len());
    let read = FromUtf16::new(bytes, order).read_to_end(&mut text);
    debug_assert!(read.is_ok(), "a slice can be read");
    let length = text.strip_prefix(UTF8_MARK).map_or(0, |_| UTF8_MARK.len());
    text.drain(..length);
    Cow::Owned(text)
}

/// The letters of a line that is not all UTF-8: where hardly anything of it is, it is Latin-1;
/// else single letters were torn, as `top` cuts names.
pub(super) fn letters(line: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(line) {
        return Cow::Borrowed(text);
    }
    let (mut whole, mut torn) = (0, 0);
    for chunk in line.utf8_chunks() {
        whole += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        torn += usize::from(!chunk.invalid().is_empty());
    }
    match whole < torn {
        true => Cow::Owned(line.iter().map(|byte| char::from(*byte)).collect()),
        false => String::from_utf8_lossy(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_of(text: &str, order: Order) -> Vec<u8> {
        let bytes = |unit: u16| match order {
            Order::Little => unit.to_le_bytes(),
            Order::Big => unit.to_be_bytes(),
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn both_orders_with_and_without_a_mark() {
        // Longer than what is read at a time, with letters of two units at its edges.
        let long = format!("MemTotal: 5 kB \u{1f642}\r\n{}", "\u{1f642}x".repeat(SEEN_BYTES));
        for text in ["MemTotal: 5 kB\n", "内存： 5\n", &long] {
            for order in [Order::Little, Order::Big] {
                let marked = utf16_of(&format!("\u{feff}{text}"), order);
                assert_eq!(decoded(&marked), text.as_bytes(), "{order:?}");
            }
        }
        for order in [Order::Little, Order::Big] {
            assert_eq!(&*decoded(&utf16_of("free -m\n", order)), b"free -m\n");
            let mut cut = utf16_of("free -m\n", order);
            cut.push(b'x');
            assert_eq!(&*decoded(&cut), b"free -m\n");
        }
        assert_eq!(&*decoded(b"\xef\xbb\xbfx"), b"x");
    }

    #[test]
    fn what_is_binary_is_no_text() {
        for bytes in [
            &b"\xff\xfe\x01\x00\x02\x00\x03\x00"[..],
            b"\xff\xfe\x00\xdc\x41\x00\x41\x00",
            b"a\0\0b\0c\0\0",
            b"\0\0\0\0\0\0\0\0\0\0",
            b"a\0b\0c",
            b"plain",
            b"",
        ] {
            assert_eq!(utf16(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn latin_letters_of_a_byte_and_torn_ones() {
        assert_eq!(letters(b"verf\xfcgbar"), "verf\u{fc}gbar");
        assert_eq!(letters("verf\u{fc}gbar".as_bytes()), "verf\u{fc}gbar");
        assert_eq!(letters(b"\xc3\xbc\xc3"), "\u{fc}\u{fffd}");
        assert_eq!(letters(b"a\xff"), "a\u{ff}");
    }
}
