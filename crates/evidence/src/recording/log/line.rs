//! A line of any log: what stands before its message, and the message.
//!
//! Before a message stand times, levels, names of programs and machines, ids in brackets, in any
//! order. What they look like is general; that they belong together shows where a time, a level or
//! a program with its process id follows within a few words.

use std::borrow::Cow;

use super::clock::{Clock, Time, has_separator, is_of_calendar, is_time};
use super::level::{self, LogLevel};

/// Single letters as levels (Android's logcat, klog).
const LETTERS: [(&str, LogLevel); 6] = [
    ("V", LogLevel::Debug),
    ("D", LogLevel::Debug),
    ("I", LogLevel::Info),
    ("W", LogLevel::Warning),
    ("E", LogLevel::Error),
    ("F", LogLevel::Error),
];

/// Most words before a message.
const WORDS_MAX: usize = 24;
/// Within this many words of a name that belongs to the start of a line follows what shows it:
/// `RAS KERNEL INFO` is the longest of the logs that were tried.
const NAMES_MAX: usize = 4;
/// Longest text in brackets that is one id.
const GROUP_BYTES_MAX: usize = 200;
/// Digits from which on a text in brackets behind the program is the id of a request.
const ID_DIGITS_MIN: usize = 8;

/// What a word at the start of a line may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Time,
    Level(LogLevel),
    /// A level where a component follows.
    Letter(LogLevel),
    /// `sshd[812]:`.
    Program,
    /// `org.apache.hadoop.ipc.Client:`.
    Component,
    /// In brackets.
    Group,
    Separator,
    Number,
    /// With a digit.
    Named,
    Word,
}

/// A word with its place; `|` may end one.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    from: usize,
    piped: bool,
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogLine<'a> {
    /// When, as far as that can be read.
    pub(super) at: Option<Time>,
    /// How bad.
    pub(super) level: Option<LogLevel>,
    /// Its message.
    pub(super) message: Cow<'a, str>,
}

fn level(word: &str) -> Option<LogLevel> {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
    let named = bare.strip_prefix("level=").unwrap_or(bare);
    let marked = word.starts_with(['[', '<', '(']) || named.len() < bare.len();
    let known = marked || named.starts_with(|c: char| c.is_ascii_uppercase());
    let (short, long) = (named.len() < 3, named.len() > "INFORMATION".len());
    if !known || short || long {
        return None;
    }
    level::named(&named.to_ascii_uppercase())
}

fn has_pid(word: &str) -> bool {
    let named = word.strip_suffix(']').and_then(|word| word.rsplit_once('['));
    named.is_some_and(|(name, pid)| !name.is_empty() && is_figures(pid))
}

fn is_figures(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn part(word: &str) -> Part {
    if word.bytes().all(|byte| byte.is_ascii_punctuation()) {
        let separates = word.len() <= 3 && word.bytes().all(|byte| b"-|:#>[]()".contains(&byte));
        return if separates { Part::Separator } else { Part::Word };
    }
    if let Some(level) = level(word) {
        return Part::Level(level);
    }
    if let Some((_, level)) = LETTERS.iter().find(|(letter, _)| *letter == word) {
        return Part::Letter(*level);
    }
    // `E0301`: klog's level with month and day.
    let of_klog = word.split_at_checked(1).filter(|(_, day)| day.len() == 4 && is_figures(day));
    let letter = of_klog.and_then(|(letter, _)| LETTERS.iter().find(|(name, _)| *name == letter));
    if let Some((_, level)) = letter {
        return Part::Level(*level);
    }
    let figures = |byte: u8| byte.is_ascii_digit() || b"-:./,+TZ[]".contains(&byte);
    let digit = word.bytes().any(|byte| byte.is_ascii_digit());
    if digit && word.bytes().all(figures) {
        return if is_time(word) { Part::Time } else { Part::Number };
    }
    if is_of_calendar(word) {
        return Part::Time;
    }
    if word.starts_with(['[', '<', '(']) {
        let inner = word.get(1..).unwrap_or_default().trim_end_matches([']', '>', ')']);
        let timed = inner.split_whitespace().take(6).any(is_time);
        return if timed { Part::Time } else { Part::Group };
    }
    if let Some(name) = word.strip_suffix(':') {
        return if has_pid(name) { Part::Program } else { Part::Component };
    }
    match (has_pid(word), digit) {
        (true, _) => Part::Program,
        (false, true) => Part::Named,
        (false, false) => Part::Word,
    }
}

/// The first words of a line with what they may be, found as they are asked for; what stands in
/// brackets is one word.
struct Words<'a> {
    line: &'a str,
    at: usize,
    all: Vec<(Word<'a>, Part)>,
}

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Self {
        Self { line, at: 0, all: Vec::with_capacity(2 * NAMES_MAX) }
    }

    fn get(&mut self, place: usize) -> Option<(Word<'a>, Part)> {
        while self.all.len() <= place {
            let word = self.next().filter(|_| place < WORDS_MAX)?;
            self.all.push((word, part(word.text)));
        }
        self.all.get(place).copied()
    }

    fn part(&mut self, place: usize) -> Option<Part> {
        self.get(place).map(|(_, part)| part)
    }

    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.line.as_bytes();
        let ends = |byte: u8| byte.is_ascii_whitespace() || byte == b'|';
        let blanks = bytes.get(self.at..)?.iter().position(|byte| !ends(*byte))?;
        let from = self.at + blanks;
        let rest = bytes.get(from..)?;
        let group = group_end(rest);
        let length = group.or_else(|| rest.iter().position(|b| ends(*b))).unwrap_or(rest.len());
        self.at = from + length;
        let piped = group.is_none() && bytes.get(self.at) == Some(&b'|');
        Some(Word { text: self.line.get(from..self.at).unwrap_or_default(), from, piped })
    }
}

/// The length of a text in brackets at the start of this one.
fn group_end(bytes: &[u8]) -> Option<usize> {
    let open = *bytes.first()?;
    let close = match open {
        b'[' => b']',
        b'(' => b')',
        b'<' => b'>',
        _ => return None,
    };
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().take(GROUP_BYTES_MAX) {
        depth += usize::from(*byte == open);
        if *byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

/// What was met so far before a message.
#[derive(Default)]
struct Start {
    timed: bool,
    /// By a time with a separator: a bare number may be an id.
    dated: bool,
    level: Option<LogLevel>,
    named: bool,
}

/// Whether a word names a part of a program.
const fn is_component(part: Option<Part>) -> bool {
    matches!(part, Some(Part::Component | Part::Program))
}

impl Start {
    /// Takes a word that belongs to the start of a line by itself; `false` where it does not.
    fn take(&mut self, words: &mut Words<'_>, (word, part): (Word<'_>, Part), at: usize) -> bool {
        let begun = self.timed || self.level.is_some() || at < 2;
        match part {
            Part::Time if !self.named && (self.level.is_none() || !self.timed) => {
                self.timed = true;
                self.dated |= has_separator(word.text);
            }
            Part::Level(level) if self.level.is_none() && !self.named => self.level = Some(level),
            Part::Level(level) if word.text.starts_with(['[', '<', '(']) => {
                self.level = Some(level);
            }
            Part::Letter(level) if self.level.is_none() && is_component(words.part(at + 1)) => {
                self.level = Some(level);
            }
            Part::Program if !self.named => self.named = true,
            Part::Component if (self.timed || self.level.is_some()) && !self.named => {
                self.named = true;
            }
            Part::Group | Part::Separator if !self.named && begun => {}
            Part::Separator if self.named => {}
            Part::Group if self.named => {
                let digits = word.text.bytes().filter(u8::is_ascii_digit).count();
                return digits >= ID_DIGITS_MIN;
            }
            _ => return false,
        }
        true
    }

    /// Whether a name at this place belongs to the start of a line by where it stands.
    fn is_name(&self, words: &mut Words<'_>, word: Word<'_>, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| words.part(before));
        let after_level = matches!(before, Some(Part::Level(_)));
        let dotted = word.text.contains(['.', '$']) && !word.text.contains('(');
        let is_dash = |next: Option<(Word<'_>, Part)>| {
            next.is_some_and(|(word, part)| part == Part::Separator && word.text.starts_with('-'))
        };
        let dashed = self.timed
            && self.level.is_none()
            && (is_dash(words.get(at + 1)) || is_dash(words.get(at + 2)));
        word.piped && self.timed || after_level && dotted || dashed
    }

    /// The place of what shows that names from here to it belong to the start of a line.
    fn anchor(&self, words: &mut Words<'_>, at: usize) -> Option<usize> {
        if self.level.is_some() {
            return None;
        }
        (at + 1..=at + NAMES_MAX).find(|place| match words.part(*place) {
            Some(Part::Level(_) | Part::Program) => true,
            Some(Part::Time) => !self.dated,
            Some(Part::Component) => self.dated && *place == at + 1,
            Some(Part::Letter(_)) => is_component(words.part(place + 1)),
            _ => false,
        })
    }
}

/// Longest line that is read as JSON.
const JSON_BYTES_MAX: usize = 64 << 10;

/// Names of keys of structured logs.
const LEVEL_KEYS: [&str; 4] = ["level", "severity", "lvl", "log.level"];
const MESSAGE_KEYS: [&str; 4] = ["msg", "message", "log", "event"];
const TIME_KEYS: [&str; 6] = ["ts", "time", "timestamp", "@timestamp", "asctime", "datetime"];

/// A line that is a JSON object with a message and a level or a time.
fn of_json(line: &str) -> Option<LogLine<'_>> {
    if !line.starts_with('{') || !line.ends_with('}') || line.len() > JSON_BYTES_MAX {
        return None;
    }
    let keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).ok()?;
    let value = |names: &[&str]| names.iter().find_map(|name| keys.get(*name));
    let level = value(&LEVEL_KEYS).and_then(|value| value.as_str());
    let level = level.and_then(|name| self::level(&name.to_uppercase()));
    let at = value(&TIME_KEYS).and_then(|time| match time.as_str() {
        Some(text) => Clock::of(text),
        None => Clock::of(&time.to_string()),
    });
    let message = value(&MESSAGE_KEYS)?.as_str()?;
    (level.is_some() || at.is_some()).then(|| LogLine {
        at,
        level,
        message: Cow::Owned(message.to_owned()),
    })
}

/// A message without its key, where it stands between keys with values: `msg="..." order=5`.
fn of_logfmt(message: &str) -> &str {
    let named = ["msg=\"", "message=\""].iter().find_map(|key| message.strip_prefix(key));
    named.and_then(|rest| rest.split('"').next()).unwrap_or(message)
}

/// The parts of a line of a log; `None` where it has neither time nor level nor a program with its
/// process id.
pub(super) fn parts_of(line: &str) -> Option<LogLine<'_>> {
    if let Some(structured) = of_json(line) {
        return Some(structured);
    }
    let mut words = Words::new(line);
    let (mut start, mut at, mut end) = (Start::default(), 0, 0);
    while let Some((word, part)) = words.get(at) {
        if start.take(&mut words, (word, part), at) {
            (at, end) = (at + 1, at + 1);
            continue;
        }
        let name = matches!(
            part,
            Part::Word | Part::Component | Part::Named | Part::Number | Part::Letter(_)
        );
        if start.named || !name {
            break;
        }
        if start.is_name(&mut words, word, at) {
            (at, end) = (at + 1, at + 1);
        } else if let Some(place) = start.anchor(&mut words, at) {
            at = place;
        } else {
            break;
        }
    }
    if !start.timed && start.level.is_none() && !start.named {
        return None;
    }
    let from = words.get(end).map_or(line.len(), |(word, _)| word.from);
    let (before, message) = line.split_at_checked(from)?;
    let dated = before.bytes().any(|byte| byte.is_ascii_digit());
    let at = if dated { Clock::of(before) } else { None };
    let message = Cow::Borrowed(of_logfmt(message.trim_end()));
    Some(LogLine { at, level: start.level, message })
}
