//! Templates of messages: fixed words with holes, and what the holes say.

use crate::recording::Field;
use crate::recording::readers::prelude::*;

/// What may stand in a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HoleKind {
    /// A number.
    Number,
    /// An amount with its unit, `22 GB`; without one, bytes.
    Size,
    /// A number of KiB, or of MiB.
    Kib,
    Mib,
    /// A number of seconds, as milliseconds.
    Seconds,
    /// A time with its unit, `2.137s`, as milliseconds.
    Time,
    /// A word.
    Word,
    /// Anything up to the next fixed words.
    Any,
}

/// For what the word in a hole stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A part of the server, such as a pool.
    Name,
    /// The server itself.
    Server,
    /// Who was killed.
    Victim,
    /// The value of a setting.
    Setting,
}

#[derive(Clone, Debug)]
enum Piece {
    Words(&'static str),
    Hole(HoleKind, Option<Field>, Option<Role>),
}

/// Longest text in a hole.
const HOLE_BYTES_MAX: usize = 300;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// The word before the first fixed ones.
    before: Option<Role>,
    pieces: Vec<Piece>,
    /// Where the first letter is in the first fixed words.
    first: usize,
    /// Whether nothing has to stand before it.
    pub(super) bare: bool,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Matched<'a> {
    pub(super) values: Vec<(Field, f64)>,
    pub(super) words: Vec<(Role, &'a str)>,
}

impl Matched<'_> {
    pub(super) fn word(&self, role: Role) -> Option<&str> {
        self.words.iter().find(|(of, _)| *of == role).map(|(_, word)| *word)
    }
}

/// `size`, `number:connections.used`, `name`.
fn hole(text: &str) -> Option<Piece> {
    let (kind, field) = text.split_once(':').map_or((text, None), |(kind, key)| (kind, Some(key)));
    let role = match kind {
        "name" => Some(Role::Name),
        "server" => Some(Role::Server),
        "victim" => Some(Role::Victim),
        "setting" => Some(Role::Setting),
        _ => None,
    };
    let kind = match kind {
        "number" | "ms" => HoleKind::Number,
        "size" => HoleKind::Size,
        "kib" => HoleKind::Kib,
        "mib" => HoleKind::Mib,
        "s" => HoleKind::Seconds,
        "time" => HoleKind::Time,
        "any" => HoleKind::Any,
        "word" => HoleKind::Word,
        _ if role.is_some() => HoleKind::Word,
        _ => return None,
    };
    let known = |key| Field::ALL.iter().find(|field| field.about().key == key).copied();
    let field = match field {
        Some(key) => Some(known(key)?),
        None => None,
    };
    Some(Piece::Hole(kind, field, role))
}

impl Template {
    /// Reads one of the table; `None` where it is none.
    pub(super) fn new(text: &'static str) -> Option<Self> {
        let bare = text.starts_with('^');
        let mut rest = text.trim_start_matches('^');
        let mut pieces = Vec::new();
        while let Some((words, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}')?;
            pieces.extend((!words.is_empty()).then_some(Piece::Words(words)));
            pieces.push(hole(inside)?);
            rest = after;
        }
        pieces.extend((!rest.is_empty()).then_some(Piece::Words(rest)));
        let before = match pieces.first()? {
            Piece::Hole(HoleKind::Word, None, Some(role)) => Some(*role),
            Piece::Hole(..) => return None,
            Piece::Words(_) => None,
        };
        pieces.drain(..usize::from(before.is_some()));
        let Some(Piece::Words(words)) = pieces.first() else { return None };
        let first = words.find(|c: char| c.is_ascii_alphanumeric())?;
        words.get(first + 1..).filter(|rest| !rest.is_empty())?;
        Some(Self { before, pieces, first, bare })
    }

    /// The two letters by which it is found.
    pub(super) fn starts_with(&self) -> [u8; 2] {
        let Some(Piece::Words(words)) = self.pieces.first() else { return [0; 2] };
        let letter = |at: usize| words.as_bytes().get(at).copied().unwrap_or(0);
        [letter(self.first), letter(self.first + 1)]
    }

    /// What follows the fixed words, if they stand there with their first letter at `at`, in small
    /// or not.
    fn behind<'a>(&self, line: &'a str, at: usize) -> Option<(usize, &'a str)> {
        let Some(Piece::Words(words)) = self.pieces.first() else { return None };
        let start = at.checked_sub(self.first)?;
        let (head, tail) = words.split_at_checked(self.first + 1)?;
        let text = line.get(start..)?;
        let (own, rest) = text.split_at_checked(head.len())?;
        own.eq_ignore_ascii_case(head).then_some(())?;
        Some((start, rest.strip_prefix(tail)?))
    }

    /// Whether it may stand there: its first fixed words do.
    pub(super) fn may(&self, line: &str, at: usize) -> bool {
        self.behind(line, at).is_some()
    }

    /// What it says where its first letter is at `at`.
    pub(super) fn said<'a>(&self, line: &'a str, at: usize) -> Option<Matched<'a>> {
        let (start, mut rest) = self.behind(line, at)?;
        let mut said = Matched::default();
        if let Some(role) = self.before {
            let word = line.get(..start)?.rsplit([' ', '[', '(', '"', '\'']).next()?;
            said.words.push((role, Some(word).filter(|word| !word.is_empty())?));
        }
        let mut pieces = self.pieces.iter().skip(1).peekable();
        while let Some(piece) = pieces.next() {
            let (kind, field, role) = match piece {
                Piece::Words(words) => {
                    rest = rest.strip_prefix(words)?;
                    continue;
                }
                Piece::Hole(kind, field, role) => (*kind, *field, *role),
            };
            let next = match pieces.peek() {
                Some(Piece::Words(words)) => Some(*words),
                _ => None,
            };
            let (value, word, after) = filled(kind, rest, next)?;
            said.values.extend(field.zip(value));
            said.words.extend(role.map(|role| (role, word)));
            rest = after;
        }
        Some(said)
    }
}

/// Takes what stands in a hole, before the words that follow it: its value, its text, and the rest.
fn filled<'a>(
    kind: HoleKind,
    text: &'a str,
    next: Option<&str>,
) -> Option<(Option<f64>, &'a str, &'a str)> {
    if matches!(kind, HoleKind::Any | HoleKind::Word) {
        let end = match (kind, next) {
            (_, Some(words)) => text.find(words)?,
            (HoleKind::Word, None) => {
                text.find(|c: char| c.is_whitespace() || "\"',;)".contains(c)).unwrap_or(text.len())
            }
            _ => text.len(),
        };
        let (mut inside, rest) = text.split_at_checked(end)?;
        if next.is_none() {
            inside = inside.trim_end_matches('.');
        }
        let fits = inside.len() <= HOLE_BYTES_MAX
            && (kind == HoleKind::Any
                || !inside.is_empty() && !inside.contains(char::is_whitespace));
        return fits.then_some((None, inside, rest));
    }
    // Columns that are in line.
    let text = text.trim_start_matches(' ');
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    // A full stop ends the sentence.
    let digits = text.get(..end)?.trim_end_matches('.');
    let (value, mut rest) = (number(digits)?, text.get(digits.len()..)?);
    let factor = match kind {
        HoleKind::Seconds => 1e3,
        HoleKind::Time => {
            const UNITS: [(&str, f64); 6] = [
                ("ns", 1e-6),
                ("us", 1e-3),
                ("\u{b5}s", 1e-3),
                ("ms", 1.0),
                ("s", 1e3),
                ("m", 6e4),
            ];
            let known = |(unit, factor): (&str, f64)| Some((rest.strip_prefix(unit)?, factor));
            let (after, factor) = UNITS.into_iter().find_map(known)?;
            rest = after;
            factor
        }
        HoleKind::Kib => 1024.0,
        HoleKind::Mib => f64::from(1 << 20),
        HoleKind::Size => {
            let unit = rest.trim_start_matches(' ');
            let letters = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
            let (unit, after) = unit.split_at_checked(letters)?;
            let prefix = unit.trim_end_matches(['B', 'b']).trim_end_matches('i');
            match (unit.is_empty() || unit == "bytes", binary_factor(prefix)) {
                (true, _) => 1.0,
                (false, Some(factor)) => {
                    rest = after;
                    factor
                }
                (false, None) => 1.0,
            }
        }
        _ => 1.0,
    };
    Some((Some(value * factor), digits, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled() {
        let template = Template::new("{name} - pool of {size:data.used_bytes} for {word} ({any})");
        let template = template.expect("a template");
        let line = "app: Main-1 - Pool of 22 GB for you (and others)";
        let at = line.find("Pool").expect("there");
        assert_eq!(template.starts_with(), *b"po");
        let said = template.said(line, at).expect("it fits");
        assert_eq!(said.values, [(Field::DataSize, 22.0 * f64::from(1 << 30))]);
        assert_eq!(said.word(Role::Name), Some("Main-1"));
        assert_eq!(template.said("- pool of much for you (x)", 2), None);
        for (text, value) in
            [("64 KB", 65536.0), ("512", 512.0), ("7 bytes", 7.0), ("2Mi)", 2_097_152.0)]
        {
            assert_eq!(
                filled(HoleKind::Size, text, None).and_then(|(value, ..)| value),
                Some(value),
                "{text}"
            );
        }
        assert_eq!(filled(HoleKind::Seconds, "30.", None).and_then(|(value, ..)| value), Some(3e4));
        for wrong in ["{unknown}", "{number}", "a {number:no.field}", "a {number", "---"] {
            assert!(Template::new(wrong).is_none(), "{wrong}");
        }
    }
}
