//! A message as its shape: words, and marks where words differ from line to line.
//!
//! What has a digit, paths, addresses and names of hosts are values; a value with its unit is one,
//! and so is a list of them, and what stands in brackets behind one.

use super::clock::is_of_calendar;

/// Stands for a value in a shape.
pub(super) const VALUE: &str = "\u{1}";

/// Bytes of a message that are considered.
const MESSAGE_BYTES_MAX: usize = 2048;
/// Tokens of a message that are considered.
const TOKENS_MAX: usize = 96;

/// Punctuation that is a token by itself.
const SPLIT: &[u8] = b"=:,()[]{}\"'<>;|";

/// Units of a value in front of them, and how many milliseconds those of time have.
// tidy: table
const UNITS: [(&str, Option<f64>); 30] = [
    ("ns", Some(1e-6)),
    ("us", Some(1e-3)),
    ("µs", Some(1e-3)),
    ("ms", Some(1.0)),
    ("msec", Some(1.0)),
    ("millis", Some(1.0)),
    ("milliseconds", Some(1.0)),
    ("s", Some(1e3)),
    ("sec", Some(1e3)),
    ("secs", Some(1e3)),
    ("second", Some(1e3)),
    ("seconds", Some(1e3)),
    ("min", Some(6e4)),
    ("minutes", Some(6e4)),
    ("hours", Some(3.6e6)),
    ("bytes", None),
    ("byte", None),
    ("B", None),
    ("K", None),
    ("M", None),
    ("G", None),
    ("KB", None),
    ("kB", None),
    ("MB", None),
    ("GB", None),
    ("KiB", None),
    ("MiB", None),
    ("GiB", None),
    ("TB", None),
    ("%", None),
];

fn unit(word: &str) -> Option<Option<f64>> {
    UNITS.iter().find(|(name, _)| *name == word).map(|(_, ms)| *ms)
}

/// A message as its shape, made in memory that is used again.
#[derive(Default)]
pub(super) struct Shaper {
    shape: String,
    /// Where each token begins, with the space before it, and whether it is a value.
    tokens: Vec<(usize, bool)>,
    longest_ms: Option<f64>,
    /// The number of the latest value, where it is one.
    number: Option<f64>,
    object: Option<(usize, usize)>,
}

/// What is kept of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shaped<'a> {
    /// Its words and marks.
    pub(super) shape: &'a str,
    /// The longest duration in it that has a unit.
    pub(super) longest_ms: Option<f64>,
    /// The first address or path in it.
    pub(super) object: Option<&'a str>,
}

/// How a text between blanks and punctuation is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Word,
    Value,
    /// An address or a path.
    Object,
}

fn is_address_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./".contains(&byte)
}

/// `db7.example.org:5432`.
fn has_port(word: &str) -> bool {
    let Some((host, port)) = word.rsplit_once(':') else { return false };
    let figures = (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit());
    let named = host.len() > 1 && host.bytes().all(is_address_letter);
    figures && named && host.contains(['.', '/'])
}

fn kind(word: &str) -> TokenKind {
    let bytes = word.as_bytes();
    let drive = bytes.get(1..3) == Some(b":\\");
    let slashes = bytes.iter().filter(|byte| **byte == b'/').count();
    if bytes.len() > 1 && (bytes[0] == b'/' || slashes >= 2 || drive) {
        return TokenKind::Object;
    }
    let labels = word.split('.').filter(|label| !label.is_empty()).count();
    let host = bytes.iter().all(|b| b.is_ascii_lowercase() || b"-_.@".contains(b));
    let four = labels == 4 && bytes.iter().all(|b| b.is_ascii_digit() || b".:".contains(b));
    if four || labels >= 3 && host {
        return TokenKind::Object;
    }
    let digit = bytes.iter().any(u8::is_ascii_digit);
    let mail = bytes.len() > 2 && bytes.contains(&b'@');
    if digit || mail { TokenKind::Value } else { TokenKind::Word }
}

impl Shaper {
    /// The shape of a message.
    pub(super) fn shape<'a>(&'a mut self, message: &'a str) -> Shaped<'a> {
        self.shape.clear();
        self.tokens.clear();
        (self.longest_ms, self.number, self.object) = (None, None, None);
        let ends = message.char_indices().map(|(at, _)| at).find(|at| *at >= MESSAGE_BYTES_MAX);
        let message = ends.and_then(|end| message.get(..end)).unwrap_or(message);
        let mut place = 0;
        for word in message.split(|c: char| c.is_ascii_whitespace()) {
            if !word.is_empty() {
                self.word(word, place);
            }
            place += word.len() + 1;
            if self.tokens.len() >= TOKENS_MAX {
                break;
            }
        }
        let object = self.object.and_then(|(from, to)| message.get(from..to));
        Shaped { shape: &self.shape, longest_ms: self.longest_ms, object }
    }

    fn word(&mut self, word: &str, place: usize) {
        let bytes = word.as_bytes();
        let bare = word.trim_end_matches([',', ';', '.', ':']);
        let figures = |byte: u8| byte.is_ascii_hexdigit() || b":./-,".contains(&byte);
        let number = bytes.iter().any(u8::is_ascii_digit) && bytes.iter().all(|b| figures(*b));
        if number || has_port(bare) {
            let object = has_port(bare) || kind(bare) == TokenKind::Object;
            self.value(bare, place, object, true);
            let behind = word.get(bare.len()..).and_then(|rest| rest.get(..1));
            if let Some(mark @ ("," | ":" | ";")) = behind {
                self.token(mark, false);
            }
            return;
        }
        let mut at = 0;
        while at < bytes.len() {
            let spaced = at == 0;
            if SPLIT.contains(&bytes[at]) {
                self.token(word.get(at..=at).unwrap_or_default(), spaced);
                at += 1;
                continue;
            }
            // A path continues behind what separates others: `/get?key=5`.
            let path = bytes[at] == b'/' || word.get(at..).is_some_and(|w| w.starts_with("./"));
            let ends = |byte: u8| match path {
                true => b"\"'()[],;<>:".contains(&byte),
                false => SPLIT.contains(&byte),
            };
            let rest = &bytes[at..];
            let length = rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len());
            let text = word.get(at..at + length).unwrap_or_default();
            match kind(text) {
                TokenKind::Word if !self.is_valued(text) => self.token(text, spaced),
                found => self.value(text, place + at, found == TokenKind::Object, spaced),
            }
            at += length;
        }
    }

    /// Whether a word behind `=` is a value: a name with dots, or hexadecimal.
    fn is_valued(&self, text: &str) -> bool {
        let hex = text.len() >= 6 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.last() == Some("=") && (hex || text.trim_matches('.').contains('.'))
    }

    fn last(&self) -> Option<&str> {
        self.nth_last(0)
    }

    /// The text of a token from the end, without its blank.
    fn nth_last(&self, back: usize) -> Option<&str> {
        let at = self.tokens.len().checked_sub(back + 1)?;
        let end = self.tokens.get(at + 1).map_or(self.shape.len(), |(from, _)| *from);
        self.shape.get(self.tokens[at].0..end).map(str::trim_start)
    }

    fn is_value(&self, back: usize) -> bool {
        let at = self.tokens.len().checked_sub(back + 1);
        at.is_some_and(|at| self.tokens[at].1)
    }

    /// Whether a blank stands before the last token.
    fn is_spaced(&self) -> bool {
        self.tokens
            .last()
            .is_some_and(|(from, _)| self.shape.get(*from..).is_some_and(|t| t.starts_with(' ')))
    }

    fn pop(&mut self) {
        if let Some((from, _)) = self.tokens.pop() {
            self.shape.truncate(from);
        }
    }

    fn push(&mut self, text: &str, value: bool, spaced: bool) {
        self.tokens.push((self.shape.len(), value));
        if spaced && !self.shape.is_empty() {
            self.shape.push(' ');
        }
        self.shape.push_str(text);
    }

    /// Takes a word or a punctuation mark.
    fn token(&mut self, text: &str, spaced: bool) {
        if self.is_value(0)
            && let Some(ms) = unit(text)
        {
            self.duration(ms);
            return;
        }
        if text == ")" {
            // What stands in brackets behind a value explains it.
            let explains = self.is_value(0) && self.nth_last(1) == Some("(") && self.is_value(2);
            let empty = self.last() == Some("(") && self.is_value(1);
            if explains || empty {
                self.pop();
                if explains {
                    self.pop();
                }
                return;
            }
        }
        self.push(text, false, spaced);
    }

    fn duration(&mut self, ms: Option<f64>) {
        let found = self.number.take().zip(ms).map(|(number, ms)| number * ms);
        if let Some(found) = found.filter(|found| found.is_finite()) {
            self.longest_ms = Some(self.longest_ms.map_or(found, |most| most.max(found)));
        }
    }

    /// Takes a value.
    fn value(&mut self, text: &str, place: usize, object: bool, spaced: bool) {
        if object && self.object.is_none() {
            self.object = Some((place, place + text.len()));
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        self.number = text.get(..digits).and_then(|number| number.parse().ok());
        if let Some(ms) = text.get(digits..).filter(|rest| !rest.is_empty()).map(unit) {
            self.duration(ms.flatten());
        }
        // `<1 sec`.
        let mut spaced = spaced;
        if self.last() == Some("<") {
            spaced |= self.is_spaced();
            self.pop();
        }
        while self.last().is_some_and(is_of_calendar) {
            spaced |= self.is_spaced();
            self.pop();
        }
        if self.is_value(0) {
            return;
        }
        let listed = matches!(self.last(), Some("," | ":" | "="));
        if listed && self.is_value(1) {
            self.pop();
            return;
        }
        self.push(VALUE, true, spaced);
    }
}

/// The tokens of a shape, each with whether a blank stands before it.
pub(super) fn tokens(shape: &str) -> Vec<(&str, bool)> {
    let bytes = shape.as_bytes();
    let single = |byte: u8| SPLIT.contains(&byte) || byte == VALUE.as_bytes()[0];
    let (mut all, mut at, mut spaced) = (Vec::new(), 0, false);
    while at < bytes.len() {
        if bytes[at] == b' ' {
            (at, spaced) = (at + 1, true);
            continue;
        }
        let rest = &bytes[at..];
        let length = match single(bytes[at]) {
            true => 1,
            false => rest.iter().position(|b| *b == b' ' || single(*b)).unwrap_or(rest.len()),
        };
        all.push((shape.get(at..at + length).unwrap_or_default(), spaced));
        (at, spaced) = (at + length, false);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(message: &str) -> String {
        Shaper::default().shape(message).shape.replace(VALUE, "*")
    }

    #[test]
    fn values_are_marked() {
        for (message, wanted) in [
            (
                "connection from 10.0.0.1 (web7.example.org) at Sat Nov 28 10:00:00 2026",
                "connection from * at *",
            ),
            ("sent 451 bytes (1.3 KB), lifetime <1 sec", "sent *, lifetime *"),
            ("db7.example.org:5432 closed, 5 rows", "* closed, * rows"),
            ("GET /get?key=5&x=y HTTP/1.1 took 17ms", "GET * took *"),
            ("user=root uid=0 rhost=db7.org", "user=root uid=* rhost=*"),
            ("state: (ready) [5, 6, 7]", "state: (ready) [*]"),
            ("", ""),
        ] {
            assert_eq!(shape(message), wanted, "{message}");
        }
    }

    #[test]
    fn durations_have_units() {
        let mut shaper = Shaper::default();
        let mut longest = |message: &str| shaper.shape(message).longest_ms;
        assert_eq!(longest("took 17 s, then 5 ms"), Some(17_000.0));
        assert_eq!(longest("took 250ms"), Some(250.0));
        assert_eq!(longest("took 250, of 400"), None);
        assert_eq!(longest("wrote 5 MB"), None);
        assert_eq!(longest("1.5 seconds"), Some(1_500.0));
    }

    #[test]
    fn the_first_address_or_path_is_the_object() {
        let mut shaper = Shaper::default();
        assert_eq!(shaper.shape("5 to 10.0.0.7:80 refused").object, Some("10.0.0.7:80"));
        assert_eq!(shaper.shape("open(/srv/a b): full").object, Some("/srv/a"));
        assert_eq!(shaper.shape("no such thing").object, None);
    }

    #[test]
    fn tokens_of_a_shape() {
        assert_eq!(
            tokens("a=\u{1}, b"),
            [("a", false), ("=", false), (VALUE, false), (",", false), ("b", true)]
        );
    }
}
