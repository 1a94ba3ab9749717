//! Logs of programs that have no reader of their own: what repeats in them, and what stands out.
//!
//! Lines that no format claims and that have a time, a level or a program with its process id are a
//! log once there are some. Their messages are sorted by [shape](token), shapes by
//! [template](templates). It gives observations, and no causes.

mod clock;
mod line;
mod observe;
mod templates;
mod timeline;
mod token;
mod trouble;

use std::collections::BTreeMap;

use serde::Serialize;

use self::line::{LogLevel, LogLine, parts_of};
use self::timeline::Timeline;
use self::token::Shaper;
use self::trouble::Trouble;
use super::{Builder, SourceId, Stamp};

/// Fewest lines of a log: a ticket quotes one or two of anything.
const LINES_MIN: usize = 3;

/// Most shapes that are kept: some KiB each at most, mostly 100 bytes. Of 16 systems' logs none has
/// more than 350 templates in 2,000 lines (Zhu et al., ICSE-SEIP 2019).
const SHAPES_MAX: usize = 4096;

/// Fewest letters of a word in a message: rows of tables have none so long.
const LETTERS_MIN: usize = 3;

/// What a summary says of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// Something was refused.
    Refused,
    /// Something was waited for in vain.
    TimedOut,
    /// Something is full or used up.
    Full,
    /// Lines whose level is an error.
    Errors,
    /// The longest duration that a message has.
    Slow,
    /// Nothing was written for long.
    Silence,
    /// Most of the lines of a message stand within a short time.
    Burst,
    /// A message that came all the time stops.
    Stops,
    /// A message comes all the time from some time on.
    Appears,
}

impl Observed {
    /// In a word or two.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed out",
            Self::Full => "full",
            Self::Errors => "errors",
            Self::Slow => "longest",
            Self::Silence => "silence",
            Self::Burst => "burst",
            Self::Stops => "stops",
            Self::Appears => "appears",
        }
    }

    /// Whether it says that something did not work.
    pub const fn is_trouble(self) -> bool {
        matches!(self, Self::Refused | Self::TimedOut | Self::Full | Self::Errors)
    }
}

/// Something that stands out in a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// What it is.
    pub what: Observed,
    /// The message, `*` for what differs; `None` of a silence. What may be a secret is left out.
    pub message: Option<String>,
    /// How many lines have it.
    pub lines: u64,
    /// The first of them, from 1.
    pub line: usize,
    /// When the first and the last one were written.
    pub first: Option<Stamp>,
    /// See `first`.
    pub last: Option<Stamp>,
    /// The longest duration, in milliseconds.
    pub longest_ms: Option<f64>,
    /// The address or path that the first of them names.
    pub object: Option<String>,
}

/// A log as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogSummary {
    /// Where it stands.
    pub source: SourceId,
    /// Its lines.
    pub lines: u64,
    /// How many different messages it has.
    pub messages: usize,
    /// The first time.
    pub first: Option<Stamp>,
    /// The last time.
    pub last: Option<Stamp>,
    /// What stands out, the most important first.
    pub observations: Vec<Observation>,
}

/// What is known of the lines of one shape.
#[derive(Clone, Debug)]
struct Messages {
    lines: u64,
    line: usize,
    level: Option<LogLevel>,
    first: Option<Stamp>,
    last: Option<Stamp>,
    longest_ms: Option<f64>,
    trouble: Option<Trouble>,
    object: Option<String>,
    times: Timeline,
}

/// The lines of an input that no format claims.
#[derive(Default)]
pub(super) struct Log {
    shaper: Shaper,
    shapes: BTreeMap<String, usize>,
    all: Vec<Messages>,
    lines: u64,
    /// The first lines, until there are enough, with their numbers.
    held: Vec<(usize, String)>,
    first_line: usize,
    latest_line: usize,
    /// The place of the latest line's shape, where that is kept.
    latest: Option<usize>,
    latest_at: Option<Stamp>,
    /// The day of the year of the first line, where lines have no year.
    first_day: Option<i64>,
    span: Option<(Stamp, Stamp)>,
    silence: Option<(Stamp, Stamp)>,
}

impl Log {
    /// Takes a line that no format claims; `false` where it is none of a log.
    pub(super) fn take(&mut self, number: usize, line: &str) -> bool {
        // What belongs to the line above: frames of a stack.
        let below = self.lines > 0 && number == self.latest_line + 1;
        if below && line.starts_with([' ', '\t']) {
            self.latest_line = number;
            return true;
        }
        let Some(parts) = parts_of(line).filter(|parts| has_word(&parts.message)) else {
            return false;
        };
        if self.lines == 0 {
            self.first_line = number;
        }
        (self.lines, self.latest_line) = (self.lines + 1, number);
        if self.held.len() < LINES_MIN {
            self.held.push((number, line.to_owned()));
        }
        let at = parts.at.map(|at| at.stamp(&mut self.first_day));
        self.put_time(at);
        self.put(number, at, &parts);
        true
    }

    fn put_time(&mut self, at: Option<Stamp>) {
        let Some(at) = at else { return };
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        let gap = |(from, to): (Stamp, Stamp)| to.0.saturating_sub(from.0);
        if let Some(before) = self.latest_at
            && gap((before, at)) > self.silence.map_or(0, gap)
        {
            self.silence = Some((before, at));
        }
        self.latest_at = Some(at);
    }

    fn put(&mut self, number: usize, at: Option<Stamp>, parts: &LogLine<'_>) {
        let shaped = self.shaper.shape(&parts.message);
        let place = match self.shapes.get(shaped.shape) {
            Some(place) => *place,
            // More messages than any program has: what is new is no longer told apart.
            None if self.all.len() >= SHAPES_MAX => {
                self.latest = None;
                return;
            }
            None => {
                self.shapes.insert(shaped.shape.to_owned(), self.all.len());
                self.all.push(Messages {
                    lines: 0,
                    line: number,
                    level: parts.level,
                    first: at,
                    last: at,
                    longest_ms: None,
                    trouble: Trouble::of(shaped.shape, parts.level),
                    object: shaped.object.map(str::to_owned),
                    times: Timeline::default(),
                });
                self.all.len() - 1
            }
        };
        self.latest = Some(place);
        let messages = &mut self.all[place];
        messages.lines += 1;
        messages.level = messages.level.max(parts.level);
        messages.last = at.or(messages.last);
        let longest = [messages.longest_ms, shaped.longest_ms].into_iter().flatten();
        messages.longest_ms = longest.reduce(f64::max);
        if let Some(at) = at {
            messages.times.count(at);
        }
    }

    /// Puts the log that it was into the recording, or the lines that were none.
    pub(super) fn end(self, out: &mut Builder) {
        if self.held.len() < LINES_MIN {
            for (number, line) in &self.held {
                out.unrecognised_late(*number, line);
            }
            return;
        }
        if let Some(source) = out.begin_log(self.first_line) {
            out.put_log(observe::summary(&self, source));
        }
    }
}

/// The number of the template of each line of a text that is a log; `None` for lines that are none.
pub fn sorted_by_template(text: &str) -> Vec<Option<usize>> {
    let mut log = Log::default();
    let mut places = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let before = log.lines;
        let taken = log.take(number + 1, line) && log.lines > before;
        places.push(log.latest.filter(|_| taken));
    }
    let templates = observe::templates(&log);
    let mut numbers = BTreeMap::new();
    let mut number = |place: usize| {
        let next = numbers.len();
        templates.get(place).map(|template| *numbers.entry(template).or_insert(next))
    };
    places.into_iter().map(|place| place.and_then(&mut number)).collect()
}

fn has_word(message: &str) -> bool {
    let words = message.split(|c: char| !c.is_alphabetic());
    words.into_iter().any(|word| word.len() >= LETTERS_MIN)
}

#[cfg(test)]
mod tests;
