//! A line as a terminal shows it: without escape sequences, what was struck over, signs of no
//! width, and letters that only look like others.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Most blanks that one movement of the cursor stands for.
const FORWARD_MAX: usize = 40;

/// The letters that are seen as they are.
const PLAIN: RangeInclusive<u8> = b' '..=b'~';

/// Whether a line has no others, tabs aside. Bytes are looked at many at a time.
fn is_plain(line: &str) -> bool {
    const MANY: usize = 64;
    let plain = |many: &[u8]| {
        many.iter().fold(true, |all, byte| all & (PLAIN.contains(byte) | (*byte == b'\t')))
    };
    line.as_bytes().chunks(MANY).all(plain)
}

/// The line, as it is seen.
pub(in crate::recording) fn seen(line: &str) -> Cow<'_, str> {
    let line = line.trim_end_matches('\r');
    if is_plain(line) && Escapes::of(line) == Escapes::Raw {
        return Cow::Borrowed(line);
    }
    // A carriage return goes back to the line's start: what follows the last one is seen.
    let line = line.rsplit('\r').next().unwrap_or(line);
    let escapes = Escapes::of(line);
    let (mut out, mut struck, mut rest) = (String::with_capacity(line.len()), None, line);
    while let Some(letter) = rest.chars().next() {
        let inner = |byte: &u8| PLAIN.contains(byte) && !matches!(byte, b'_' | b'[' | b'^');
        let run = rest.bytes().take_while(|byte| inner(byte)).count();
        if let Some((text, behind)) =
            rest.split_at_checked(run).filter(|(text, _)| !text.is_empty())
        {
            out.push_str(text);
            (struck, rest) = (None, behind);
            continue;
        }
        if let Some((length, blanks)) = escapes.sequence(rest) {
            out.extend(std::iter::repeat_n(' ', blanks));
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        match letter {
            '\u{8}' => struck = out.pop(),
            // A letter under which a line was drawn.
            '_' if struck.is_some_and(|below| below != '_') => out.extend(struck.take()),
            _ => {
                struck = None;
                put(letter, &mut out);
            }
        }
    }
    Cow::Owned(out)
}

/// Adds a letter, as plain as it can be written.
fn put(letter: char, out: &mut String) {
    match letter {
        '\t' => out.push('\t'),
        // As wide as two letters.
        '\u{3000}' => out.push_str("  "),
        // The ASCII letters in the width of Chinese ones.
        '\u{ff01}'..='\u{ff5e}' => {
            out.extend(char::from_u32(u32::from(letter) - 0xff01 + u32::from('!')));
        }
        // Without width: joiners, directions, marks of byte order, hyphens where a line may end.
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => {}
        '\u{feff}' => {}
        _ if letter.is_whitespace() => out.push(' '),
        _ if letter.is_control() => {}
        _ => out.push(letter),
    }
}

/// How escape sequences are written in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// With the letter itself.
    Raw,
    /// `^[[01;31m`, as `cat -v` shows them.
    Caret,
    /// `[01;31m`: the letter before it was lost where the text was pasted.
    Lost,
}

impl Escapes {
    /// Sequences whose first letter is not there are only taken for some where a line has both what
    /// begins a colour and what ends one.
    fn of(line: &str) -> Self {
        let ends = ["[m", "[0m", "[K", "[00m"];
        let brackets = || line.match_indices('[').filter_map(|(at, _)| line.get(at..));
        let ended = brackets().any(|rest| ends.iter().any(|end| rest.starts_with(end)));
        if !ended || line.contains('\x1b') {
            return Self::Raw;
        }
        let colours = |rest: &str| {
            let rest = rest.get(1..).unwrap_or_default();
            let digits = colour(rest).filter(|digits| *digits > 0);
            digits.is_some_and(|digits| rest.as_bytes().get(digits) == Some(&b'm'))
        };
        if !brackets().any(colours) {
            return Self::Raw;
        }
        match ends.iter().any(|end| line.contains(&format!("^[{end}"))) {
            true => Self::Caret,
            false => Self::Lost,
        }
    }

    /// The length of the sequence that a text begins with, and the blanks it stands for.
    fn sequence(self, text: &str) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        if bytes.first() == Some(&b'\x1b') {
            return Some(raw(bytes));
        }
        let start = match self {
            Self::Raw => return None,
            Self::Caret => "^[[",
            Self::Lost => "[",
        };
        let rest = text.strip_prefix(start)?;
        let digits = colour(rest)?;
        Some((start.len() + digits + 1, 0))
    }
}

/// How many digits and signs are before the letter that ends a change of colour, or an order to
/// clear the rest of the line.
fn colour(text: &str) -> Option<usize> {
    /// Longest change of colour.
    const MOST: usize = 20;
    let usual = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let digits = text.bytes().take(MOST).take_while(usual).count();
    let ends = match text.as_bytes().get(digits) {
        Some(b'm') => true,
        Some(b'K') => digits <= 1,
        _ => false,
    };
    ends.then_some(digits)
}

/// The same of one that begins with its letter: ECMA-48. One that is broken ends where it breaks.
fn raw(bytes: &[u8]) -> (usize, usize) {
    let among = |from: usize, of: RangeInclusive<u8>| {
        bytes.iter().skip(from).take_while(|byte| of.contains(byte)).count()
    };
    let ended = |at: usize| at + usize::from(matches!(bytes.get(at), Some(0x30..=0x7e)));
    match bytes.get(1) {
        Some(b'[') => {
            let digits = among(2, 0x30..=0x3f);
            let at = 2 + digits + among(2 + digits, 0x20..=0x2f);
            let forward = (bytes.get(at) == Some(&b'C')).then(|| {
                let count = std::str::from_utf8(bytes.get(2..at).unwrap_or_default());
                count.ok().and_then(|count| count.parse().ok()).unwrap_or(1)
            });
            (ended(at), forward.unwrap_or(0).min(FORWARD_MAX))
        }
        // A text for the terminal, such as its title. Where its end is missing nobody knows how
        // much of the line is of it.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let ends = |byte: &u8| matches!(byte, b'\x07' | b'\x1b');
            let length = bytes.iter().skip(2).position(ends).map(|length| length + 2);
            match length {
                Some(at) if bytes[at] == b'\x07' => (at + 1, 0),
                Some(at) if bytes.get(at + 1) == Some(&b'\\') => (at + 2, 0),
                _ => (2, 0),
            }
        }
        Some(0x20..=0x2f) => (ended(1 + among(1, 0x20..=0x2f)), 0),
        _ => (ended(1), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_titles_and_movements() {
        for (line, wanted) in [
            ("\x1b[01;31m\x1b[KMemTotal\x1b[m\x1b[K: 5 kB", "MemTotal: 5 kB"),
            ("\x1b]0;root@db7:~\x07[root@db7 ~]# free", "[root@db7 ~]# free"),
            ("\x1b]8;;http://x\x1b\\free\x1b]8;;\x1b\\", "free"),
            ("\x1b]0;title that never ends", "0;title that never ends"),
            ("\x1b(B\x1b[?2004hx\x1b=y\x1b[3Cz\x1b[Cq", "xy   z q"),
            ("a\x1b", "a"),
            ("a\x1b[", "a"),
            ("a\x1b[5\u{fc}b", "a\u{fc}b"),
            ("[01;31m[KMemTotal[m[K: 5 kB", "MemTotal: 5 kB"),
            ("^[[01;31mMemTotal^[[0m: 5 kB", "MemTotal: 5 kB"),
            ("grep '^[[:space:]]' x[5m]", "grep '^[[:space:]]' x[5m]"),
            ("\x1b[1malways [madvise] never\x1b[m", "always [madvise] never"),
            ("always defer [madvise] never", "always defer [madvise] never"),
            ("[raid6] [multipath] 12K/[12K]", "[raid6] [multipath] 12K/[12K]"),
            ("rate(x[5m]) by [root] [12:30]", "rate(x[5m]) by [root] [12:30]"),
        ] {
            assert_eq!(seen(line), wanted, "{line:?}");
        }
    }

    #[test]
    fn what_is_struck_over_and_what_has_no_width() {
        for (line, wanted) in [
            ("M\u{8}Me\u{8}em _\u{8}xa\u{8}_", "Mem xa"),
            ("_\u{8}_x", "_x"),
            ("\u{8}x", "x"),
            ("10%\r 99%\rdone\r\r", "done"),
            ("Mem\u{200b}Free:\u{a0}\u{202f}5\u{feff}", "MemFree:  5"),
            ("procs\u{3000}－－ａ：", "procs  --a:"),
            ("a\tb\u{7}\u{1}c", "a\tbc"),
            ("plain", "plain"),
        ] {
            assert_eq!(seen(line), wanted, "{line:?}");
        }
        assert!(matches!(seen("a b\tc"), Cow::Borrowed(_)));
    }

    #[test]
    fn many_beginnings_take_no_longer_than_their_number() {
        for start in ["\x1b[", "\x1b]", "\x1b", "\x1b[9", "x\u{8}", "[m", "\x1b[999C", "[0;"] {
            let many = start.repeat(100_000);
            assert!(seen(&many).len() < 5_000_000, "{start:?}");
        }
    }
}
