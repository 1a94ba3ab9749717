//! What stands out in a log.

use std::collections::BTreeMap;

use super::level::LogLevel;
use super::lines::{Log, Messages};
use super::summary::{LogSummary, Observation, Observed};
use super::templates::merged;
use super::timeline::{self, PARTS};
use super::token::{self, VALUE};
use super::trouble;
use crate::recording::{SourceId, Stamp};

/// Most observations of a log, and of one kind.
const LISTED_MAX: usize = 8;
const OF_A_KIND_MAX: usize = 3;

/// From this many milliseconds on a duration is worth a line: requests of people take less.
const SLOW_MS_MIN: f64 = 1_000.0;

/// A gap is a silence where it is this many times the mean distance of lines, and this many
/// seconds.
const SILENCE_TIMES: i64 = 20;
const SILENCE_S_MIN: i64 = 30;

/// Fewest lines of a message that has a course, and of a log.
const COURSE_LINES_MIN: u64 = 20;

/// Fewest seconds of a log whose messages have a course.
const SPAN_S_MIN: i64 = 30;

/// Longest message that is shown, in letters.
const SHOWN_LETTERS_MAX: usize = 160;

/// A word without a digit that is longer than this may be a key.
const WORD_LETTERS_MAX: usize = 40;

/// Names whose values are secrets.
const SECRETS: [&str; 9] = [
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "authorization",
    "bearer",
    "credential",
    "apikey",
];

/// What a log is, and what stands out in it.
pub(super) fn summary(log: &Log, source: SourceId) -> LogSummary {
    let templates = by_template(log);
    let mut all: Vec<Observation> = templates
        .iter()
        .flat_map(|(template, messages)| observed(log, template, messages))
        .collect();
    all.extend(silence(log));
    all.sort_by(|a, b| {
        let longest = |one: &Observation| one.longest_ms.unwrap_or_default();
        (a.what.cmp(&b.what))
            .then(longest(b).total_cmp(&longest(a)))
            .then(b.lines.cmp(&a.lines))
            .then(a.line.cmp(&b.line))
    });
    let mut listed: Vec<Observation> = Vec::new();
    for one in all {
        let same = listed.iter().filter(|listed| listed.what == one.what).count();
        if same < OF_A_KIND_MAX && listed.len() < LISTED_MAX {
            listed.push(one);
        }
    }
    LogSummary {
        source,
        lines: log.lines,
        messages: templates.len(),
        first: log.span.map(|(first, _)| first),
        last: log.span.map(|(_, last)| last),
        observations: listed,
    }
}

/// The template of each shape.
pub(super) fn templates(log: &Log) -> Vec<String> {
    let mut shapes: Vec<(&str, u64)> = vec![("", 0); log.all.len()];
    for (shape, place) in &log.shapes {
        shapes[*place] = (shape, log.all[*place].lines);
    }
    merged(&shapes)
}

/// What is known of each template, by its text.
fn by_template(log: &Log) -> BTreeMap<String, Messages> {
    let mut all: BTreeMap<String, Messages> = BTreeMap::new();
    for (template, messages) in templates(log).into_iter().zip(&log.all) {
        match all.get_mut(&template) {
            None => drop(all.insert(template, messages.clone())),
            Some(known) => known.add(messages),
        }
    }
    all
}

impl Messages {
    /// Adds those of another shape of the same template.
    fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.line = self.line.min(other.line);
        self.level = self.level.max(other.level);
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = self.last.max(other.last);
        self.longest_ms =
            [self.longest_ms, other.longest_ms].into_iter().flatten().reduce(f64::max);
        self.trouble = self.trouble.or(other.trouble);
        self.object = self.object.take().or_else(|| other.object.clone());
        self.times.add(&other.times);
    }
}

/// What stands out of the lines of one template.
fn observed(log: &Log, template: &str, messages: &Messages) -> Vec<Observation> {
    let of = |what| Observation {
        what,
        message: Some(shown(template)),
        lines: messages.lines,
        line: messages.line,
        first: messages.first,
        last: messages.last,
        topic: trouble::topic(template),
        longest_ms: messages.longest_ms,
        object: messages.object.clone().map(|object| cut(&object)),
    };
    let mut all = Vec::new();
    let error = messages.level >= Some(LogLevel::Error);
    match messages.trouble {
        Some(trouble) => all.push(of(trouble)),
        None if error => all.push(of(Observed::Errors)),
        None => {}
    }
    // With a trouble it stands there.
    let slow = messages.longest_ms.is_some_and(|longest| longest >= SLOW_MS_MIN);
    if slow && all.is_empty() {
        all.push(of(Observed::Slow));
    }
    let matters = messages.level >= Some(LogLevel::Warning) || messages.trouble.is_some();
    let course = course(log, messages).filter(|(what, _)| matters || *what != Observed::Burst);
    if let Some((what, burst)) = course {
        let whole = of(what);
        all.push(match burst {
            Some((lines, first, last)) => {
                Observation { lines, first: Some(first), last: Some(last), ..whole }
            }
            None => whole,
        });
    }
    all
}

/// The lines within a time.
type Burst = (u64, Stamp, Stamp);

/// How the lines of a template are spread over the log, with where most are in case of a burst.
fn course(log: &Log, messages: &Messages) -> Option<(Observed, Option<Burst>)> {
    let span = log.span.filter(|(first, last)| last.0 - first.0 >= SPAN_S_MIN)?;
    if messages.lines < COURSE_LINES_MIN {
        return None;
    }
    let parts = messages.times.within(span);
    let there: Vec<bool> = parts.iter().map(|count| *count > 0).collect();
    let (part, most) = (0_i64..).zip(parts).max_by_key(|(_, lines)| *lines)?;
    if 2 * most > messages.lines && most >= COURSE_LINES_MIN {
        let (from, to) = timeline::bounds(span, part);
        let (first, last) = (messages.first?.max(from), messages.last?.min(to));
        return Some((Observed::Burst, Some((most, first, last))));
    }
    let first = there.iter().position(|there| *there)?;
    let last = there.iter().rposition(|there| *there)?;
    // All the time, as far as it reaches.
    let reach = last + 1 - first;
    let steady = there.iter().filter(|there| **there).count() == reach;
    let quarter = PARTS / 4;
    match (first, PARTS - 1 - last) {
        _ if !steady || reach < quarter => None,
        (0, after) if after >= quarter => Some((Observed::Stops, None)),
        (before, 0) if before >= quarter => Some((Observed::Appears, None)),
        _ => None,
    }
}

/// The longest time without a line.
fn silence(log: &Log) -> Option<Observation> {
    let ((from, to), (first, last)) = (log.silence?, log.span?);
    let (gap, span) = (to.0.saturating_sub(from.0), last.0.saturating_sub(first.0));
    let lines = i64::try_from(log.lines).unwrap_or(i64::MAX);
    let mean = span / lines.max(1);
    let long = gap >= SILENCE_S_MIN && gap >= SILENCE_TIMES.saturating_mul(mean.max(1));
    (long && log.lines >= COURSE_LINES_MIN).then_some(Observation {
        what: Observed::Silence,
        message: None,
        lines: 0,
        line: log.first_line,
        first: Some(from),
        last: Some(to),
        topic: None,
        longest_ms: None,
        object: None,
    })
}

/// A template as it is shown: what stands behind `=`, in quotes or behind the name of a secret is
/// left out, and so is what may be a key.
fn shown(template: &str) -> String {
    let mut text = String::new();
    let (mut quoted, mut hidden, mut before) = (None, false, String::new());
    for (token, spaced) in token::tokens(template) {
        let word = token.contains(|c: char| c.is_alphanumeric());
        let long = token.chars().count() > WORD_LETTERS_MAX;
        // An apostrophe within a word is no quote.
        let within = token == "'" && !spaced && before.ends_with(char::is_alphabetic);
        let mark = matches!(token, "\"" | "'").then_some(token);
        let mark = mark.filter(|_| quoted.is_some() || !within);
        let is_secret = word && (before == "=" || hidden || quoted.is_some() || long);
        if spaced && !text.is_empty() {
            text.push(' ');
        }
        text.push_str(if is_secret || token == VALUE { "*" } else { token });
        if word {
            let name = token.to_lowercase();
            hidden = SECRETS.iter().any(|secret| name.contains(secret));
        }
        if let Some(mark) = mark {
            quoted = if quoted == Some(mark) { None } else { quoted.or(Some(mark)) };
        }
        token.clone_into(&mut before);
    }
    cut(&text)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LETTERS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
