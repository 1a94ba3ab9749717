//! `sar`, `mpstat` and `pidstat`: tables whose rows begin with a time.

use super::banner;
use super::headless;
use super::opening::{Opening, opening};
use super::table::{self, Header, Layout, Wrong};
use super::time;
use super::words::{Cell, cell, is_elision, number, words};
use crate::recording::readers::prelude::*;

/// Most tables whose time is followed at once: `sar -A` has about 60.
const TABLES_MAX: usize = 256;

/// Most averages of one table that are kept: a row for each CPU or disk.
const AVERAGES_MAX: usize = 10_000;

/// `CORE`, `SOCK` and `NODE` of `mpstat -T`.
const TOPOLOGY_COLUMNS: usize = 3;

const HALF_DAY_S: i64 = 43_200;

/// A table that was met, and how far it came.
struct Met {
    /// Its header as written, without the time.
    header: String,
    /// `None` for a table that is passed over.
    layout: Option<Box<Layout>>,
    width: usize,
    /// The last time, in seconds of its day, and that day. None: only averages were met.
    last: Option<i64>,
    day: i64,
    /// Whether it has rows of its own; else the averages are all there is.
    rows: bool,
    averages: Vec<String>,
}

impl Met {
    /// The time of day `at` with its day: a step back by more than half a day is midnight.
    fn at(&mut self, midnight: Option<Stamp>, at: Stamp) -> Stamp {
        let second = at.second_of_day();
        if self.last.is_some_and(|last| second + HALF_DAY_S < last) {
            self.day += 1;
        }
        self.last = Some(second);
        Stamp(midnight.map_or(0, |midnight| midnight.0) + second).days_later(self.day)
    }
}

struct Timed {
    kind: SourceKind,
    midnight: Option<Stamp>,
    tables: Vec<Met>,
    current: Option<usize>,
    /// A table that nobody knows: its rows are mine, and left out.
    unknown: bool,
}

/// Finds the tools' first line, a header with a time, or a restart.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let Opening { banner, at } = opening(lines);
    let line = lines.ahead(at);
    let command = Some(out.latest_command()).filter(|command| !command.is_empty());
    if let Some((kind, header)) = command.and_then(|typed| headless::known(typed, row_of(line))) {
        out.begin(kind, lines.number());
        let mut reader = Timed::new(kind, None);
        reader.header(None, &header, out);
        return Some(Box::new(reader));
    }
    let kind = match stamped(line) {
        Some((_, rest)) if is_restart(rest) => SourceKind::SarText,
        Some((_, rest)) => {
            let words = words(rest);
            match table::header(&words) {
                Some(_) => tool(&words)?,
                // Below a first line even a table that nobody knows is sar's.
                None => banner.as_ref().map(|_| SourceKind::SarText)?,
            }
        }
        // A recording of which nothing is left but its first line is `sar`'s as much as another's.
        None => tool(&words(header_of_averages(line)?))?,
    };
    if let Some(banner) = &banner {
        out.host(banner.host());
    }
    out.begin(kind, lines.number());
    if let Some(banner) = &banner {
        banner.put(out);
    }
    Some(Box::new(Timed::new(kind, banner.and_then(|banner| banner.date))))
}

/// What stands behind the time of a row, or behind the word for averages.
fn row_of(line: &str) -> &str {
    let average = || {
        let (word, rest) = line.split_once(':')?;
        word.chars().all(|c| c.is_alphabetic() || c == '.' || c.is_whitespace()).then_some(rest)
    };
    stamped(line).map(|(_, rest)| rest).or_else(average).unwrap_or_default()
}

/// The tool that prints such a header; `sar` for a table that is known to have no fields.
fn tool(words: &[&str]) -> Option<SourceKind> {
    let place = |wanted: &str| words.iter().position(|word| *word == wanted);
    if place("Command").is_some() {
        return Some(SourceKind::Pidstat);
    }
    // mpstat shows interrupts before the steal time, sar behind it; versions of mpstat before 8
    // have no steal time.
    let order = match (place("%irq"), place("%steal")) {
        (Some(irq), steal) => steal.is_none_or(|steal| irq < steal),
        _ => false,
    };
    let per_cpu = words.first() == Some(&"CPU") && words.iter().skip(1).all(|w| w.ends_with("/s"));
    let softnet = place("squeezd/s").is_some();
    Some(if order || (per_cpu && !softnet) { SourceKind::Mpstat } else { SourceKind::SarText })
}

/// A time and what follows it; `pidstat -h` has the word `Time` in its headers instead, and
/// versions up to 11 count seconds since 1970 below it.
fn stamped(line: &str) -> Option<(Option<Stamp>, &str)> {
    // `pidstat -H` counts seconds since 1970 in its header as well.
    let epoch = || epoch(line).filter(|(_, rest)| table::header(&words(rest)).is_some());
    if let Some((at, rest)) = time::time(line).or_else(epoch) {
        return Some((Some(at), rest));
    }
    let header = line.trim_start().strip_prefix('#')?;
    Some((None, header.trim_start().strip_prefix("Time")?))
}

/// Seconds since 1970 at the start of a row of `pidstat -h`.
fn epoch(line: &str) -> Option<(Stamp, &str)> {
    let line = line.trim_start();
    let (digits, rest) = line.split_once(char::is_whitespace)?;
    if digits.len() != 10 {
        return None;
    }
    let stamp = Stamp(digits.parse().ok()?);
    stamp.has_date().then_some((stamp, rest))
}

/// The header of a block of averages, without the word for them: `Average:  CPU  %usr`. A program
/// that pastes the end of a listing has such blocks only.
fn header_of_averages(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(':')?;
    let brief = (1..=2).contains(&word.split_whitespace().count());
    // Not `avg-cpu:` of iostat.
    let text = word.chars().all(|c| c.is_alphabetic() || c == '.' || c.is_whitespace());
    (brief && text && table::header(&words(rest)).is_some()).then_some(rest)
}

/// A cell with a number, or what may be the beginning of one or of a row.
fn is_figure(word: &str) -> bool {
    word == "all" || !matches!(cell(word), Cell::Bad)
}

fn is_restart(rest: &str) -> bool {
    rest.trim_start().starts_with("LINUX RESTART")
}

impl Timed {
    const fn new(kind: SourceKind, midnight: Option<Stamp>) -> Self {
        Self { kind, midnight, tables: Vec::new(), current: None, unknown: false }
    }

    /// A header: the table is met, or met again.
    fn header(&mut self, at: Option<Stamp>, text: &str, out: &mut Builder) -> Option<Taken> {
        let text = text.trim();
        let known = self.tables.iter().position(|met| met.header == text);
        if let Some(known) = known {
            self.current = Some(known);
            self.unknown = false;
            if let Some((met, at)) = self.tables.get_mut(known).zip(at) {
                met.at(self.midnight, at);
            }
            return Some(Taken::Yes);
        }
        let words = words(text);
        let (layout, width) = match table::header(&words) {
            Some(Header::Table(layout)) => {
                if tool(&words) != Some(self.kind) {
                    return Some(Taken::No);
                }
                let width = layout.width();
                (Some(layout), width)
            }
            Some(Header::Passed(width)) => (None, width),
            None => return self.unknown_header(&words, out),
        };
        if self.tables.len() >= TABLES_MAX {
            self.tables.clear();
        }
        let (header, last) = (text.to_owned(), at.map(Stamp::second_of_day));
        let (rows, averages) = (false, Vec::new());
        self.tables.push(Met { header, layout, width, last, day: 0, rows, averages });
        self.current = Some(self.tables.len() - 1);
        self.unknown = false;
        Some(Taken::Yes)
    }

    /// A line that looks like a header and is not known. `None`: it is no header.
    fn unknown_header(&mut self, words: &[&str], out: &mut Builder) -> Option<Taken> {
        let numbers = words.iter().any(|word| number(word).is_some());
        let columns = words.iter().filter(|word| word.ends_with("/s") || word.starts_with('%'));
        let subject = words.first().is_some_and(|first| {
            matches!(*first, "CPU" | "DEV" | "IFACE" | "INTR" | "UID" | "USER")
        });
        if numbers || words.is_empty() || (!subject && columns.count() * 2 < words.len()) {
            return None;
        }
        let text: String = words.join(" ").chars().take(60).collect();
        out.problem(format!("a table with columns that are not known: {text}; it is left out"));
        (self.current, self.unknown) = (None, true);
        Some(Taken::Yes)
    }

    /// Keeps the average of a table of which somebody pasted nothing else.
    fn keep_average(&mut self, line: &str) {
        let Some(met) = self.current.and_then(|current| self.tables.get_mut(current)) else {
            return;
        };
        let (word, row) = line.split_once(':').unwrap_or_default();
        // `sar -x` has the extremes beside the average.
        if matches!(word, "Minimum" | "Maximum") {
            return;
        }
        if !words(row).iter().any(|word| is_figure(word)) {
            // The header of a table that nobody knows: what follows is none of the one before.
            self.current = None;
            return;
        }
        if !met.rows && met.averages.len() < AVERAGES_MAX && words(row).len() >= met.width {
            met.averages.push(row.to_owned());
        }
    }

    fn restart(&mut self, at: Stamp, rest: &str, out: &mut Builder) {
        let met = self.current.and_then(|current| self.tables.get_mut(current));
        let at = match met {
            Some(met) => met.at(self.midnight, at),
            None => Stamp(self.midnight.map_or(0, |midnight| midnight.0) + at.second_of_day()),
        };
        out.restart(Some(at));
        // `LINUX RESTART (8 CPU)` since version 10.
        let cpus = rest.split_once('(').and_then(|(_, inside)| {
            inside.split_whitespace().next()?.parse::<u32>().ok().filter(|cpus| *cpus > 0)
        });
        out.put_known(Field::CpuCount, &Subject::Machine, Some(at), cpus.map(f64::from));
    }

    fn row(&mut self, at: Stamp, rest: &str, out: &mut Builder) -> Taken {
        if self.unknown {
            return Taken::Yes;
        }
        let Some(met) = self.current.and_then(|current| self.tables.get_mut(current)) else {
            return Taken::No;
        };
        let mut words = words(rest);
        // `mpstat -T` leaves the places of all CPUs together blank.
        if words.first() == Some(&"all") && met.header.contains(" CORE ") {
            words.splice(1..1, ["-"; TOPOLOGY_COLUMNS]);
        }
        let stamp = if at.has_date() { at } else { met.at(self.midnight, at) };
        met.rows = true;
        let Some(layout) = &mut met.layout else { return Taken::Yes };
        match layout.put(&words, Some(stamp), out) {
            Ok(()) => {}
            // Prose that begins with a time has hardly a number where the table has one.
            Err(_) if !words.is_empty() && !words.iter().any(|word| is_figure(word)) => {
                return Taken::No;
            }
            Err(Wrong::Truncated) => out.problem(format!(
                "truncated: a row of {} of {} columns, or with a number cut short; it is left out",
                words.len().min(met.width),
                met.width
            )),
            Err(wrong) => out.problem(wrong.text()),
        }
        Taken::Yes
    }

    /// Rows of averages begin with a word in the user's language and a colon, and are left out.
    fn is_average(&self, line: &str) -> bool {
        if self.tables.is_empty() && !self.unknown {
            return false;
        }
        let words = words(line);
        // French has a blank before the colon.
        let ends = |word: &&str| word.ends_with(':');
        let Some(colon) = words.iter().take(3).position(ends) else { return false };
        let Some(rest) = words.get(colon + 1..) else { return false };
        if words.first() == Some(&"Average:") {
            return true;
        }
        let numbers = rest.iter().filter(|word| is_figure(word)).count();
        // The averages of all tables stand together at the end. One of a single column is too
        // much like a setting.
        let like = |met: &Met| {
            rest.len() >= met.width && met.width >= 2 && numbers + 2 >= rest.len().min(met.width)
        };
        self.tables.iter().any(like)
    }
}

impl Reader for Timed {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let stamped = stamped(line).or_else(|| {
            // Only below a header of `pidstat -h`, or with `-U`.
            let counts = [SourceKind::Pidstat, SourceKind::Mpstat].contains(&self.kind);
            let found = epoch(line).filter(|_| counts);
            if found.is_some() {
                out.clock(Clock::Utc);
            }
            found.map(|(at, rest)| (Some(at), rest))
        });
        let Some((at, rest)) = stamped else { return self.untimed(line, out) };
        let Some(at) = at else { return self.header(None, rest, out).unwrap_or(Taken::No) };
        let first = rest.trim_start();
        if is_restart(first) {
            self.restart(at, first, out);
            return Taken::Yes;
        }
        // `sar -C`: a comment.
        if first.starts_with("COM ") {
            return Taken::Yes;
        }
        let digit = |c: char| c.is_ascii_digit() || c == '-';
        // The last word of a header is never a number; that of most rows is one.
        let ends = rest.trim_end().ends_with(digit) && first.starts_with(|c| digit(c) || c == 'a');
        if !ends && let Some(taken) = self.header(Some(at), rest, out) {
            return taken;
        }
        self.row(at, rest, out)
    }

    fn end(&mut self, out: &mut Builder) {
        for met in self.tables.iter_mut().filter(|met| !met.rows) {
            let midnight = self.midnight.map_or(0, |midnight| midnight.0);
            let at = met.last.map(|last| Stamp(midnight + last).days_later(met.day));
            let Some(layout) = &mut met.layout else { continue };
            for row in std::mem::take(&mut met.averages) {
                // A row that is none says so where there are others; here it is left out.
                let _ = layout.put(&words(&row), at, out);
            }
        }
    }
}

impl Timed {
    fn untimed(&mut self, line: &str, out: &mut Builder) -> Taken {
        let text = line.trim();
        if text.is_empty() || is_elision(text) {
            return Taken::Yes;
        }
        if let Some(header) = header_of_averages(text) {
            return self.header(None, header, out).unwrap_or(Taken::No);
        }
        if self.is_average(text) {
            self.keep_average(text);
            return Taken::Yes;
        }
        if banner::is_banner(text) {
            // The reader's own first line; another one belongs to another run.
            return if self.tables.is_empty() && self.current.is_none() && !self.unknown {
                Taken::Yes
            } else {
                Taken::No
            };
        }
        if time::is_torn(text) && self.current.is_some() {
            out.problem("truncated: a row's time is cut short");
            return Taken::Yes;
        }
        Taken::No
    }
}
