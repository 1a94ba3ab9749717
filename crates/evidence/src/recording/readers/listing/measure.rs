//! How a cell of a listing is written, and what it is worth.

use crate::recording::readers::words::{binary_factor, count, number, number_and_unit};

/// A kind of cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum Measure {
    /// `12.5%`, `12.5`: of the field's own unit.
    Percent,
    /// A number in the field's own unit.
    One,
    /// A whole number.
    Count,
    /// Hexadecimal digits.
    Hex,
    /// `1.9GiB`, `512Mi`, `12kB`; plain bytes without a unit.
    Bytes,
    /// The same; KiB without a unit.
    Kib,
    /// `1.9GiB / 2GiB`: three words, two values.
    Pair,
    /// `250m` thousandths of a CPU, or whole CPUs: percent of one CPU.
    Cpu,
    /// `41:12`, `1-02:03:04`, `99h12:00`, `3m22.9s`: milliseconds.
    Time,
    /// Seconds, thousandths and millionths of them: milliseconds.
    S,
    Ms,
    Us,
    /// The state of a process: 1 where it is in uninterruptible wait, else 0.
    State,
    /// The function of the kernel in which a process waits, and its class of scheduling: words.
    Wait,
    Class,
    /// Any one word.
    Word,
    /// All that is left, which may be nothing.
    Rest,
}

/// What stands where nothing was measured.
const NOTHING: [&str; 6] = ["-", "--", "<unknown>", "n/a", "N/A", "?"];

impl Measure {
    /// How many words it takes.
    pub(super) const fn width(self) -> usize {
        match self {
            Self::Pair => 3,
            Self::Rest => 0,
            _ => 1,
        }
    }

    /// The values of a cell, `None` for what was not measured; nothing where it is no such cell.
    pub(in super::super) fn read(self, cell: &[&str]) -> Option<Vec<Option<f64>>> {
        if let (Self::Pair, [of, "/", whole]) = (self, cell) {
            let bytes = |word: &str| nothing(word).or_else(|| bytes(word, 1.0).map(Some));
            return Some(vec![bytes(of)?, bytes(whole)?]);
        }
        let Some(word) = cell.first().filter(|_| self != Self::Pair) else {
            return (self == Self::Rest).then(Vec::new);
        };
        if matches!(self, Self::Wait | Self::Class | Self::Word | Self::Rest) {
            return Some(Vec::new());
        }
        Some(vec![nothing(word).or_else(|| self.value(word).map(Some))?])
    }

    fn value(self, word: &str) -> Option<f64> {
        match self {
            Self::Percent => number(word.trim_end_matches('%')),
            Self::One => number(word),
            Self::Count => count(word).map(|count| count as f64),
            Self::Hex => u64::from_str_radix(word, 16).ok().map(|count| count as f64),
            Self::Bytes => bytes(word, 1.0),
            Self::Kib => bytes(word, 1024.0),
            Self::Cpu => match word.strip_suffix('m') {
                Some(thousandths) => number(thousandths).map(|m| m / 10.0),
                None => number(word).map(|cpus| cpus * 100.0),
            },
            Self::Time => time_ms(word),
            Self::S => number(word).map(|s| s * 1e3),
            Self::Ms => number(word),
            Self::Us => number(word).map(|us| us / 1e3),
            Self::State => state(word),
            Self::Pair | Self::Wait | Self::Class | Self::Word | Self::Rest => None,
        }
    }

    /// Whether a word is of this kind and hardly of another: its unit stands with it.
    pub(in super::super) fn is_plain(self, word: &str) -> bool {
        let digits_before = |end: &str| word.strip_suffix(end).is_some_and(|n| number(n).is_some());
        match self {
            Self::Percent => digits_before("%"),
            Self::Bytes | Self::Kib | Self::Pair => {
                word.ends_with(['i', 'B', 'K', 'M', 'G']) && bytes(word, 1.0).is_some()
            }
            Self::Cpu => digits_before("m"),
            Self::Time => word.contains(':') && time_ms(word).is_some(),
            Self::State => state(word).is_some(),
            _ => false,
        }
    }
}

#[expect(clippy::option_option, reason = "a cell that is there and says that nothing is known")]
fn nothing(word: &str) -> Option<Option<f64>> {
    NOTHING.contains(&word).then_some(None)
}

/// `1.9GiB`, `512Mi`, `30.1G`, `468m` in steps of 1024; `12kB`, `4.5MB` of 1000, as containers'
/// tools print them.
fn bytes(word: &str, alone: f64) -> Option<f64> {
    let (value, unit) = number_and_unit(word)?;
    let factor = match unit {
        "" => alone,
        "B" => 1.0,
        _ => match unit.strip_suffix('B').map(|prefix| (prefix, prefix.strip_suffix('i'))) {
            Some((_, Some(prefix))) => binary_factor(prefix)?,
            Some((prefix, None)) => 1000_f64.powf(binary_factor(prefix)?.log(1024.0).round()),
            None => binary_factor(unit.strip_suffix('i').unwrap_or(unit))?,
        },
    };
    Some(value * factor)
}

/// A time in milliseconds, of parts that are set apart by `:` or by their units.
fn time_ms(word: &str) -> Option<f64> {
    let (days, rest) = word.split_once('-').map_or(("0", word), |(days, rest)| (days, rest));
    let mut seconds = number(days)? * 86_400.0;
    let (hours, rest) = rest.split_once('h').map_or(("0", rest), |(hours, rest)| (hours, rest));
    seconds += number(hours)? * 3600.0;
    if let Some(plain) = rest.strip_suffix('s').filter(|rest| !rest.contains(':')) {
        let (plain, factor) = plain.strip_suffix('m').map_or((plain, 1.0), |n| (n, 1e-3));
        let (minutes, plain) = plain.split_once('m').unwrap_or(("0", plain));
        return Some((seconds + number(minutes)? * 60.0 + number(plain)? * factor) * 1e3);
    }
    let parts: Option<Vec<f64>> = rest.split(':').map(number).collect();
    let parts = parts.filter(|parts| (2..=3).contains(&parts.len()))?;
    Some((seconds + parts.iter().fold(0.0, |all, part| all * 60.0 + part)) * 1e3)
}

/// 1 where a process is in uninterruptible wait, 0 in any other state; `Ssl+`, `SW<`.
fn state(word: &str) -> Option<f64> {
    let known = word.starts_with(|c: char| "RSDTtZXIWKP".contains(c)) && word.len() <= 6;
    let rest = word.bytes().skip(1).all(|byte| b"<NLWsl+".contains(&byte));
    (known && rest).then(|| if word.starts_with('D') { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_each_kind() {
        let (kib, mib, gib) = (1024.0, 1_048_576.0, 1_073_741_824.0);
        for (measure, word, value) in [
            (Measure::Percent, "12.5%", Some(12.5)),
            (Measure::Percent, "x%", None),
            (Measure::Bytes, "1.5GiB", Some(1.5 * gib)),
            (Measure::Bytes, "512Mi", Some(512.0 * mib)),
            (Measure::Bytes, "12kB", Some(12_000.0)),
            (Measure::Bytes, "4.5MB", Some(4.5e6)),
            (Measure::Bytes, "700", Some(700.0)),
            (Measure::Bytes, "5q", None),
            (Measure::Kib, "2048", Some(2.0 * mib)),
            (Measure::Kib, "900m", Some(900.0 * mib)),
            (Measure::Kib, "41200K", Some(41_200.0 * kib)),
            (Measure::Cpu, "250m", Some(25.0)),
            (Measure::Cpu, "2", Some(200.0)),
            (Measure::Time, "41:12", Some(2_472_000.0)),
            (Measure::Time, "0:41.10", Some(41_100.0)),
            (Measure::Time, "99h12:00", Some(357_120_000.0)),
            (Measure::Time, "1-00:00:01", Some(86_401_000.0)),
            (Measure::Time, "3m22.5s", Some(202_500.0)),
            (Measure::Time, "300ms", Some(300.0)),
            (Measure::Time, "41", None),
            (Measure::Hex, "ff", Some(255.0)),
            (Measure::Us, "1500", Some(1.5)),
            (Measure::State, "D+", Some(1.0)),
            (Measure::State, "SW<", Some(0.0)),
            (Measure::State, "Sunday", None),
        ] {
            let read = measure.read(&[word]).and_then(|values| values[0]);
            assert_eq!(read, value, "{word}");
        }
        assert_eq!(Measure::Cpu.read(&["<unknown>"]), Some(vec![None]));
        assert_eq!(Measure::Pair.read(&["1kB", "/", "--"]), Some(vec![Some(1000.0), None]));
        assert_eq!(Measure::Pair.read(&["1kB", "2kB", "3kB"]), None);
    }
}
