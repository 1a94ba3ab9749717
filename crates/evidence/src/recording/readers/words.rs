//! Words, numbers and times as tools print them and people paste them.

use crate::recording::Stamp;

/// Longest number that is read: more digits are no number of any tool.
const NUMBER_BYTES_MAX: usize = 32;

/// The line without what somebody wrote behind it, such as `<-- 5GB!`.
pub(super) fn plain(line: &str) -> &str {
    let may_have = |byte: u8| line.as_bytes().contains(&byte);
    // The first byte of an arrow is no part of another letter's.
    if !may_have(b'<') && !may_have(0xe2) {
        return line.trim_end();
    }
    let cut = line.match_indices("<-").map(|(at, _)| at).chain(line.find('\u{2190}'));
    let cut = cut.filter(|at| line[..*at].ends_with(char::is_whitespace)).min();
    cut.map_or(line, |at| &line[..at]).trim_end()
}

/// The words of a line, what somebody wrote behind it left out. Non-breaking spaces separate too.
pub(super) fn words(line: &str) -> Vec<&str> {
    split(plain(line))
}

/// The words of a line, whatever was written behind it. Non-breaking spaces part words like any
/// other blank.
pub(super) fn split(line: &str) -> Vec<&str> {
    let mut all = Vec::with_capacity(24);
    if line.is_ascii() {
        ascii_words(line, &mut all);
    } else {
        all.extend(line.split_whitespace());
    }
    all
}

/// Columns are set far apart: the blanks between them are passed over at once.
fn ascii_words<'a>(line: &'a str, all: &mut Vec<&'a str>) {
    // What is above the blank, as nearly all is, takes one comparison.
    const BLANKS: u64 = 1 << b' ' | 1 << b'\t' | 1 << b'\n' | 1 << b'\r' | 1 << 0x0b | 1 << 0x0c;
    let mut begin = None;
    for (at, byte) in line.bytes().enumerate() {
        let blank = byte <= b' ' && BLANKS >> byte & 1 == 1;
        match begin {
            None if !blank => begin = Some(at),
            Some(from) if blank => {
                all.extend(line.get(from..at));
                begin = None;
            }
            _ => {}
        }
    }
    all.extend(begin.and_then(|from| line.get(from..)));
}

/// A number without sign and exponent; the decimal sign may be a comma.
pub(super) fn number(word: &str) -> Option<f64> {
    if word.len() > NUMBER_BYTES_MAX { None } else { decimal(word) }
}

/// Most digits that a `u64` below 2^53 takes: the division below is then rounded once, correctly.
const DIGITS_MAX: usize = 15;

const POWERS: [f64; DIGITS_MAX + 1] =
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Digits, and among them at most one decimal sign, a point or a comma.
pub(super) fn decimal(digits: &str) -> Option<f64> {
    let (mut mantissa, mut count, mut after) = (0_u64, 0_usize, None);
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => {
                // Cannot overflow: more digits than that go the slow way below.
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                count += 1;
                after = after.map(|after: usize| after + 1);
            }
            b'.' | b',' if after.is_none() && count > 0 => after = Some(0),
            _ => return None,
        }
    }
    // A sign with nothing behind it is half a number.
    if count == 0 || after == Some(0) {
        return None;
    }
    if count <= DIGITS_MAX {
        return Some(mantissa as f64 / POWERS.get(after.unwrap_or(0))?);
    }
    digits.replace(',', ".").parse().ok().filter(|value: &f64| value.is_finite())
}

/// A whole number without sign.
pub(super) fn count(word: &str) -> Option<u64> {
    let digits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    if digits { word.parse().ok() } else { None }
}

/// A share of 0 to 100, with its sign: `74.1%`.
pub(super) fn percent(word: &str) -> Option<f64> {
    let value: f64 = word.strip_suffix('%')?.replace(',', ".").parse().ok()?;
    (0.0..=100.0).contains(&value).then_some(value)
}

/// A number and the unit that follows it without a blank: `16.01M` gives 16.01 and `M`.
pub(super) fn number_and_unit(word: &str) -> Option<(f64, &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (number_part, unit) = word.split_at(end.unwrap_or(word.len()));
    Some((number(number_part)?, unit))
}

/// 1024 to the power that a prefix such as `K` or `g` stands for; 1 for none.
pub(super) fn binary_factor(prefix: &str) -> Option<f64> {
    let power = match prefix {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        "p" | "P" => 5,
        "e" | "E" => 6,
        _ => return None,
    };
    Some(1024_f64.powi(power))
}

/// Whether all words of a line can be names of columns. A time or a name before them, or a mark,
/// would set off every row.
pub(super) fn are_names(line: &str) -> bool {
    let other = |c: char| c.is_ascii_digit() || ":[]|*".contains(c);
    let name = |word: &str| !word.contains(other) && !word.starts_with('+');
    line.split_whitespace().all(name)
}

/// Whether a line stands for lines that somebody left out: `...` or more dots.
pub(super) fn elided(line: &str) -> bool {
    let line = line.trim();
    let dots = line.chars().all(|c| c == '.' || c == '\u{2026}');
    dots && (line.len() >= 3)
}

/// A time of day, `00:12:28`, fractions of a second left out.
pub(super) fn time_of_day(word: &str) -> Option<Stamp> {
    let word = word.split(['.', ',']).next()?;
    let mut parts = word.split(':');
    let mut part = || {
        let text = parts.next().filter(|text| text.len() == 2)?;
        u32::try_from(count(text)?).ok()
    };
    let (hour, minute, second) = (part()?, part()?, part()?);
    if parts.next().is_some() {
        return None;
    }
    Stamp::of_day(hour, minute, second)
}

/// A date, `2020-12-26` or `2020/12/26`, as its midnight.
pub(super) fn date(word: &str) -> Option<Stamp> {
    let mut parts = word.split(['-', '/']);
    let mut part = || u32::try_from(count(parts.next()?)?).ok();
    let (year, month, day) = (part()?, part()?, part()?);
    if parts.next().is_some() {
        return None;
    }
    Stamp::midnight(year, month, day)
}

/// A date and a time of that day.
pub(super) fn joined(date: Stamp, time: Stamp) -> Stamp {
    Stamp(date.0.saturating_add(time.0))
}

/// The first word of a command, without its folder, brackets and colon: never arguments.
pub(super) fn command_name(command: &str) -> &str {
    let word = command.trim().split(char::is_whitespace).next().unwrap_or("");
    if let Some(inner) = word.strip_prefix('[') {
        return inner.trim_end_matches(']');
    }
    let word = word.trim_end_matches(':');
    // A kernel thread's name contains slashes but does not begin with one.
    let file = if word.starts_with('/') { word.rsplit('/').next() } else { None };
    file.filter(|name| !name.is_empty()).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_and_odd_blanks_are_no_words() {
        assert_eq!(words("PageTables:    5007924 kB  <--- 5GB!"), ["PageTables:", "5007924", "kB"]);
        assert_eq!(words("a\u{a0}\u{a0} 1\tb\r"), ["a", "1", "b"]);
        assert_eq!(words("local <= 2b"), ["local", "<=", "2b"]);
        assert!(elided("..................") && elided("...") && !elided("..") && !elided("a..."));
    }

    #[test]
    fn numbers_are_taken_strictly() {
        assert_eq!(number("9,89"), Some(9.89));
        assert_eq!(number("100"), Some(100.0));
        for wrong in ["", "-1", "1e3", "nan", "inf", "1.2.3", "1,2,3", ".", "5."] {
            assert_eq!(number(wrong), None, "{wrong:?}");
        }
        assert_eq!(number_and_unit("16.01M/s"), Some((16.01, "M/s")));
        assert_eq!(count("+5"), None);
    }

    #[test]
    fn times_and_dates() {
        assert_eq!(time_of_day("00:12:28.123"), Stamp::of_day(0, 12, 28));
        for wrong in ["24:00:00", "1:2:3", "00:12", "00:12:28:01", "aa:bb:cc"] {
            assert_eq!(time_of_day(wrong), None, "{wrong:?}");
        }
        assert_eq!(date("2020/12/26"), Stamp::midnight(2020, 12, 26));
        assert_eq!(date("2020-12"), None);
    }

    #[test]
    fn names_are_the_commands_first_word() {
        assert_eq!(command_name("[nfsd]"), "nfsd");
        assert_eq!(command_name("/usr/bin/java -Dsecret=1"), "java");
        assert_eq!(command_name("kworker/0:1-mm_percpu_wq"), "kworker/0:1-mm_percpu_wq");
        assert_eq!(command_name("nginx: worker"), "nginx");
        assert_eq!(command_name(" "), "");
    }
}
