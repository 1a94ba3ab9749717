//! When a request began or ended, as logs write it.
//!
//! Forms: the Common Log Format (`18/Sep/2011:19:18:28 -0400`, HAProxy's with milliseconds and
//! without a zone), ISO 8601, and seconds since 1970 with whatever unit. Sources: Apache's
//! `mod_log_config` (`%t`), nginx's `ngx_http_log_module` (`$time_local`, `$time_iso8601`,
//! `$msec`), HAProxy's configuration manual 8.2.3 and 8.2.6.

use hugewise_base::calendar::{DAY_S, days};

/// A moment as a log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogTime {
    /// Milliseconds since 1970: of UTC where the zone is known, else as the clock on the wall
    /// showed it.
    pub(super) ms: i64,
    /// The zone, seconds east of Greenwich; `None`: not said.
    pub(super) zone_s: Option<i64>,
    /// Whether [`LogTime::ms`] is UTC: a zone was said, or it is a count since 1970.
    pub(super) utc: bool,
}

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Years that a log can be of: a number that gives another one is no time.
const YEARS: std::ops::RangeInclusive<i64> = 1990..=2200;

/// Reads from left to right.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let mut number = 0;
        for digit in digits {
            number = number * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        }
        self.0 = rest;
        Some(number)
    }

    fn take(&mut self, any: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        any.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn month(&mut self) -> Option<i64> {
        let (name, rest) = self.0.split_at_checked(3)?;
        let month = MONTHS.iter().position(|known| name.eq_ignore_ascii_case(*known))?;
        self.0 = rest;
        i64::try_from(month + 1).ok()
    }

    /// `19:18:28` with an optional fraction, in milliseconds since midnight.
    fn clock_ms(&mut self) -> Option<i64> {
        let hour = self.digits(2)?;
        self.take(b":")?;
        let minute = self.digits(2)?;
        let mut second = 0;
        if self.take(b":").is_some() {
            second = self.digits(2)?;
        }
        let ms = self.fraction_ms();
        // 60 is a leap second.
        let real = hour < 24 && minute < 60 && second <= 60;
        real.then_some(((hour * 60 + minute) * 60 + second) * 1000 + ms)
    }

    fn fraction_ms(&mut self) -> i64 {
        if self.take(b".,").is_none() {
            return 0;
        }
        let (mut ms, mut unit) = (0, 100);
        while let Some(digit) = self.take(b"0123456789") {
            ms += i64::from(digit - b'0') * unit;
            unit /= 10;
        }
        ms
    }

    /// `Z`, `+0200`, `+02:00`, `-04`, also behind a blank; `None` where there is none.
    fn zone_s(&mut self) -> Option<i64> {
        let before = self.0;
        let _ = self.take(b" ");
        let zone = self.zone();
        if zone.is_none() {
            self.0 = before;
        }
        zone
    }

    fn zone(&mut self) -> Option<i64> {
        let east = match self.take(b"Zz+-")? {
            b'-' => -1,
            b'+' => 1,
            _ => return Some(0),
        };
        let hours = self.digits(2)?;
        let colon = self.take(b":").is_some();
        let minutes = match self.digits(2) {
            Some(minutes) => minutes,
            None if colon => return None,
            None => 0,
        };
        (hours <= 15 && minutes < 60).then_some(east * (hours * 3600 + minutes * 60))
    }
}

/// A moment in any of the forms; `None`: it is none, or something follows it.
pub(super) fn moment(text: &[u8]) -> Option<LogTime> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"[").unwrap_or(text);
    let text = text.strip_suffix(b"]").unwrap_or(text);
    match (text.get(2), text.get(4)) {
        (Some(b'/'), _) => common(text),
        (_, Some(b'-' | b'/')) => iso(text),
        _ => since_1970(text),
    }
}

/// `18/Sep/2011:19:18:28 -0400`.
fn common(text: &[u8]) -> Option<LogTime> {
    let mut cursor = Cursor(text);
    let day = cursor.digits(2)?;
    cursor.take(b"/")?;
    let month = cursor.month()?;
    cursor.take(b"/")?;
    let year = cursor.digits(4)?;
    cursor.take(b": ")?;
    finish(cursor, year, month, day)
}

/// `2011-09-18T19:18:28+02:00`.
fn iso(text: &[u8]) -> Option<LogTime> {
    let mut cursor = Cursor(text);
    let year = cursor.digits(4)?;
    cursor.take(b"-/")?;
    let month = cursor.digits(2)?;
    cursor.take(b"-/")?;
    let day = cursor.digits(2)?;
    cursor.take(b"Tt ")?;
    finish(cursor, year, month, day)
}

fn finish(mut cursor: Cursor<'_>, year: i64, month: i64, day: i64) -> Option<LogTime> {
    let real = YEARS.contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !real {
        return None;
    }
    let clock_ms = cursor.clock_ms()?;
    let zone_s = cursor.zone_s();
    if !cursor.0.is_empty() {
        return None;
    }
    let local_ms = days(year, month, day) * DAY_S * 1000 + clock_ms;
    Some(LogTime { ms: local_ms - zone_s.unwrap_or(0) * 1000, zone_s, utc: zone_s.is_some() })
}

/// Seconds since 1970, or milli-, micro- or nanoseconds: known by their size, which no two of them
/// share from 1990 to 2200.
fn since_1970(text: &[u8]) -> Option<LogTime> {
    let whole = text.iter().position(|c| *c == b'.').unwrap_or(text.len());
    let (digits, fraction) = text.split_at_checked(whole)?;
    if !(9..=19).contains(&digits.len()) {
        return None;
    }
    let mut cursor = Cursor(digits);
    let number = cursor.digits(digits.len())?;
    let mut fraction = Cursor(fraction);
    let fraction_ms = fraction.fraction_ms();
    if !fraction.0.is_empty() {
        return None;
    }
    let ms = match digits.len() {
        9..=10 => number * 1000 + fraction_ms,
        11..=13 => number,
        14..=16 => number / 1000,
        _ => number / 1_000_000,
    };
    let year = 1970 + ms / 1000 / DAY_S / 365;
    YEARS.contains(&year).then_some(LogTime { ms, zone_s: None, utc: true })
}

/// A zone as a user gives it: `+01:00`, `-0400`, `UTC`; seconds east of Greenwich.
pub fn zone_s(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("utc") {
        return Some(0);
    }
    let mut cursor = Cursor(text.as_bytes());
    let zone = cursor.zone()?;
    cursor.0.is_empty().then_some(zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2011-09-18 23:18:28 UTC.
    const MS: i64 = 1_316_387_908_000;

    #[test]
    fn the_forms_of_the_manuals_are_one_moment() {
        let forms = [
            "18/Sep/2011:19:18:28 -0400",
            "[18/Sep/2011:19:18:28 -0400]",
            "2011-09-19T01:18:28+02:00",
            "2011-09-18 23:18:28.000Z",
            "2011-09-18T23:18:28.000000000Z",
            "1316387908.000",
            "1316387908",
            "1316387908000",
            "1316387908000000",
            "1316387908000000000",
        ];
        for form in forms {
            let found = moment(form.as_bytes()).expect(form);
            assert_eq!((found.ms, found.utc), (MS, true), "{form}");
        }
        let zone = moment(b"18/Sep/2011:19:18:28 -0400").and_then(|moment| moment.zone_s);
        assert_eq!(zone, Some(-4 * 3600));
    }

    #[test]
    fn a_clock_without_a_zone_says_so() {
        // HAProxy's manual, 8.2.3.
        let found = moment(b"06/Feb/2009:12:14:14.655").expect("a moment");
        assert_eq!((found.ms % 1000, found.zone_s, found.utc), (655, None, false));
        assert_eq!(found.ms, days(2009, 2, 6) * 86_400_000 + 44_054_655);
    }

    #[test]
    fn what_is_no_moment_is_none() {
        let none = [
            "",
            "-",
            "12",
            "18/Foo/2011:19:18:28 -0400",
            "18/Sep/2011:25:18:28 -0400",
            "18/Sep/2011:19:18:28 -0400 x",
            "2011-13-18T19:18:28Z",
            "0.123",
            "200",
            "99999999999999999999",
            "1234567",
            "2011-09-18",
        ];
        for text in none {
            assert_eq!(moment(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn zones_are_read() {
        let found = ["+01:00", "-0400", "UTC", "Z", "+05:30"].map(zone_s);
        assert_eq!(found, [Some(3600), Some(-14_400), Some(0), Some(0), Some(19_800)]);
        assert_eq!(["", "CET", "+1", "+25:00", "+01:00x"].map(zone_s), [None; 5]);
    }
}
