//! The lines of a log, collected by the shape of their messages.

use std::collections::BTreeMap;

use super::level::LogLevel;
use super::line::{LogLine, parts_of};
use super::summary::Observed;
use super::timeline::Timeline;
use super::token::Shaper;
use super::trouble;
use crate::recording::Stamp;

/// Fewest lines of a log: a ticket quotes one or two of anything.
pub(super) const LINES_MIN: usize = 3;

/// Most shapes that are kept: some KiB each at most, mostly 100 bytes. Of 16 systems' logs none has
/// more than 350 templates in 2,000 lines (Zhu et al., ICSE-SEIP 2019).
pub(super) const SHAPES_MAX: usize = 4096;

/// Fewest letters of a word in a message: rows of tables have none so long.
const LETTERS_MIN: usize = 3;

/// What is known of the lines of one shape.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    pub(super) lines: u64,
    pub(super) line: usize,
    pub(super) level: Option<LogLevel>,
    pub(super) first: Option<Stamp>,
    pub(super) last: Option<Stamp>,
    pub(super) longest_ms: Option<f64>,
    pub(super) trouble: Option<Observed>,
    pub(super) object: Option<String>,
    pub(super) times: Timeline,
}

/// The lines of an input that no format claims.
#[derive(Default)]
pub(in crate::recording) struct Log {
    pub(super) shaper: Shaper,
    pub(super) shapes: BTreeMap<String, usize>,
    pub(super) all: Vec<Messages>,
    pub(super) lines: u64,
    /// The first lines, until there are enough, with their numbers.
    pub(super) held: Vec<(usize, String)>,
    pub(super) first_line: usize,
    pub(super) latest_line: usize,
    /// The place of the latest line's shape, where that is kept.
    pub(super) latest: Option<usize>,
    pub(super) latest_at: Option<Stamp>,
    /// The day of the year of the first line, where lines have no year.
    pub(super) first_day: Option<i64>,
    pub(super) span: Option<(Stamp, Stamp)>,
    pub(super) silence: Option<(Stamp, Stamp)>,
}

impl Log {
    /// Takes a line that no format claims; `false` where it is none of a log.
    pub(in crate::recording) fn take(&mut self, number: usize, line: &str) -> bool {
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
            // More messages than any program has: what is new is no longer distinguished.
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
                    trouble: trouble::said(shaped.shape, parts.level),
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
}

fn has_word(message: &str) -> bool {
    let words = message.split(|c: char| !c.is_alphabetic());
    words.into_iter().any(|word| word.len() >= LETTERS_MIN)
}
