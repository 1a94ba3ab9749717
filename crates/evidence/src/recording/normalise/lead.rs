//! A time before a line, in the forms in which logs, `ts` and `date` write it.

use crate::recording::Stamp;

/// English names, as the C locale has them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Longest name of a time zone.
const ZONE_CHARS_MAX: usize = 5;

/// A time that a line begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::recording) struct Lead {
    /// With a date where the line has one with a year.
    pub(in crate::recording) at: Stamp,
    /// Bytes that it takes, with one blank behind it.
    pub(in crate::recording) length: usize,
}

/// A text that is read from its start.
#[derive(Clone, Copy)]
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// Takes a text; `false`, and nothing taken, where another one follows.
    fn take(&mut self, text: &str) -> bool {
        self.0.strip_prefix(text).is_some_and(|rest| {
            self.0 = rest;
            true
        })
    }

    /// Takes letters of a kind, from one number to another.
    fn some(&mut self, of: fn(&u8) -> bool, least: usize, most: usize) -> Option<&'a str> {
        let count = self.0.bytes().take(most + 1).take_while(of).count();
        let (found, rest) = self.0.split_at_checked(count)?;
        let fits = (least..=most).contains(&count);
        self.0 = if fits { rest } else { self.0 };
        fits.then_some(found)
    }

    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        self.some(u8::is_ascii_digit, least, most)?.parse().ok()
    }

    /// Takes one of these names; its place, from 1.
    fn name(&mut self, names: &[&str]) -> Option<u32> {
        let at = names.iter().position(|name| self.take(name))?;
        u32::try_from(at + 1).ok()
    }

    /// `05:00:01`, `05:00:01.250`, `05:00:01 PM`.
    fn clock(&mut self) -> Option<Stamp> {
        let mut rest = *self;
        let hour = rest.number(1, 2)?;
        let minute = rest.take(":").then(|| rest.number(2, 2))??;
        let second = rest.take(":").then(|| rest.number(2, 2))??;
        if rest.0.starts_with(['.', ',']) {
            let mut fraction = Rest(rest.0.get(1..)?);
            if fraction.number(1, 9).is_some() {
                rest = fraction;
            }
        }
        let afternoon = [" AM", " PM"].iter().position(|half| rest.take(half));
        let hour = afternoon.map_or(hour, |half| hour % 12 + if half == 1 { 12 } else { 0 });
        *self = rest;
        Stamp::of_day(hour, minute, second)
    }

    /// `2026-11-28`, `2026/11/28`: its midnight. `28.11.2026` and `11/28/2026` are dates, too, but
    /// which of both numbers is the month nothing says (`Some(None)`).
    fn date(&mut self) -> Option<Option<Stamp>> {
        let mut rest = *self;
        let first = rest.some(u8::is_ascii_digit, 1, 4)?;
        let sign = rest.some(|byte| matches!(byte, b'-' | b'/' | b'.'), 1, 1)?;
        let second = rest.number(1, 2)?;
        let third = rest.take(sign).then(|| rest.some(u8::is_ascii_digit, 1, 4))??;
        let (first_is_year, third_is_year) = (first.len() == 4, third.len() == 4);
        *self = rest;
        match (first_is_year, third_is_year) {
            (true, _) => {
                Some(Some(Stamp::midnight(first.parse().ok()?, second, third.parse().ok()?)?))
            }
            (false, true) => Some(None),
            (false, false) => None,
        }
    }

    /// What some put behind a time: `Z`, `+01:00`, and where `date` wrote it ` CET`.
    fn zone(&mut self, by_date: bool) {
        let mut rest = *self;
        let blank = rest.take(" ");
        // Without a day of the week before it that is a heading's word: `05:00:01 CPU %user`.
        let letters = rest.some(u8::is_ascii_uppercase, 1, ZONE_CHARS_MAX);
        let named = letters.is_some_and(|name| if blank { by_date } else { name == "Z" });
        let signed = rest.take("+") || rest.take("-");
        let mut parts = || rest.number(2, 2).is_some() && rest.take(":");
        let offset =
            signed && (parts() && rest.number(2, 2).is_some() || rest.number(4, 4).is_some());
        let ends = rest.0.is_empty() || rest.0.starts_with([' ', ']', ':']);
        if (named != offset) && ends {
            *self = rest;
        }
    }

    /// `Sat `, and `Nov 28 `.
    fn named_date(&mut self) -> Option<(u32, u32)> {
        let mut rest = *self;
        let month = rest.name(&MONTHS)?;
        (rest.take("  ") || rest.take(" ")).then_some(())?;
        let day = rest.number(1, 2).filter(|day| (1..=31).contains(day))?;
        *self = rest;
        Some((month, day))
    }
}

/// The time that a line begins with, in brackets or without, with a colon behind it or without.
pub(in crate::recording) fn lead(line: &str) -> Option<Lead> {
    // Most lines begin with none.
    if !line.starts_with(|c: char| c == '[' || c.is_ascii_uppercase() || c.is_ascii_digit()) {
        return None;
    }
    let mut rest = Rest(line);
    let bracket = rest.take("[");
    let at = epoch(&mut rest).or_else(|| date_and_time(&mut rest))?;
    if bracket != rest.take("]") {
        return None;
    }
    let colon = rest.take(":");
    let blank = rest.take(" ") || rest.take("\t");
    // `05:00:01:x` is something else.
    let ends = blank || rest.0.is_empty();
    (ends || bracket && !colon).then_some(Lead { at, length: line.len() - rest.0.len() })
}

/// Seconds since 1970, perhaps with a fraction.
fn epoch(rest: &mut Rest<'_>) -> Option<Stamp> {
    let mut number = *rest;
    let seconds: i64 = number.some(u8::is_ascii_digit, 10, 10)?.parse().ok()?;
    if number.take(".") {
        number.number(1, 9)?;
    }
    let ends = number.0.is_empty() || number.0.starts_with([' ', '\t', ']']);
    let stamp = Stamp(seconds);
    (ends && stamp.has_date()).then(|| {
        *rest = number;
        stamp
    })
}

fn date_and_time(rest: &mut Rest<'_>) -> Option<Stamp> {
    let by_date = rest.name(&WEEKDAYS).is_some();
    if by_date {
        rest.take(",");
        rest.take(" ").then_some(())?;
    }
    if let Some((month, day)) = rest.named_date() {
        rest.take(" ").then_some(())?;
        let mut year = {
            let mut first = *rest;
            let year = first.number(4, 4).filter(|_| first.take(" "));
            *rest = if year.is_some() { first } else { *rest };
            year
        };
        let clock = rest.clock()?;
        rest.zone(by_date);
        // `date` has the year behind its time.
        let mut last = *rest;
        if year.is_none() && last.take(" ") {
            year = last.number(4, 4).filter(|_| last.0.starts_with([' ', ']', ':']));
            *rest = if year.is_some() { last } else { *rest };
        }
        let midnight = year.and_then(|year| Stamp::midnight(year, month, day));
        return Some(Stamp(midnight.map_or(0, |midnight| midnight.0) + clock.0));
    }
    let date = rest.date();
    if date.is_some() && !(rest.take("T") || rest.take(" ") || rest.take("_")) {
        return None;
    }
    let clock = rest.clock()?;
    rest.zone(by_date);
    Some(Stamp(date.flatten().map_or(0, |midnight| midnight.0) + clock.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_lines() {
        for (line, at, rest) in [
            ("Nov 28 05:00:01  r  b", "05:00:01", " r  b"),
            ("Nov  8 05:00:01.123456 db7 x", "05:00:01", "db7 x"),
            ("05:00:01 14 38", "05:00:01", "14 38"),
            ("05:00:01 PM 14 38", "17:00:01", "14 38"),
            ("05:00:01.250\t14 38", "05:00:01", "14 38"),
            ("2026-11-28T05:00:01+0100 db7 x", "2026-11-28 05:00:01", "db7 x"),
            ("2026-11-28T05:00:01.123456789Z MemTotal", "2026-11-28 05:00:01", "MemTotal"),
            ("2026-11-28 05:00:01,123 x", "2026-11-28 05:00:01", "x"),
            ("2026/11/28 05:00:01: x", "2026-11-28 05:00:01", "x"),
            ("28.11.2026 05:00:01 x", "05:00:01", "x"),
            ("Sat Nov 28 05:00:01 CET 2026 x", "2026-11-28 05:00:01", "x"),
            ("[Sat Nov 28 05:00:01 AM UTC 2026] x", "2026-11-28 05:00:01", "x"),
            ("Sat 2026-11-28 05:00:01 CET db7 x", "2026-11-28 05:00:01", "db7 x"),
            ("[05:00:01] x", "05:00:01", "x"),
            ("05:00:01 PID USER", "05:00:01", "PID USER"),
            ("Nov 28 05:00:01 I believe", "05:00:01", "I believe"),
            ("1795842001.123 x", "2026-11-28 05:00:01", "x"),
            ("2026-11-28T05:00:01+01:00", "2026-11-28 05:00:01", ""),
        ] {
            let found = lead(line).map(|lead| (lead.at.to_string(), &line[lead.length..]));
            assert_eq!(found, Some((at.to_owned(), rest)), "{line}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for line in [
            "",
            "[",
            "Nov",
            "Nov 28",
            "Nov 28 x",
            "14 38 14513660",
            "[12.345678] usb",
            "05:00 x",
            "2026-11-28",
            "05:00:01:7",
            "25:00:01 x",
            "1234567890123 x",
            "[05:00:01 x",
            "Mon x",
            "3.10.0-957.el7.x86_64",
            "12345678901 5",
        ] {
            assert_eq!(lead(line), None, "{line}");
        }
    }
}
