//! When a line of the kernel's log was written, as far as it says, and what "now" is in a text.

use crate::recording::readers::prelude::*;
use hugewise_base::calendar::DAY_S;

/// When a line was written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct When {
    /// Seconds since the machine started.
    pub since_boot_s: Option<f64>,
    /// Its date and time; [`without_year`] where it has no year.
    pub clock: Option<i64>,
}

/// English names, as the C locale has them; `date` in other languages is not read.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

fn month(word: &str) -> Option<u32> {
    let start = word.get(..3)?.to_ascii_lowercase();
    let at = MONTHS.iter().position(|name| *name == start)?;
    u32::try_from(at + 1).ok()
}

/// Whether a word is a month and a day, `Jan17`.
pub(super) fn is_day(word: &str) -> bool {
    month(word).is_some() && word.get(3..).is_some_and(|day| small(day).is_some())
}

fn small(word: &str) -> Option<u32> {
    u32::try_from(count(word.trim_end_matches(['.', ',']))?).ok()
}

/// Most days of a month in a date without a year.
const MONTH_DAYS: i64 = 31;

/// A date without a year: below zero, so that nobody takes it for one with.
fn without_year(month: u32, day: u32, second: i64) -> Option<i64> {
    let known = (1..=12).contains(&month) && (1..=31).contains(&day);
    let days = (i64::from(month) - 1) * MONTH_DAYS + i64::from(day) - 1;
    known.then_some(-(days * DAY_S + second) - 1)
}

/// The date of a line, given the time of another: of the year that makes it the later one's past.
pub fn dated(clock: i64, now: Stamp) -> Option<i64> {
    if clock >= 0 {
        return Some(clock);
    }
    let seconds = -(clock + 1);
    let (days, second) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let month = u32::try_from(days.div_euclid(MONTH_DAYS) + 1).ok()?;
    let day = u32::try_from(days.rem_euclid(MONTH_DAYS) + 1).ok()?;
    let year = u32::try_from(now.date()?.0).ok()?;
    let of = |year| Stamp::midnight(year, month, day).map(|midnight| midnight.0 + second);
    of(year).filter(|at| *at <= now.0 + DAY_S).or_else(|| of(year.checked_sub(1)?))
}

/// A date with a year and a time, in whatever order `date`, `dmesg -T` and logs have them:
/// `Thu Nov 14 14:02:11 CET 2024`, `2024-11-14 14:02:11`, `2024-11-14T14:02:11+0100`.
pub(in super::super) fn date_and_time(text: &str) -> Option<Stamp> {
    let words = words(text);
    let (mut year, mut of_year, mut day, mut clock) = (None, None, None, None);
    let (mut morning, mut afternoon) = (false, false);
    for word in words.iter().take(10) {
        let word = word.trim_matches(['[', ']', '(', ')', ',']);
        let (date, time) =
            word.split_once('T').filter(|(d, _)| d.len() == 10).unwrap_or(("", word));
        let iso = if date.is_empty() { word } else { date };
        let numbers: Vec<u32> = iso.split(['-', '/']).filter_map(small).collect();
        if let ([y, m, d], true) = (numbers.as_slice(), clock.is_none() && iso.len() == 10) {
            (year, of_year, day) = (Some(*y), Some(*m), Some(*d));
        } else if clock.is_none() && word.len() <= 2 && day.is_none() {
            day = small(word);
        } else if word.len() == 4 && year.is_none() {
            year = small(word).filter(|year| (1971..=9999).contains(year));
        }
        of_year = of_year.or_else(|| month(word).filter(|_| word.len() <= 4));
        clock = clock.or_else(|| time_of_day(time.get(..8)?));
        morning |= word.eq_ignore_ascii_case("am");
        afternoon |= word.eq_ignore_ascii_case("pm");
    }
    let midnight = Stamp::midnight(year?, of_year?, day?)?;
    let second = clock?.0;
    let half = match (morning, afternoon, second >= DAY_S / 2) {
        (_, true, false) => DAY_S / 2,
        (true, _, true) => -DAY_S / 2,
        _ => 0,
    };
    Some(Stamp(midnight.0 + second + half))
}

/// `Nov 12 02:14:10`, without a year.
fn of_syslog(before: &str) -> Option<i64> {
    let words = words(before);
    let at = words.iter().position(|word| month(word).is_some() && word.len() == 3)?;
    let (month, day) = (month(words.get(at)?)?, small(words.get(at + 1)?)?);
    without_year(month, day, time_of_day(words.get(at + 2)?)?.0)
}

/// Longest start of a line in which its time is looked for.
const TIME_BYTES_MAX: usize = 160;

/// The date and time of a line of any log, at its start or in its JSON.
pub(in super::super) fn clock_before(line: &str) -> Option<i64> {
    let start: String = line.chars().take(TIME_BYTES_MAX).collect();
    let start = start.replace(['"', '{', '}', '=', '|', '\''], " ");
    let words: Vec<&str> = start.split_whitespace().take(16).collect();
    // The time may stand behind a label.
    let from =
        words.iter().position(|word| word.starts_with(|c: char| c.is_ascii_digit() || c == '['));
    let text = words.get(from?..)?.iter().take(8).copied().collect::<Vec<_>>().join(" ");
    date_and_time(&text).map(|stamp| stamp.0).or_else(|| of_syslog(&start))
}

/// A line without the level that `dmesg -r` and `dmesg -x` put before it: `<4>`, `kern  :err   : `.
pub(super) fn behind_level(line: &str) -> &str {
    let line = line.trim();
    let raw = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let raw = raw.filter(|(level, _)| count(level).is_some()).map(|(_, rest)| rest);
    let decoded = || line.strip_prefix("kern  :")?.split_once(": ").map(|(_, rest)| rest);
    raw.or_else(decoded).unwrap_or(line)
}

/// When a line was written, by what stands before its message.
pub(super) fn when(line: &str) -> When {
    let line = behind_level(line);
    let since_boot = |text: &str| -> Option<f64> {
        let time = text.trim_start().strip_prefix('[')?.split(']').next()?.trim();
        // Without a fraction it is the number of a process.
        let plain = time.contains('.') && time.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        time.parse().ok().filter(|seconds: &f64| plain && seconds.is_finite())
    };
    let (before, message) = match line.split_once(" kernel: ") {
        Some((before, message)) => (before, message),
        None => (line, line),
    };
    let start = before.split(']').next().unwrap_or(before);
    let clock = date_and_time(start).map(|stamp| stamp.0).or_else(|| of_syslog(before));
    When { since_boot_s: since_boot(message), clock }
}

/// How long the machine has run, of a line of `uptime`, `w` or `top`, in milliseconds.
pub(in super::super) fn up_ms(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once(" up ")?;
    let (mut seconds, mut amount) = (None::<f64>, None::<u64>);
    for word in rest.split([' ', ',']).filter(|word| !word.is_empty()).take(8) {
        let unit = match word {
            "day" | "days" => 86_400.0,
            "min" | "mins" | "minutes" => 60.0,
            "user" | "users" | "load" => break,
            _ if word.contains(':') => {
                let (hours, minutes) = word.split_once(':')?;
                let clock = count(hours)? as f64 * 3600.0 + count(minutes)? as f64 * 60.0;
                seconds = Some(seconds.unwrap_or(0.0) + clock);
                break;
            }
            _ => {
                amount = count(word);
                continue;
            }
        };
        seconds = Some(seconds.unwrap_or(0.0) + amount.take()? as f64 * unit);
    }
    seconds.map(|seconds| seconds * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: u32, month: u32, day: u32, second: i64) -> Option<i64> {
        Stamp::midnight(year, month, day).map(|midnight| midnight.0 + second)
    }

    #[test]
    fn times_of_lines() {
        for (line, clock) in [
            ("[Wed Aug 14 03:00:41 2024] sd 8", at(2024, 8, 14, 10_841)),
            ("[Mon Sep  2 04:11:10 2024] Killed process", at(2024, 9, 2, 15_070)),
            ("2024-11-12T02:14:10+0100 vm kernel: x", at(2024, 11, 12, 8050)),
            ("jump-2 kernel: [12044.812044] audit: x", None),
        ] {
            assert_eq!(when(line).clock, clock, "{line}");
        }
        assert_eq!(when("[ 12.5] x").since_boot_s, Some(12.5));
        assert_eq!(when("n1 kernel: [  912] 0 912 5 6 java").since_boot_s, None);
        assert_eq!(when("jump-2 kernel: [12044.5] audit: x").since_boot_s, Some(12_044.5));
        let syslog = when("Nov 12 02:14:10 vm-db-44 kernel: x").clock.expect("a date");
        let now = Stamp(at(2025, 1, 3, 0).expect("a date"));
        assert_eq!(dated(syslog, now), at(2024, 11, 12, 8050));
        let now = Stamp(at(2024, 12, 3, 0).expect("a date"));
        assert_eq!(dated(syslog, now), at(2024, 11, 12, 8050));
    }

    #[test]
    fn dates_as_the_command_has_them() {
        for (text, wanted) in [
            ("Thu Nov 14 14:02:11 CET 2024", at(2024, 11, 14, 50_531)),
            ("Wed Jul 10 03:31:12 AM UTC 2024", at(2024, 7, 10, 12_672)),
            ("Wed Jul 10 03:31:12 PM UTC 2024", at(2024, 7, 10, 55_872)),
            ("2024/06/14 03:11:20 [crit] x", at(2024, 6, 14, 11_480)),
            ("14:02:11", None),
        ] {
            assert_eq!(date_and_time(text).map(|stamp| stamp.0), wanted, "{text}");
        }
    }

    #[test]
    fn how_long_a_machine_runs() {
        let minute = 60_000.0;
        for (line, ms) in [
            (" 03:20:10 up 12 days,  4:02,  1 user,  load average: 0.82", 17_522.0 * minute),
            (" 06:03:44 up 2 min,  1 user,  load average: 2.41", 2.0 * minute),
            ("top - 11:00:00 up 88 days, 12 min,  2 users", 126_732.0 * minute),
            (" 18:33:03 up 11:52,  1 user", 712.0 * minute),
        ] {
            assert_eq!(up_ms(line), Some(ms), "{line}");
        }
        assert_eq!(up_ms("nothing is up here"), None);
    }
}
