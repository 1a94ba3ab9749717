//! Times before messages, in whatever form.

use crate::recording::Stamp;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const CALENDAR: [&str; 19] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Mon",
    "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
];

/// Names of days and months as logs have them.
pub(super) fn is_of_calendar(word: &str) -> bool {
    let bare = word.trim_end_matches([',', '.']);
    bare.len() == 3 && CALENDAR.contains(&bare)
}

/// Days before each month of a leap year.
const DAYS_BEFORE: [i64; 12] = [0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335];

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// Most numbers before a message that are considered.
const NUMBERS_MAX: usize = 24;

/// A number with what separates it from the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Number<'a> {
    text: &'a str,
    value: u64,
    /// 0: nothing, or the end of the text.
    then: u8,
}

impl Number<'_> {
    /// Of one or two digits, and not above this.
    fn is_small(self, most: u64) -> bool {
        self.text.len() <= 2 && self.value <= most
    }

    fn is_year(self) -> bool {
        self.text.len() == 4 && (1971..=2099).contains(&self.value)
    }

    /// Seconds since 1970, in seconds to nanoseconds, of 2001 to 2033.
    fn epoch_s(self) -> Option<i64> {
        let unit = match self.text.len() {
            10 => 1,
            13 => 1_000,
            16 => 1_000_000,
            19 => 1_000_000_000,
            _ => return None,
        };
        self.text.starts_with('1').then(|| i64::try_from(self.value / unit).ok())?
    }
}

/// The numbers of a text.
fn numbers(text: &str) -> impl Iterator<Item = Number<'_>> {
    let bytes = text.as_bytes();
    let groups = bytes.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let mut at = 0;
    groups.filter_map(move |group| {
        let from = at;
        at += group.len();
        let digits = group[0].is_ascii_digit();
        let text = text.get(from..at).filter(|_| digits)?;
        let value = text.parse().ok()?;
        Some(Number { text, value, then: bytes.get(at).copied().unwrap_or_default() })
    })
}

/// A date of three numbers.
fn date(three: &[Number<'_>]) -> Option<(u64, u64, u64)> {
    let [a, b, c] = three else { return None };
    if a.then != b.then || !b"-/.".contains(&a.then) {
        return None;
    }
    let fits = |month: u64, day: u64| (1..=12).contains(&month) && (1..=31).contains(&day);
    let (year, month, day) = if a.is_year() && b.is_small(12) && c.is_small(31) {
        (a.value, b.value, c.value)
    } else if c.is_year() && a.is_small(31) && b.is_small(31) {
        // Day first, unless that is no month.
        if b.value <= 12 { (c.value, b.value, a.value) } else { (c.value, a.value, b.value) }
    } else if a.then == b'/' && [a, b, c].iter().all(|number| number.text.len() == 2) {
        (2000 + a.value, b.value, c.value)
    } else {
        return None;
    };
    fits(month, day).then_some((year, month, day))
}

/// A time of day of three numbers.
fn time_of_day(three: &[Number<'_>]) -> Option<i64> {
    let [hour, minute, second] = three else { return None };
    let fits = hour.is_small(23) && minute.is_small(59) && second.is_small(60);
    let separated = hour.then == b':' && (minute.then == b':' || minute.then == b'.');
    if !fits || !separated {
        return None;
    }
    i64::try_from(hour.value * 3600 + minute.value * 60 + second.value).ok()
}

/// A date without separators: `20171223`.
fn plain_date(number: Number<'_>) -> Option<(u64, u64, u64)> {
    let (year, month, day) = (number.value / 10_000, number.value / 100 % 100, number.value % 100);
    let real = number.text.len() == 8 && (1990..=2099).contains(&year);
    (real && (1..=12).contains(&month) && (1..=31).contains(&day)).then_some((year, month, day))
}

/// Whether a word has punctuation, as times have that are no bare numbers.
pub(super) fn has_separator(word: &str) -> bool {
    word.contains([':', '-', '/', '.'])
}

/// Whether a word is a date, a time of day, or seconds since 1970 or since a start.
pub(super) fn is_time(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_digit());
    let mut all = [Number::default(); 8];
    let mut count = 0;
    for (place, number) in all.iter_mut().zip(numbers(word)) {
        *place = number;
        count += 1;
    }
    let all = &all[..count];
    match all {
        [one] => {
            // `203615`: of day.
            let bare = one.text.len() == word.len();
            bare && (one.text.len() == 6 || plain_date(*one).is_some() || one.epoch_s().is_some())
        }
        [a, b] => {
            let hours = a.then == b':' && a.is_small(23) && b.text.len() == 2 && b.is_small(59);
            let days = b"-.".contains(&a.then) && a.text.len() == 2 && b.text.len() == 2;
            let started = a.then == b'.' && (a.epoch_s().is_some() || b.text.len() == 6);
            hours || days || started
        }
        _ => all.windows(3).any(|three| date(three).is_some() || time_of_day(three).is_some()),
    }
}

/// When a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// With its date, or of the first day where no line has one.
    Dated(Stamp),
    /// Without a year: the day of a leap year, from 0, and the second of the day.
    OfYear { day: i64, second: i64 },
}

/// Days of a leap year.
const YEAR_DAYS: i64 = 366;

impl Time {
    /// As a stamp of a log whose first line is of this day of a year.
    pub(super) fn stamp(self, first_day: &mut Option<i64>) -> Stamp {
        match self {
            Self::Dated(stamp) => stamp,
            Self::OfYear { day, second } => {
                let behind = day - *first_day.get_or_insert(day);
                // Over the end of a year.
                let behind = if behind < -YEAR_DAYS / 2 { behind + YEAR_DAYS } else { behind };
                Stamp(behind * DAY_S + second)
            }
        }
    }
}

/// A time as it is put together.
#[derive(Default)]
pub(super) struct Clock {
    date: Option<(u64, u64, u64)>,
    second: Option<i64>,
    epoch: Option<i64>,
}

impl Clock {
    /// The time of a text before a message.
    pub(super) fn of(before: &str) -> Option<Time> {
        let mut clock = Self::default();
        let mut all = [Number::default(); NUMBERS_MAX];
        let mut count = 0;
        for (place, number) in all.iter_mut().zip(numbers(before)) {
            *place = number;
            count += 1;
        }
        let all = &all[..count];
        for three in all.windows(3) {
            clock.date = clock.date.or_else(|| date(three));
            clock.second = clock.second.or_else(|| time_of_day(three));
        }
        for number in all {
            clock.date = clock.date.or_else(|| plain_date(*number));
            clock.epoch = clock.epoch.or_else(|| number.epoch_s());
        }
        let second = clock.second;
        if let (Some((year, month, day)), Some(second)) = (clock.date, second) {
            let [year, month, day] = [year, month, day].map(|n| u32::try_from(n).ok());
            let midnight = Stamp::midnight(year?, month?, day?)?;
            return Some(Time::Dated(Stamp(midnight.0 + second)));
        }
        let (first, year) = (named_day(before), all.iter().find(|number| number.is_year()));
        match (first, second) {
            (Some((month, day)), Some(second)) => {
                let dated = year.and_then(|year| {
                    let month = u32::try_from(month).ok()? + 1;
                    let year = u32::try_from(year.value).ok()?;
                    Stamp::midnight(year, month, u32::try_from(day).ok()?)
                });
                let day = DAYS_BEFORE[month] + day - 1;
                Some(match dated {
                    Some(midnight) => Time::Dated(Stamp(midnight.0 + second)),
                    None => Time::OfYear { day, second },
                })
            }
            _ => clock.epoch.or(second).map(|second| Time::Dated(Stamp(second))),
        }
    }
}

/// The month, from 0, and the day behind its name.
fn named_day(before: &str) -> Option<(usize, i64)> {
    let mut words = before.split(|c: char| !c.is_ascii_alphanumeric());
    let mut last = None;
    loop {
        let word = words.next()?;
        let named =
            is_of_calendar(word).then(|| MONTHS.iter().position(|month| *month == word)).flatten();
        let Some(month) = named else {
            if !word.is_empty() {
                last = word.parse().ok();
            }
            continue;
        };
        // `04 Dec` as well as `Dec 04`.
        let behind = words.find(|word| !word.is_empty()).and_then(|word| word.parse().ok());
        let day: i64 = behind.filter(|day| *day <= 31).or(last)?;
        return (1..=31).contains(&day).then_some((month, day));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_many_forms() {
        for (before, wanted) in [
            ("2026-03-01 10:00:05,118 INFO ", "2026-03-01 10:00:05"),
            ("2026-03-01T10:00:05.118Z ", "2026-03-01 10:00:05"),
            ("[01/Mar/2026:10:00:05 +0000] ", "2026-03-01 10:00:05"),
            ("20260301-10:0:5:118|", "2026-03-01 10:00:05"),
            ("26/03/01 10:00:05 INFO ", "2026-03-01 10:00:05"),
            ("[Sun Mar 01 10:00:05 2026] [error] ", "2026-03-01 10:00:05"),
            ("Sun, 1 Mar 2026 10:00:05 GMT ", "2026-03-01 10:00:05"),
            ("912:M 01 Mar 2026 10:00:05.118 # ", "2026-03-01 10:00:05"),
            ("1772359205 ", "2026-03-01 10:00:05"),
            ("1772359205.118022 ", "2026-03-01 10:00:05"),
            ("1772359205118 ", "2026-03-01 10:00:05"),
            ("Jan  2 10:00:05 web3 ", "day +1 10:00:05"),
            ("10:00:05 ", "10:00:05"),
            ("web-1 | 10:00:05 ", "10:00:05"),
        ] {
            let found = Clock::of(before).map(|time| time.stamp(&mut Some(0)).to_string());
            assert_eq!(found.as_deref(), Some(wanted), "{before}");
        }
        for before in ["", "ERROR ", "10.0.0.1 ", "5 of 7 ", "99999999999999999999999 "] {
            assert_eq!(Clock::of(before), None, "{before}");
        }
    }

    #[test]
    fn addresses_and_counts_are_no_times() {
        for word in ["10.251.73.220:50010", "5", "1234", "00:1b:2c", "1.2.3.4", "12345678"] {
            assert!(!is_time(word), "{word}");
        }
        for word in ["10:00:05", "10:00", "2026-03-01", "081109", "1772359205", "03-17"] {
            assert!(is_time(word), "{word}");
        }
    }
}
