//! How users name a moment.

use hugewise_base::calendar::{DAY_S, days};

/// What every time should have been.
pub const WANTED: &str = "expected a time in UTC such as '03:00', '03:00:30', '2026-11-26 03:00', \
                          '2026-11-26T03:00:30Z', or '10m ago' (s, m, h, d)";

/// Milliseconds since 1970-01-01 UTC. A time without a date is the last one that is not after
/// `now_ms`.
///
/// # Errors
/// What was expected, in a sentence.
pub fn parse(text: &str, now_ms: i64) -> Result<i64, String> {
    let text = text.trim();
    let time = ago(text, now_ms).or_else(|| of_day(text, now_ms)).or_else(|| dated(text));
    time.ok_or_else(|| format!("'{}': {WANTED}", text.escape_debug()))
}

fn ago(text: &str, now_ms: i64) -> Option<i64> {
    let length = text.strip_suffix("ago")?.trim_end();
    let (number, unit) = length.split_at_checked(length.len().checked_sub(1)?)?;
    let unit_s = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => DAY_S,
        _ => return None,
    };
    let number: u32 = number.trim_end().parse().ok()?;
    now_ms.checked_sub(i64::from(number) * unit_s * 1000)
}

fn of_day(text: &str, now_ms: i64) -> Option<i64> {
    let day_ms = DAY_S * 1000;
    let today_ms = now_ms.div_euclid(day_ms).checked_mul(day_ms)?;
    let time = today_ms.checked_add(clock_s(text)? * 1000)?;
    Some(if time > now_ms { time.checked_sub(day_ms)? } else { time })
}

fn dated(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix(" UTC")).unwrap_or(text);
    let (date, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let year: i64 = (year.len() == 4).then(|| digits(year))??;
    let (month, day) = (two(month)?, two(day)?);
    let sane = (1..=12).contains(&month) && (1..=31).contains(&day) && parts.next().is_none();
    let days = sane.then(|| days(year, month, day))?;
    Some((days * DAY_S + clock_s(clock)?) * 1000)
}

/// Seconds since midnight.
fn clock_s(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hours, minutes) = (two(parts.next()?)?, two(parts.next()?)?);
    let seconds = parts.next().map_or(Some(0), two)?;
    let sane = hours < 24 && minutes < 60 && seconds < 60 && parts.next().is_none();
    sane.then_some(hours * 3600 + minutes * 60 + seconds)
}

fn two(text: &str) -> Option<i64> {
    if matches!(text.len(), 1 | 2) { digits(text) } else { None }
}

fn digits(text: &str) -> Option<i64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-26 10:00:00 UTC.
    const NOW: i64 = 1_795_687_200_000;

    #[test]
    fn moments_are_named_in_many_ways() {
        let hour = 3_600_000;
        for (text, expected) in [
            ("10:00", NOW),
            ("09:59:59", NOW - 1000),
            ("10:00:01", NOW + 1000 - 24 * hour),
            ("3:00", NOW - 7 * hour),
            ("2026-11-26 03:00", NOW - 7 * hour),
            ("2026-11-26T10:00:00Z", NOW),
            ("2026-11-26 10:00:00 UTC", NOW),
            ("2026-11-26", NOW - 10 * hour),
            ("10m ago", NOW - hour / 6),
            ("2hago", NOW - 2 * hour),
            (" 1d ago ", NOW - 24 * hour),
        ] {
            assert_eq!(parse(text, NOW), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_was_expected() {
        for text in ["", "ago", "m ago", "-1m ago", "25:00", "10:60", "10", "10:00:00:00", "+1:00"]
        {
            let error = parse(text, NOW).expect_err(text);
            assert!(error.ends_with(WANTED), "{error}");
        }
        for text in ["2026-13-01", "2026-11-32", "26-11-26", "2026-11-26 x", "2026-11-26-1"] {
            assert!(parse(text, NOW).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,30}", now in any::<i64>()) {
            let _ = parse(&text, now);
        }

        #[test]
        fn nor_one_that_is_nearly_a_time(text in "[0-9:TZ adgmos-]{0,22}", now in any::<i64>()) {
            let _ = parse(&text, now);
        }
    }
}
