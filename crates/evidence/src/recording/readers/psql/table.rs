//! Rows of `psql`'s tables, whatever their form.

use crate::recording::readers::prelude::*;
use std::collections::BTreeMap;

/// Most columns: `pg_stat_statements` of PostgreSQL 17 has 49.
const COLUMNS_MAX: usize = 100;
/// Longest value that is kept, in characters.
const VALUE_CHARS_MAX: usize = 400;
/// Longest header, and longest row of CSV that has several lines.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// Most lines of one row: a statement may have many.
const ROW_LINES_MAX: usize = 2000;

/// How it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Between `|`, under a header with a line below it.
    Aligned,
    /// One value a line, under `-[ RECORD 1 ]`.
    Expanded,
    /// Between `|` without blanks: a header and no line below it.
    Unaligned,
    /// With commas and quotes.
    Csv,
    /// It was given up: a row did not end.
    Cut,
}

/// A row: values by column; empty ones are left out, which are NULL or nothing.
pub(in super::super) type Row = BTreeMap<String, String>;

/// The value of the first of these columns that has one.
pub(super) fn text<'a>(row: &'a Row, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| row.get(*name)).map(String::as_str)
}

/// A table that is being read.
pub(in super::super) struct Table {
    pub(super) form: Form,
    pub(in super::super) columns: Vec<String>,
    /// The row that is not yet complete.
    open: Row,
    /// Of CSV, the text of a row whose quotes are open.
    text: String,
    /// Whether they are.
    quoted: bool,
    lines: usize,
    /// Of expanded rows, whose value the next line may continue.
    latest: Option<String>,
    over: bool,
}

/// The line with the bars of all styles and borders as `|`, the outer ones left out.
fn barred(line: &str) -> String {
    let text = line.replace(['\u{2502}', '\u{2551}'], "|");
    let text = text.trim();
    let inner = text.strip_prefix("| ").and_then(|text| text.strip_suffix('|'));
    inner.map_or_else(|| text.to_owned(), str::to_owned)
}

/// Whether it is a line of a table's frame: `----+----`.
fn ruled(line: &str) -> bool {
    let line = line.trim();
    let frame = |c: char| "-+|=".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c);
    line.chars().count() >= 3 && line.chars().all(frame)
}

/// `-[ RECORD 1 ]---+---`, in whatever language: the head of an expanded row.
fn record(line: &str) -> bool {
    let line =
        line.trim().trim_start_matches(['-', '\u{2500}', '+', '\u{250c}', '\u{251c}', '*', ' ']);
    let inner = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    inner.is_some_and(|(inside, rest)| {
        let ruled =
            rest.chars().all(|c| "-+* ".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c));
        let number = inside.split_whitespace().last().and_then(count);
        number.is_some() && inside.split_whitespace().count() >= 2 && ruled
    })
}

/// `(3 rows)` in whatever language.
fn footer(line: &str) -> bool {
    let inner = line.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let mut words = inner.split_whitespace();
        words.next().and_then(count).is_some() && words.count() == 1
    })
}

fn is_name(word: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"_?. ".contains(&byte);
    !word.is_empty() && word.len() <= 64 && word.bytes().all(usual)
}

/// The names of a header, where all of them are names.
fn names(line: &str, by: char) -> Option<Vec<String>> {
    let all: Vec<String> = line.split(by).map(|word| word.trim().to_owned()).collect();
    (all.len() <= COLUMNS_MAX && all.iter().all(|name| is_name(name))).then_some(all)
}

/// The values of a row of CSV; `None` where its quotes are open.
fn csv(text: &str) -> Option<Vec<String>> {
    let (mut all, mut value, mut quoted) = (Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                value.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut value)),
            _ => value.push(c),
        }
    }
    all.push(value);
    (!quoted).then_some(all)
}

impl Table {
    /// A table whose header stands here.
    pub(in super::super) fn begins(lines: &Lines<'_>) -> Option<Self> {
        let line = lines.ahead(0);
        if line.len() > HEADER_BYTES_MAX {
            return None;
        }
        let with = |form, columns| Self {
            form,
            columns,
            open: Row::new(),
            text: String::new(),
            quoted: false,
            lines: 0,
            latest: None,
            over: false,
        };
        if record(line) {
            let columns = (1..=super::super::LINES_AROUND)
                .map(|by| barred(lines.ahead(by)))
                .take_while(|line| !line.is_empty() && !record(line))
                .filter_map(|line| Some(line.split_once('|')?.0.trim().to_owned()))
                .filter(|name| is_name(name));
            return Some(with(Form::Expanded, columns.collect()));
        }
        // With a border the frame comes first.
        if ruled(line) && line.contains('+') {
            let bar = barred(lines.ahead(1));
            return names(&bar, '|').filter(|all| all.len() > 1).map(|c| with(Form::Aligned, c));
        }
        let bar = barred(line);
        if bar.contains('|') {
            let form = if ruled(lines.ahead(1)) { Form::Aligned } else { Form::Unaligned };
            return names(&bar, '|').map(|columns| with(form, columns));
        }
        line.contains(',').then(|| names(line.trim(), ',').map(|c| with(Form::Csv, c)))?
    }

    /// Whether the line is no more of it.
    pub(in super::super) fn is_over(&self, line: &str) -> bool {
        self.over && !line.trim().is_empty() && !record(line)
    }

    fn named(&self, values: impl Iterator<Item = String>) -> Row {
        let cut = |value: String| value.trim().chars().take(VALUE_CHARS_MAX).collect::<String>();
        let pairs = self.columns.iter().cloned().zip(values.map(cut));
        pairs.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The values of a line between bars. A statement may contain some itself: of too many the last
    /// column has the rest.
    fn between(&self, line: &str) -> Option<Row> {
        let values: Vec<&str> = line.splitn(self.columns.len(), '|').collect();
        let all = values.len() == self.columns.len();
        all.then(|| self.named(values.iter().map(|value| (*value).to_owned())))
    }

    /// Takes a line; the row that it completes. `None`: it is not of this table.
    pub(in super::super) fn take(&mut self, line: &str) -> Option<Option<Row>> {
        self.lines += 1;
        if self.lines > ROW_LINES_MAX && !self.text.is_empty() {
            self.form = Form::Cut;
        }
        if footer(line) {
            self.over = true;
            return Some(None);
        }
        match self.form {
            Form::Expanded => self.expanded(line),
            Form::Aligned | Form::Unaligned => self.barred(line),
            Form::Csv => self.csv(line),
            Form::Cut => None,
        }
    }

    fn barred(&mut self, line: &str) -> Option<Option<Row>> {
        // The header itself.
        if self.lines == 1 || ruled(line) {
            return Some(None);
        }
        if line.trim().is_empty() {
            self.over = true;
            return Some(None);
        }
        let bar = barred(line);
        let row = self.between(&bar).or_else(|| {
            // The rest of a value of several lines, which ended with `+`.
            (!self.open.is_empty() && self.form == Form::Unaligned).then(Row::new)
        })?;
        if self.columns.iter().all(|name| row.get(name) == Some(name)) {
            return Some(None);
        }
        let first = self.columns.first()?;
        let goes_on = self.open.values().any(|value| value.ends_with('+'));
        if goes_on && !row.contains_key(first) {
            for (name, value) in row {
                if let Some(before) = self.open.get_mut(&name) {
                    joined(before, &value);
                }
            }
            return Some(None);
        }
        Some(Some(std::mem::replace(&mut self.open, row)).filter(|row| !row.is_empty()))
    }

    fn expanded(&mut self, line: &str) -> Option<Option<Row>> {
        if record(line) {
            self.over = false;
            self.latest = None;
            let row = std::mem::take(&mut self.open);
            return Some(Some(row).filter(|row| !row.is_empty()));
        }
        if line.trim().is_empty() {
            self.over = true;
            return Some(None);
        }
        if ruled(line) {
            return Some(None);
        }
        let bar = barred(line);
        let (name, value) = bar.split_once('|')?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() {
            let before = self.latest.as_ref().and_then(|name| self.open.get_mut(name))?;
            joined(before, value);
            return Some(None);
        }
        if !is_name(name) || self.open.len() >= COLUMNS_MAX {
            return None;
        }
        self.latest = Some(name.to_owned());
        if !value.is_empty() {
            let value = value.chars().take(VALUE_CHARS_MAX).collect();
            self.open.insert(name.to_owned(), value);
        }
        Some(None)
    }

    fn csv(&mut self, line: &str) -> Option<Option<Row>> {
        if self.lines == 1 {
            return Some(None);
        }
        if line.trim().is_empty() && self.text.is_empty() {
            self.over = true;
            return Some(None);
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(line);
        // Doubled quotes inside of quotes leave it as it was.
        self.quoted ^= line.bytes().filter(|byte| *byte == b'"').count() % 2 == 1;
        if self.quoted && self.text.len() <= HEADER_BYTES_MAX {
            return Some(None);
        }
        let Some(values) = csv(&self.text) else {
            self.form = Form::Cut;
            return Some(None);
        };
        self.text.clear();
        self.lines = 2;
        (values.len() == self.columns.len()).then(|| Some(self.named(values.into_iter())))
    }

    /// The row that nothing completed.
    pub(in super::super) fn last(&mut self) -> Option<Row> {
        Some(std::mem::take(&mut self.open)).filter(|row| !row.is_empty())
    }
}

/// Continues a value of several lines.
fn joined(before: &mut String, more: &str) {
    let end = before.trim_end_matches('+').trim_end().len();
    before.truncate(end);
    let room = VALUE_CHARS_MAX.saturating_sub(before.chars().count());
    before.push(' ');
    before.extend(more.chars().take(room));
}
