//! Texts inside of JSON, as tools for many machines and containers hand them on: one string with
//! `\n` in it, a list of strings, a line of a log in each object.

use super::line::{Judge, NumberedLine};
use super::prefix::is_better;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Keys of objects that are one line of a log each.
const LOG_KEYS: [&str; 8] =
    ["log", "message", "MESSAGE", "msg", "line", "content", "stdout", "output"];

/// What `ansible -o` puts before a text.
const BEGINS: &str = " (stdout) ";

/// What a line has of texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// It is one string, an element of a list.
    Element,
    /// An object with one of [`LOG_KEYS`].
    Entry,
    /// A string of several lines somewhere in it.
    Inside,
    /// A list in one line.
    List,
    /// Line ends are written as `\n`, without quotes.
    Bare,
}

/// Puts the texts in their place, where more is understood then. A text that is there twice, as
/// `stdout` and `stdout_lines`, is put once. Whether any was put.
pub(super) fn open(lines: &mut Vec<NumberedLine<'_>>, judge: Judge<'_>) -> bool {
    let mut opened = BTreeSet::new();
    let mut out: Vec<NumberedLine<'_>> = Vec::with_capacity(lines.len());
    let (mut at, mut changed) = (0, false);
    while let Some(line) = lines.get(at) {
        let forms = [Form::Element, Form::Entry, Form::Inside, Form::List, Form::Bare];
        let found = forms.iter().find_map(|form| Some((*form, texts(*form, &line.text)?)));
        let Some((form, first)) = found else {
            out.push(line.clone());
            at += 1;
            continue;
        };
        let mut inside = numbered(first, line.number);
        let below = lines.iter().skip(at + 1);
        let below = below.map_while(|line| Some((texts(form, &line.text)?, line.number)));
        let mut length = 1;
        for (texts, number) in below {
            inside.extend(numbered(texts, number));
            length += 1;
        }
        let run = lines.get(at..at + length).unwrap_or_default();
        let text = super::line::joined(&inside).trim().to_owned();
        let again = opened.contains(&text);
        if again || is_json(&inside) || is_better(judge, run, &inside) {
            changed = true;
            if again {
                let blank =
                    |line: &NumberedLine<'_>| NumberedLine { number: line.number, text: "".into() };
                out.extend(run.iter().map(blank));
            } else {
                opened.insert(text);
                out.extend(inside);
            }
        } else {
            out.extend(run.iter().cloned());
        }
        at += length;
    }
    *lines = out;
    changed
}

/// Whether a text within JSON is JSON itself: what it says is found in the next pass.
fn is_json(inside: &[NumberedLine<'_>]) -> bool {
    let filled = || inside.iter().map(|line| line.text.trim()).filter(|text| !text.is_empty());
    let begins = |text: &str| text.starts_with("{\"") || text.starts_with("[\"");
    filled().next().is_some_and(begins)
        && filled().next_back().is_some_and(|text| text.ends_with(['}', ']']))
}

fn numbered<'a>(texts: Vec<String>, number: usize) -> Vec<NumberedLine<'a>> {
    let lines = |text: String| -> Vec<NumberedLine<'a>> {
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let line = |text: &str| super::terminal::seen(text).into_owned();
        text.split('\n').map(|text| NumberedLine { number, text: Cow::Owned(line(text)) }).collect()
    };
    texts.into_iter().flat_map(lines).collect()
}

/// The texts that a line has in this form.
fn texts(form: Form, line: &str) -> Option<Vec<String>> {
    let trimmed = line.trim();
    if form == Form::Bare {
        let trimmed = trimmed.split_once(BEGINS).map_or(trimmed, |(_, text)| text);
        let several = !trimmed.contains('"') && trimmed.matches("\\n").nth(1).is_some();
        return several.then(|| trimmed.split("\\n").map(str::to_owned).collect());
    }
    if !trimmed.contains(['"', '\'']) {
        return None;
    }
    let all = strings(trimmed);
    let values = || all.iter().filter(|string| !string.is_key);
    let found: Vec<String> = match form {
        Form::Element => {
            let only = all.first().filter(|only| all.len() == 1 && only.from == 0 && !only.is_key);
            let whole = only.filter(|only| matches!(trimmed.get(only.to..), Some("" | ",")));
            whole.map(|only| only.text()).into_iter().collect()
        }
        Form::Entry if trimmed.starts_with('{') && trimmed.ends_with(['}', ',']) => {
            let keyed = all.iter().zip(all.iter().skip(1)).filter(|(key, value)| {
                let between = trimmed.get(key.to..value.from).unwrap_or_default();
                key.is_key && between.trim() == ":"
            });
            let mut known = keyed.filter(|(key, _)| LOG_KEYS.contains(&key.inside));
            let one =
                known.next().filter(|(_, value)| !value.inside.contains("\\n") || value.ends());
            one.map(|(_, value)| value.text()).into_iter().collect()
        }
        Form::Inside => {
            let several = values().filter(|string| string.inside.contains("\\n"));
            several.map(Quoted::text).collect()
        }
        Form::List if trimmed.contains(['[', '(']) => {
            let list: Vec<String> = values().map(Quoted::text).collect();
            if list.len() > 2 { list } else { Vec::new() }
        }
        _ => Vec::new(),
    };
    (!found.is_empty()).then_some(found)
}

/// A string in a line.
#[derive(Clone, Copy, Debug)]
struct Quoted<'a> {
    from: usize,
    to: usize,
    /// Between its quotes, as it is written.
    inside: &'a str,
    /// Whether a colon follows.
    is_key: bool,
}

impl Quoted<'_> {
    /// Whether nothing but the end of a line follows its first line end.
    fn ends(&self) -> bool {
        self.inside.find("\\n").is_some_and(|at| at + 2 == self.inside.len())
    }

    /// Its letters.
    fn text(&self) -> String {
        let (mut out, mut rest) = (String::with_capacity(self.inside.len()), self.inside);
        while let Some(at) = rest.find('\\') {
            let (before, escape) = rest.split_at(at);
            out.push_str(before);
            let (letter, length) = escaped(escape);
            out.extend(letter);
            rest = escape.get(length..).unwrap_or_default();
        }
        out.push_str(rest);
        out
    }
}

/// What an escape stands for, and its length.
fn escaped(text: &str) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    match text[1..].chars().next() {
        Some('n') => (Some('\n'), 2),
        Some('t') => (Some('\t'), 2),
        Some('r') => (Some('\r'), 2),
        Some('b') => (Some('\u{8}'), 2),
        Some('f') => (None, 2),
        Some('u') => {
            let Some(first) = unit(2) else { return (Some('\\'), 1) };
            let second = text.get(6..8).filter(|mark| *mark == "\\u").and_then(|_| unit(8));
            let pair = second.filter(|_| (0xd800..0xdc00).contains(&first));
            let units = [Some(first), pair].into_iter().flatten();
            let letter = char::decode_utf16(units).next().and_then(Result::ok);
            (letter.or(Some('\u{fffd}')), if pair.is_some() { 12 } else { 6 })
        }
        Some(letter) => (Some(letter), 1 + letter.len_utf8()),
        None => (Some('\\'), 1),
    }
}

/// The strings of a line: in double quotes, or in single ones as Python has them.
fn strings(line: &str) -> Vec<Quoted<'_>> {
    let bytes = line.as_bytes();
    let (mut found, mut at, mut open) = (Vec::new(), 0, vec![b'"', b'\'']);
    while let Some(begin) = (at..bytes.len()).find(|at| open.contains(&bytes[*at])) {
        let quote = bytes[begin];
        at = begin + 1;
        if quote == b'\'' && is_apostrophe(bytes, begin) {
            continue;
        }
        let mut end = at;
        while end < bytes.len() && bytes[end] != quote {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let Some(inside) = line.get(at..end).filter(|_| end < bytes.len()) else {
            // None of this kind ends any more.
            open.retain(|other| *other != quote);
            continue;
        };
        let rest = line.get(end + 1..).unwrap_or_default();
        let is_key = rest.trim_start().starts_with(':');
        at = end + 1;
        found.push(Quoted { from: begin, to: at, inside, is_key });
    }
    found
}

/// Whether a single quote stands within a word; before a string Python has `u` or `b`.
fn is_apostrophe(bytes: &[u8], at: usize) -> bool {
    let word = |back: usize| {
        let before = at.checked_sub(back).and_then(|at| bytes.get(at));
        before.is_some_and(u8::is_ascii_alphanumeric)
    };
    let marked = at.checked_sub(1).is_some_and(|at| matches!(bytes[at], b'u' | b'b'));
    word(1) && (!marked || word(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens whatever there is.
    fn opened(text: &str) -> String {
        let lines = text.lines().zip(1..);
        let mut lines: Vec<_> =
            lines.map(|(text, number)| NumberedLine { number, text: text.into() }).collect();
        open(&mut lines, &|text| text.lines().filter(|line| line.starts_with('L')).count());
        lines.iter().map(|line| format!("{}{}\n", line.number, line.text)).collect()
    }

    #[test]
    fn each_form_is_opened() {
        for (text, wanted) in [
            ("{\n \"stdout\": \"La\\nLb\\n\",\n \"rc\": 0\n}", "1{\n2La\n2Lb\n3 \"rc\": 0\n4}\n"),
            ("[\n \"La\",\n \"\",\n \"L\\tb\"\n]", "1[\n2La\n3\n4L\tb\n5]\n"),
            (
                "{\"log\":\"La\\n\",\"stream\":\"x\"}\n{\"log\":\"Lb\\n\",\"stream\":\"x\"}",
                "1La\n2Lb\n",
            ),
            ("{\"a\":[\"La\",\"Lb\",\"L\\u00e4\\ud83d\\ude42\"]}", "1La\n1Lb\n1L\u{e4}\u{1f642}\n"),
            ("msg: b'La\\nLb'", "1La\n1Lb\n"),
            ("db7 | CHANGED | rc=0 | (stdout) x\\nLb\\nLc", "1x\n1Lb\n1Lc\n"),
            ("I don't \"see\\nwhy\"", "1I don't \"see\\nwhy\"\n"),
        ] {
            assert_eq!(opened(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_there_twice_is_opened_once() {
        let text = "\"stdout\": \"La\\nLb\",\n\"stdout_lines\": [\n\"La\",\n\"Lb\"\n]";
        assert_eq!(opened(text), "1La\n1Lb\n2\"stdout_lines\": [\n3\n4\n5]\n");
    }

    #[test]
    fn many_escapes_take_no_longer_than_their_number() {
        for start in ["\\", "\"", "'\\", "\"\\", "\\n", "\\u", "{\"a\\n\":"] {
            opened(&start.repeat(100_000));
        }
    }
}
