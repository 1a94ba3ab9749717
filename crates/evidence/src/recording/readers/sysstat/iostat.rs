//! `iostat`: reports of an `avg-cpu` block, a `Device` block or both, with or without a time.

use super::opening::{Opening, SAMPLE_LINES, has_comma, opening};
use super::table::{self, Header, Layout};
use super::words::{is_elision, number, words};
use super::{banner, time};
use crate::recording::readers::prelude::*;
use crate::recording::readers::prompt::prompt;

/// A value that waits until it is known whether it is part of an interval.
type Waiting = (Field, Subject, Option<Stamp>, f64);

/// Which block a header begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Cpu,
    Devices,
}

struct Iostat {
    comma: bool,
    /// Lines until the first table is reached.
    lead: usize,
    /// Headers as written, with their layouts: at most [`HEADERS_MAX`].
    layouts: Vec<(String, Box<Layout>)>,
    /// The layout of the rows that follow now.
    current: Option<(usize, Block)>,
    /// The header that begins a report.
    first: Option<String>,
    /// How far the header is indented, and whether a device of its block was met.
    indent: usize,
    members: bool,
    /// Columns of a block that is passed over, such as that of discards in `iostat -xh`.
    passed: Option<usize>,
    at: Option<Stamp>,
    /// Values of a report that shows the time since the machine started, if another one follows.
    /// `None` when that is not so.
    waiting: Option<Vec<Waiting>>,
    /// Values for which there was no room there.
    left_out: usize,
    /// Name of a device whose values are on the next line, as `iostat -h` up to version 11 has it.
    named: Option<String>,
}

/// Most values of a first report that wait: 5,000 disks have as many.
const WAITING_MAX: usize = 100_000;

const HEADERS_MAX: usize = 64;

pub(in crate::recording::readers) const MOMENT_BYTES_MAX: usize = 100;

/// Finds the tool's first line, or a block's header.
pub(in crate::recording::readers) fn begins(
    lines: &Lines<'_>,
    out: &mut Builder,
) -> Option<Box<dyn Reader>> {
    let Opening { banner, mut at } = opening(lines);
    let dated = moment(lines.ahead(at), false).is_some();
    if dated {
        at += 1;
    }
    header(lines.ahead(at))?;
    let comma = (0..SAMPLE_LINES).any(|by| has_comma(lines.ahead(at + by)));
    let first_is_since_boot = banner.is_some() && is_direct(lines, at - usize::from(dated));
    if let Some(banner) = &banner {
        out.host(banner.host());
    }
    out.begin(SourceKind::Iostat, lines.number());
    if let Some(banner) = &banner {
        banner.put(out);
    }
    Some(Box::new(Iostat {
        comma,
        lead: at,
        layouts: Vec::new(),
        current: None,
        first: None,
        indent: 0,
        members: false,
        passed: None,
        at: None,
        waiting: first_is_since_boot.then(Vec::new),
        named: None,
        left_out: 0,
    }))
}

/// Whether the first report follows the tool's first line directly, and so shows the time since
/// the machine started. `iostat -y`, which leaves that report out, prints two blank lines there; a
/// text with dots there has lost it.
fn is_direct(lines: &Lines<'_>, at: usize) -> bool {
    let dots = (1..at).any(|by| is_elision(lines.ahead(by)));
    !dots && at != 3
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn header(line: &str) -> Option<(Block, Box<Layout>)> {
    let words = words(line);
    let (block, rest) = match words.split_first() {
        Some((&"avg-cpu:", rest)) => (Block::Cpu, rest),
        _ if words.iter().any(|word| matches!(*word, "Device" | "Device:")) => {
            (Block::Devices, words.as_slice())
        }
        _ => return None,
    };
    match table::header(rest)? {
        Header::Table(layout) => Some((block, layout)),
        Header::Passed(_) => None,
    }
}

/// The columns of a block of `iostat -xh` that has nothing of use.
fn unused(line: &str) -> Option<usize> {
    let words = words(line);
    let device = words.last().is_some_and(|word| *word == "Device");
    (device && words.first() == Some(&"d/s")).then_some(words.len())
}

/// The line of `iostat -t`: a date and a time, or `Time: 08:32:50`.
pub(in crate::recording::readers) fn moment(line: &str, comma: bool) -> Option<Stamp> {
    let line = line.trim();
    // Longer than any date with a time, in any language.
    if line.len() > MOMENT_BYTES_MAX {
        return None;
    }
    if let Some((_, clock)) = line.split_once("Time:") {
        return time::time(clock).map(|(at, _)| at);
    }
    // ISO 8601: 2026-11-22T03:43:13+0000.
    let (date, clock) = match line.split_once('T') {
        Some((date, clock)) if date.starts_with(|c: char| c.is_ascii_digit()) => (date, clock),
        _ => split_clock(line)?,
    };
    let midnight = banner::date(date, comma)?;
    let clock = clock.get(..8).filter(|_| clock.get(8..9).is_some_and(|z| "+-Z".contains(z)));
    let at = match clock {
        Some(clock) => time::time(clock)?.0,
        None => {
            let clock = line.get(date.len()..)?.trim_start_matches('T');
            let (at, rest) = time::time(clock)?;
            if !rest.trim().is_empty() {
                return None;
            }
            at
        }
    };
    Some(Stamp(midnight.0 + at.second_of_day()))
}

/// Parts a date from the time behind it.
fn split_clock(line: &str) -> Option<(&str, &str)> {
    let blanks = line.char_indices().filter(|(_, c)| c.is_whitespace());
    let mut ends = blanks.map(|(at, _)| line.split_at(at));
    ends.find(|(_, clock)| time::time(clock).is_some())
}

impl Iostat {
    fn begin_block(&mut self, line: &str, block: Block, layout: Box<Layout>) {
        let known = self.layouts.iter().position(|(text, _)| text == line);
        let place = known.unwrap_or_else(|| {
            if self.layouts.len() >= HEADERS_MAX {
                self.layouts.clear();
            }
            self.layouts.push((line.to_owned(), layout));
            self.layouts.len() - 1
        });
        // The header that began the first report begins the next one.
        let second = self.first.as_deref() == Some(line);
        self.first.get_or_insert_with(|| line.to_owned());
        self.passed = None;
        if second {
            (self.waiting, self.left_out) = (None, 0);
        }
        self.current = Some((place, block));
    }

    fn row(&mut self, line: &str, out: &mut Builder) -> Taken {
        let words = words(line);
        let Some((place, block)) = self.current else { return Taken::No };
        let Some((_, layout)) = self.layouts.get_mut(place) else { return Taken::No };
        let numbers = words.iter().filter(|word| number(word).is_some()).count();
        // A long name stands alone, its values on the next line.
        if block == Block::Devices && words.len() == 1 && numbers == 0 && layout.width() > 2 {
            if !is_device(line) {
                return Taken::No;
            }
            self.named = words.first().map(|word| (*word).to_owned());
            return Taken::Yes;
        }
        let named = self.named.take();
        let mut cells = words;
        if let Some(name) = &named {
            cells.insert(0, name);
        }
        let (at, waiting) = (self.at, &mut self.waiting);
        let put = match waiting {
            Some(waiting) => layout.row(&cells, |field, subject, value| {
                if waiting.len() < WAITING_MAX {
                    waiting.push((field, subject.clone(), at, value));
                } else {
                    self.left_out += 1;
                }
            }),
            None => layout.put(&cells, at, out),
        };
        match put {
            Ok(()) => Taken::Yes,
            // A row has a name, and then numbers.
            Err(_) if numbers * 2 < cells.len().min(layout.width()) => Taken::No,
            Err(wrong) => {
                out.problem(wrong.text());
                Taken::Yes
            }
        }
    }
}

/// Whether a lone word may be a device's name, rather than prose.
fn is_device(line: &str) -> bool {
    let name = line.trim();
    let sign = |c: char| c.is_ascii_alphanumeric() || "/-_!.:".contains(c);
    let usual = ["sd", "hd", "vd", "xvd"].iter().any(|start| name.starts_with(start));
    let telling = name.contains(|c: char| c.is_ascii_digit() || c == '/') || name.len() > 16;
    name.chars().all(sign) && !name.ends_with(['.', ':']) && (telling || (usual && name.len() < 7))
}

impl Reader for Iostat {
    fn take(&mut self, line: &str, out: &mut Builder) -> Taken {
        let text = line.trim();
        if self.lead > 0 {
            self.lead -= 1;
            if let Some(at) = moment(text, self.comma) {
                self.at = Some(at);
            }
            return Taken::Yes;
        }
        if text.is_empty() || is_elision(text) {
            return Taken::Yes;
        }
        if let Some((block, layout)) = header(text) {
            (self.indent, self.members) = (indent(line), false);
            self.begin_block(text, block, layout);
            return Taken::Yes;
        }
        if let Some(width) = unused(text) {
            self.passed = Some(width);
            return Taken::Yes;
        }
        if self.passed.is_some_and(|width| words(text).len() == width) {
            return Taken::Yes;
        }
        if banner::is_banner(text) {
            return Taken::No;
        }
        if let Some(at) = moment(text, self.comma) {
            self.at = Some(at);
            return Taken::Yes;
        }
        // `db1$ iostat`: as many words as a cut row.
        if prompt(line).is_some() {
            return Taken::No;
        }
        // `iostat -g` sums up the devices of a group below them, and indents its name.
        let named = text.split_whitespace().next().is_some_and(|word| number(word).is_none());
        if named && indent(line) > self.indent && self.members {
            return Taken::Yes;
        }
        self.members |= named;
        self.row(text, out)
    }

    fn end(&mut self, out: &mut Builder) {
        // No other report follows: this one is all there is.
        for (field, subject, at, value) in self.waiting.take().unwrap_or_default() {
            out.put(field, &subject, at, value);
        }
        if self.left_out > 0 {
            let more = self.left_out;
            out.cut(format!("more than {WAITING_MAX} values in a report: {more} are left out"));
        }
    }
}
