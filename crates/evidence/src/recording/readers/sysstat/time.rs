//! Times of day as sysstat's tools print them, in any locale.

use std::sync::LazyLock;

use crate::recording::Stamp;
use crate::recording::words::HALVES_OF_DAY;

/// Bytes with which a half of the day can begin.
static BEGINS: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let mut begins = [false; 256];
    for word in HALVES_OF_DAY.as_flattened() {
        begins[usize::from(word.as_bytes()[0])] = true;
    }
    begins
});

/// A time at the start of a line, and what follows it.
pub(super) fn time(line: &str) -> Option<(Stamp, &str)> {
    let line = line.trim_start();
    if let Some(found) = plain(line) {
        return Some(found);
    }
    let (before, line) = half(line).map_or((None, line), |(half, rest)| (Some(half), rest));
    let (hour, rest) = digits(line.trim_start())?;
    let (minute, rest) = digits(separator(rest, &[':', '.', '時', '时', '点', '點', '시'])?)?;
    let (second, rest) = digits(separator(rest, &[':', '.', '分', '분'])?)?;
    let rest = rest.strip_prefix(['秒', '초']).unwrap_or(rest);
    let (after, rest) = match half(rest.trim_start()) {
        Some((half, rest)) if before.is_none() => (Some(half), rest),
        _ => (None, rest),
    };
    if !(rest.is_empty() || rest.starts_with(char::is_whitespace)) {
        return None;
    }
    let rest = zone(rest).unwrap_or(rest);
    let hour = match before.or(after) {
        // 12 begins each half. Some locales have the word beside the 24 hours.
        Some(second_half) if hour <= 12 => hour % 12 + if second_half { 12 } else { 0 },
        _ => hour,
    };
    Some((Stamp::of_day(hour, minute, second)?, rest))
}

/// `08:32:50` followed by a blank and a word that is neither a half nor a zone: most lines.
fn plain(line: &str) -> Option<(Stamp, &str)> {
    let bytes: &[u8; 9] = line.as_bytes().first_chunk()?;
    let two = |at: usize| {
        let (tens, ones) = (bytes[at].wrapping_sub(b'0'), bytes[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
    };
    if bytes[2] != b':' || bytes[5] != b':' || !matches!(bytes[8], b' ' | b'\t') {
        return None;
    }
    let stamp = Stamp::of_day(two(0)?, two(3)?, two(6)?)?;
    let rest = line.get(8..)?;
    let word = rest.trim_ascii_start();
    // Other scripts have blanks and signs of their own.
    let plain = word.as_bytes().first().is_some_and(u8::is_ascii);
    (plain && half(word).is_none() && zone(word).is_none()).then_some((stamp, rest))
}

/// What follows the time zone that some locales show. All times of a listing are in the same.
fn zone(rest: &str) -> Option<&str> {
    let rest = rest.trim_start();
    let rest =
        ["UTC", "GMT", "IST", "CET", "CEST"].iter().find_map(|zone| rest.strip_prefix(zone))?;
    rest.starts_with(char::is_whitespace).then_some(rest)
}

/// A half of the day at the start of a text.
fn half(text: &str) -> Option<(bool, &str)> {
    // Nothing but digits and blanks starts most texts.
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '%') {
        return None;
    }
    let first = *text.as_bytes().first()?;
    // So do names of disks and interfaces, on most lines.
    if !BEGINS[usize::from(first)] {
        return None;
    }
    let words = HALVES_OF_DAY.iter().flat_map(|[am, pm]| [(am, false), (pm, true)]);
    let mut alike = words.filter(|(word, _)| word.as_bytes().first() == Some(&first));
    alike.find_map(|(word, second)| {
        let mut rest = text.chars();
        for wanted in word.chars() {
            let found = rest.next()?;
            if found != wanted && !(wanted == ' ' && found.is_whitespace()) {
                return None;
            }
        }
        let rest = rest.as_str();
        // A word of another script may stand right before the digits; `md0` is a disk.
        let glued = !word.is_ascii() && rest.starts_with(|c: char| c.is_ascii_digit());
        let ends = rest.is_empty() || rest.starts_with(char::is_whitespace) || glued;
        ends.then_some((second, rest))
    })
}

fn digits(text: &str) -> Option<(u32, &str)> {
    let count = text.bytes().take(3).take_while(u8::is_ascii_digit).count();
    if !(1..=2).contains(&count) {
        return None;
    }
    let (digits, rest) = text.split_at_checked(count)?;
    Some((digits.parse().ok()?, rest))
}

/// What follows one of `signs` and, behind a letter, a blank.
fn separator<'a>(text: &'a str, signs: &[char]) -> Option<&'a str> {
    let sign = text.chars().next()?;
    let rest = text.strip_prefix(signs)?;
    Some(if sign.is_ascii() { rest } else { rest.trim_start() })
}

/// Whether a text is the torn beginning of a time: `09:1`.
pub(super) fn is_torn(line: &str) -> bool {
    let line = line.trim();
    line.len() < 8
        && line.contains(':')
        && line.starts_with(|c: char| c.is_ascii_digit())
        && line.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(line: &str) -> Option<(String, &str)> {
        time(line).map(|(stamp, rest)| (stamp.clock(), rest.trim()))
    }

    #[test]
    fn times_of_many_locales() {
        for (line, wanted) in [
            ("08:32:50 AM all 1.0", "08:32:50"),
            ("12:00:01 AM all 1.0", "00:00:01"),
            ("12:00:01 PM all 1.0", "12:00:01"),
            ("01:02:03\u{a0}PM all 1.0", "13:02:03"),
            ("8:02:03 p.m. all 1.0", "20:02:03"),
            ("08:02:03 p.\u{a0}m. all 1.0", "20:02:03"),
            ("下午 03時02分03秒 all 1.0", "15:02:03"),
            ("下午03:02:03 all 1.0", "15:02:03"),
            ("午後03時02分03秒 all 1.0", "15:02:03"),
            ("08時32分50秒 all 1.0", "08:32:50"),
            ("03시 43분 11초     all 1.0", "03:43:11"),
            ("오후 03:43:11 all 1.0", "15:43:11"),
            ("03:43:11 μμ     all 1.0", "15:43:11"),
            ("16.43.11     all 1.0", "16:43:11"),
            ("04:43:11 अपराह्न UTC     all 1.0", "16:43:11"),
            (" 4:43:11 ከሰዓት     all 1.0", "16:43:11"),
            ("23:59:59 all 1.0", "23:59:59"),
        ] {
            assert_eq!(clock(line), Some((wanted.to_owned(), "all 1.0")), "{line}");
        }
    }

    #[test]
    fn what_is_no_time() {
        for line in [
            "",
            "8:40 and",
            "PM08:00:00 all",
            "24:00:00 x",
            "12:60:00 x",
            "1.2.3.4 x",
            "10:00:00x",
            "AM",
            "é",
        ] {
            assert_eq!(time(line), None, "{line}");
        }
        assert_eq!(
            clock("03:43:11          DEV       tps"),
            Some(("03:43:11".into(), "DEV       tps"))
        );
        assert_eq!(clock("03:43:11 active/s p"), Some(("03:43:11".into(), "active/s p")));
        assert_eq!(clock("03:43:11 PM0 1"), Some(("03:43:11".into(), "PM0 1")));
        assert_eq!(clock("03:43:11   pmx"), Some(("03:43:11".into(), "pmx")));
        assert!(is_torn("09:1") && is_torn("09:10:0") && !is_torn("09") && !is_torn("9:a"));
    }
}
