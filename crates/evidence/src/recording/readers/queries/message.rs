//! Messages of PostgreSQL, whatever form the log has: text behind any `log_line_prefix`, CSV, JSON,
//! and JSON of others around these.
//!
//! `log_line_prefix` is not known, and need not be: the level that follows it is, and what stands
//! in the prefix shows by how it is written.

use serde_json::{Map, Value};

use super::event::{add_line, moment};
use crate::recording::normalise::lead;
use crate::recording::readers::prelude::*;

/// How severe a message is, or of which message it is a part (`error_severity` of `elog.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Level {
    #[default]
    Log,
    /// The statement failed, the session ended, all sessions ended.
    Error,
    Fatal,
    Panic,
    /// Warnings and less.
    Other,
    /// Parts of the message before.
    Detail,
    Statement,
    OtherPart,
}

const LEVELS: [(&str, Level); 20] = [
    ("LOG", Level::Log),
    ("ERROR", Level::Error),
    ("FATAL", Level::Fatal),
    ("PANIC", Level::Panic),
    ("WARNING", Level::Other),
    ("NOTICE", Level::Other),
    ("INFO", Level::Other),
    ("DEBUG", Level::Other),
    ("DEBUG1", Level::Other),
    ("DEBUG2", Level::Other),
    ("DEBUG3", Level::Other),
    ("DEBUG4", Level::Other),
    ("DEBUG5", Level::Other),
    ("DETAIL", Level::Detail),
    ("STATEMENT", Level::Statement),
    ("HINT", Level::OtherPart),
    ("CONTEXT", Level::OtherPart),
    ("QUERY", Level::OtherPart),
    ("LOCATION", Level::OtherPart),
    ("BACKTRACE", Level::OtherPart),
];

/// Longest name of a level, and longest prefix.
const LEVEL_BYTES_MAX: usize = 9;
const PREFIX_BYTES_MAX: usize = 512;

/// Columns of the log as CSV, since version 8: the time, the process, the level, the SQLSTATE, the
/// message, its detail, the statement.
const CSV: [usize; 7] = [0, 3, 11, 12, 13, 14, 19];
/// Fewest columns, and longest row, with its line ends.
const CSV_COLUMNS_MIN: usize = 22;
const CSV_BYTES_MAX: usize = 1 << 20;

/// How deep an object of JSON may be in another.
const JSON_DEPTH_MAX: usize = 3;

/// A message of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message {
    pub(super) at: Option<Stamp>,
    /// Whether that is UTC.
    pub(super) utc: bool,
    /// The process of its session.
    pub(super) process: Option<u32>,
    pub(super) level: Level,
    /// The SQLSTATE, where the log has it.
    pub(super) state: String,
    pub(super) text: String,
    pub(super) detail: String,
    pub(super) statement: String,
    /// The part that further lines belong to.
    latest: Level,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LogLine {
    Message(Message),
    /// A part of the message before, or more of the latest one.
    Part(Level, String),
    More(String),
    /// Of this log, and nothing yet.
    Nothing,
}

impl Message {
    pub(super) fn add_part(&mut self, level: Level, text: &str) {
        self.latest = level;
        match level {
            Level::Detail => text.clone_into(&mut self.detail),
            Level::Statement => text.clone_into(&mut self.statement),
            _ => {}
        }
    }

    pub(super) fn add_line(&mut self, line: &str) {
        match self.latest {
            Level::Detail => add_line(&mut self.detail, line),
            Level::Statement => add_line(&mut self.statement, line),
            Level::OtherPart => {}
            _ => add_line(&mut self.text, line),
        }
    }
}

/// The level in a line of text, what stands before and behind it, and how many blanks come between.
fn level(line: &str) -> Option<(&str, Level, usize, &str)> {
    let bytes = line.as_bytes();
    let start = bytes.get(..bytes.len().min(PREFIX_BYTES_MAX))?;
    for (at, _) in start.iter().enumerate().filter(|(_, byte)| **byte == b':') {
        let before = start.get(..at)?.iter().rev().take(LEVEL_BYTES_MAX + 1);
        let letters = before.take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).count();
        if letters < 3 {
            continue;
        }
        let word = line.get(at - letters..at)?;
        let Some((_, level)) = LEVELS.iter().find(|(name, _)| *name == word) else { continue };
        let prefix = line.get(..at - letters)?;
        let apart = !prefix.ends_with(|c: char| c.is_alphanumeric() || "_\"'=".contains(c));
        let behind = line.get(at + 1..)?;
        let text = behind.trim_start_matches(' ');
        let gap = behind.len() - text.len();
        if apart && (gap > 0 || text.is_empty()) {
            return Some((prefix, *level, gap, text));
        }
    }
    None
}

/// The process that a prefix names: the first number in brackets, also behind a program's name
/// (`postgres[77]:`, `app[postgres.77]:`), else the first number that is a word.
fn process(prefix: &str) -> Option<u32> {
    let inside = |part: &str| {
        let (inside, _) = part.split_once(']')?;
        inside.rsplit('.').next()?.parse().ok()
    };
    let words = || prefix.split([' ', ',', '|']);
    let bare = || words().find_map(|word| word.trim_end_matches(':').parse().ok());
    prefix.split('[').skip(1).find_map(inside).or_else(bare)
}

/// The text behind the number of a chunk, as messages of several lines have it where syslog carries
/// them (`[5-2] ...`), with tabs as `#011`.
fn chunk(line: &str) -> Option<String> {
    let (mut rest, mut left) = (line, PREFIX_BYTES_MAX);
    while let Some((before, behind)) = rest.split_once('[') {
        left = left.checked_sub(before.len() + 1)?;
        let (inside, text) = behind.split_once(']')?;
        let numbers = inside.split_once('-').and_then(|(of, at)| Some((count(of)?, count(at)?)));
        if numbers.is_some_and(|(_, chunk)| chunk > 1) {
            return Some(text.trim_start().replace("#011", " "));
        }
        rest = behind;
    }
    None
}

/// When a prefix was written; of one without a year the time of day.
fn at(prefix: &str) -> Option<Stamp> {
    let epoch = || {
        let seconds: i64 = prefix.split_whitespace().next()?.split('.').next()?.parse().ok()?;
        Some(Stamp(seconds)).filter(|at| at.has_date())
    };
    moment(prefix).or_else(|| lead(prefix).map(|lead| lead.at)).or_else(epoch)
}

/// Whether a time says that it is UTC.
fn is_utc(time: &str) -> bool {
    ["UTC", "GMT", "Z ", "+00"].iter().any(|zone| time.contains(zone)) || time.ends_with('Z')
}

/// A line of text, and how many blanks stand behind its level: two, where nobody took one away.
fn of_text(line: &str) -> Option<(LogLine, usize)> {
    let Some((prefix, level, gap, text)) = level(line) else {
        return chunk(line).map(|text| (LogLine::More(text), 0));
    };
    let part = matches!(level, Level::Detail | Level::Statement | Level::OtherPart);
    let seen = if part {
        LogLine::Part(level, text.trim_end().to_owned())
    } else {
        let text = text.trim_end().to_owned();
        let (at, utc, process) = (at(prefix), is_utc(prefix), process(prefix));
        LogLine::Message(Message { at, utc, process, level, text, ..Message::default() })
    };
    Some((seen, gap))
}

/// The cells of a row of CSV; `None` where its quotes are open.
fn cells(row: &str) -> Option<Vec<String>> {
    let (mut all, mut quoted) = (vec![String::new()], false);
    let mut rest = row.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.next_if_eq(&'"').is_some() => all.last_mut()?.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            c => all.last_mut()?.push(c),
        }
    }
    (!quoted).then_some(all)
}

/// Whether a line of a row opens quotes that it does not close, or closes those that were open.
fn turns(line: &str) -> bool {
    line.bytes().filter(|byte| *byte == b'"').count() % 2 == 1
}

/// Whether a row of the log may begin here: with a time and nothing else in the first cell.
fn is_row(line: &str) -> bool {
    const TIME_BYTES_MAX: usize = 48;
    let start = line.bytes().take(TIME_BYTES_MAX).position(|byte| byte == b',');
    let cell = start.and_then(|end| line.get(..end)).unwrap_or_default();
    let cell = cell.trim_matches('"');
    cell.split(' ').count() <= 3 && !cell.ends_with(':') && moment(cell).is_some()
}

fn named_level(name: &str) -> Option<Level> {
    LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
}

/// A row of CSV, of as many lines as its texts have.
fn of_csv(row: &str) -> Option<Message> {
    let cells = cells(row).filter(|cells| cells.len() >= CSV_COLUMNS_MIN)?;
    let [time, process, level, state, text, detail, statement] =
        CSV.map(|at| cells.get(at).cloned().unwrap_or_default());
    let (at, utc, level) = (moment(&time), is_utc(&time), named_level(&level)?);
    let process = process.parse().ok();
    Some(Message { at, utc, process, level, state, text, detail, statement, latest: Level::Log })
}

/// An object of the log as JSON (since version 15), or as operators write it around such a record.
fn of_object(object: &Map<String, Value>) -> Option<Message> {
    let first = |names: &[&str]| {
        let found = names.iter().find_map(|name| object.get(*name));
        found.map_or_else(String::new, |value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let level = named_level(&first(&["error_severity"]))?;
    let time = first(&["timestamp", "log_time"]);
    Some(Message {
        at: moment(&time),
        utc: is_utc(&time),
        process: first(&["pid", "process_id"]).parse().ok(),
        level,
        state: first(&["state_code", "sql_state_code"]),
        text: first(&["message"]),
        detail: first(&["detail"]),
        statement: first(&["statement", "query"]),
        latest: Level::Log,
    })
}

/// What a line of JSON is: a record of the server, or one around a line of text.
fn of_json(value: &Value, depth: usize) -> Option<LogLine> {
    match value {
        Value::Object(object) => {
            let record = of_object(object).map(LogLine::Message);
            let inside = || depth.checked_sub(1);
            record.or_else(|| object.values().find_map(|value| of_json(value, inside()?)))
        }
        Value::String(text) if text.starts_with('\t') => Some(LogLine::More(text.clone())),
        // What others quote of it has lost a blank.
        Value::String(text) => of_text(text).filter(|(_, gap)| *gap != 1).map(|(seen, _)| seen),
        _ => None,
    }
}

/// Reads the lines of one log.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexer {
    /// Blanks behind each level, where the log is text.
    gap: Option<usize>,
    json: bool,
    /// A row of CSV whose quotes are open.
    row: String,
}

impl Lexer {
    /// What a line is; `None`: it is none of this log.
    pub(super) fn take(&mut self, line: &str) -> Option<LogLine> {
        if !self.row.is_empty() {
            let mut row = std::mem::take(&mut self.row);
            row.push('\n');
            row.push_str(line);
            let ends = turns(line);
            return if ends { of_csv(&row).map(LogLine::Message) } else { self.goes_on(row) };
        }
        if line.starts_with([' ', '\t']) || line.is_empty() {
            return Some(LogLine::More(line.to_owned()));
        }
        if line.starts_with('{') {
            let value = serde_json::from_str(line).ok()?;
            let seen = of_json(&value, JSON_DEPTH_MAX);
            // What else the operator writes.
            let other = self.json.then_some(LogLine::Nothing);
            self.json |= seen.is_some();
            return seen.or(other);
        }
        if is_row(line) {
            // Up to where its quotes are open the level is seen.
            let ours = || LEVELS.iter().any(|(name, _)| line.contains(&format!(",{name},")));
            let seen = match turns(line) {
                true if ours() => self.goes_on(line.to_owned()),
                true => None,
                false => of_csv(line).map(LogLine::Message),
            };
            if seen.is_some() {
                return seen;
            }
        }
        let (seen, gap) = of_text(line)?;
        // Others write one blank where the server writes two.
        let known = gap == 0 || gap == *self.gap.get_or_insert(gap);
        known.then_some(seen)
    }

    /// Whether a line ends the message before: of one that continues, empty lines have a tab.
    pub(super) fn ends(&self, line: &str) -> bool {
        line.is_empty() && self.row.is_empty()
    }

    /// Whether it is written as no other program's log.
    pub(super) fn is_sure(&self) -> bool {
        self.json || self.gap.is_none_or(|gap| gap == 2)
    }

    /// A row whose quotes are open, unless it is longer than any.
    fn goes_on(&mut self, row: String) -> Option<LogLine> {
        let fits = row.len() <= CSV_BYTES_MAX;
        self.row = if fits { row } else { String::new() };
        fits.then_some(LogLine::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> Message {
        match Lexer::default().take(line) {
            Some(LogLine::Message(message)) => message,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_prefix_is_inferred() {
        for (prefix, process, time) in [
            ("", None, None),
            ("2031-02-03 04:05:06 UTC [77] ", Some(77), Some("2031-02-03 04:05:06")),
            ("2031-02-03 04:05:06.789 CET 77 a@b ", Some(77), Some("2031-02-03 04:05:06")),
            (
                "2031-02-03 04:05:06 CET:192.0.2.1(5099):a@b:[77]:",
                Some(77),
                Some("2031-02-03 04:05:06"),
            ),
            ("1927857906.789 [77]: [3-1] u=a,d=b,app=c ", Some(77), Some("2031-02-03 04:05:06")),
            ("Feb  3 04:05:06 db7 postgres[77]: [4-1] user=a ", Some(77), Some("04:05:06")),
            (
                "2031-02-03T04:05:06+00:00 app[postgres.77]: [X] [9-1]  code = 00000 ",
                Some(77),
                Some("2031-02-03 04:05:06"),
            ),
            ("<2031-02-03 04:05:06 UTC%a>", None, None),
        ] {
            let found = message(&format!("{prefix}LOG:  started"));
            assert_eq!((found.process, found.text.as_str()), (process, "started"), "{prefix}");
            if time.is_some() {
                assert_eq!(found.at.map(|at| at.to_string()).as_deref(), time, "{prefix}");
            }
        }
        for other in ["Catalog: x", "a LOG of it", "user=\"LOG: x", "app LOG:x"] {
            assert_eq!(Lexer::default().take(other), None, "{other}");
        }
    }

    #[test]
    fn records_within_others() {
        let record = "{\"log_time\":\"2031-02-03 04:05:06.7 UTC\",\"process_id\":\"77\",\
                      \"error_severity\":\"ERROR\",\"sql_state_code\":\"40P01\",\"message\":\
                      \"deadlock detected\",\"query\":\"select 1\"}";
        let around = format!("{{\"level\":\"info\",\"record\":{record}}}");
        for line in [record, &around] {
            let found = message(line);
            assert_eq!(
                (found.process, found.level, found.at.is_some()),
                (Some(77), Level::Error, true)
            );
            assert_eq!((found.state.as_str(), found.statement.as_str()), ("40P01", "select 1"));
        }
        let text = "{\"id\":\"x\",\"textPayload\":\"2031-02-03 04:05:06 UTC [77]: LOG:  started\"}";
        assert_eq!(message(text).text, "started");
        let mut lexer = Lexer::default();
        lexer.take(text);
        let more = lexer.take("{\"textPayload\":\"\\tpages: 5\"}");
        assert_eq!(more, Some(LogLine::More("\tpages: 5".to_owned())));
        assert_eq!(lexer.take("{\"other\":5}"), Some(LogLine::Nothing));
    }

    #[test]
    fn rows_of_csv_have_as_many_lines_as_their_texts() {
        let (head, tail) = (
            "\"2031-02-03 04:05:06.7 UTC\",\"a\",\"b\",77,\"[local]\",6,1,\"SELECT\",\
                    2031-02-03 04:00:00 UTC,3/4,0,LOG,00000,",
            ",,,,,,,,,\"psql\"",
        );
        let mut lexer = Lexer::default();
        assert_eq!(
            lexer.take(&format!("{head}\"statement: select \"\"a\"\",")),
            Some(LogLine::Nothing)
        );
        assert_eq!(lexer.take("  5"), Some(LogLine::Nothing));
        let Some(LogLine::Message(found)) = lexer.take(&format!("from t\"{tail}")) else {
            panic!("a row")
        };
        assert_eq!(found.text, "statement: select \"a\",\n  5\nfrom t");
        assert_eq!((found.process, found.level), (Some(77), Level::Log));
        assert_eq!(Lexer::default().take("2031-02-03 04:05:06,5,\"x"), None);
    }

    #[test]
    fn chunks_of_syslog_go_on() {
        let line = "Feb  3 04:05:06 db7 postgres[77]: [4-2] #011 from t";
        assert_eq!(Lexer::default().take(line), Some(LogLine::More("  from t".to_owned())));
        assert_eq!(Lexer::default().take("Feb  3 04:05:06 db7 app[77]: [4-1] x"), None);
    }
}
