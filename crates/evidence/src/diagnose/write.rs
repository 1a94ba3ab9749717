//! Values in sentences.

use super::interval::{Episode, Interval};
use super::reading::Reading;
use crate::recording::{Subject, Unit};
use hugewise_base::count;
use hugewise_base::units::Bytes;

/// Most episodes that are quoted one by one.
pub(super) const EPISODES_MAX: usize = 6;

/// A number with three significant digits or so, thousands separated.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = if size >= 100.0 || value.fract() == 0.0 {
        0
    } else if size >= 10.0 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    rest.map_or_else(|| grouped.clone(), |rest| format!("{grouped}.{rest}"))
}

/// A number with its noun, `1 call` or `1,200 calls`.
pub(super) fn counted(value: f64, one: &str, many: &str) -> String {
    let number = number(value);
    let noun = if number == "1" { one } else { many };
    format!("{number} {noun}")
}

/// An amount of memory, `4.57 GiB`.
pub(super) fn bytes(value: f64) -> String {
    // Beyond 2^63 a size is nonsense; the cast saturates there.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
    let whole = value.clamp(0.0, 9.2e18) as u64;
    Bytes(whole).to_string()
}

/// A duration, `850 ms` or `3.2 s`.
pub(super) fn milliseconds(value: f64) -> String {
    if value >= 10_000.0 {
        format!("{} s", number(value / 1000.0))
    } else {
        format!("{} ms", number(value))
    }
}

/// A value in its unit.
pub fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Percent => format!("{} %", number(value)),
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => format!("{}/s", bytes(value)),
        Unit::Milliseconds => milliseconds(value),
        Unit::Count => number(value),
        Unit::Index => format!("{value:.2}"),
    }
}

/// From one value to another, the unit said once where it is the same: `411 to 601 ms`.
pub(super) fn range(unit: Unit, low: f64, high: f64) -> String {
    let (from, to) = (value(unit, low), value(unit, high));
    if from == to {
        return to;
    }
    match (from.rsplit_once(' '), to.rsplit_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{number} to {to}"),
        _ => format!("{from} to {to}"),
    }
}

/// A seen value as a sentence: whose, what, how much, when.
pub(super) fn sentence(seen: &Reading) -> String {
    let about = seen.field.about();
    let whose = whose(&seen.subject);
    let when = if seen.at == Interval::ALWAYS { String::new() } else { format!(" at {}", seen.at) };
    let when = if seen.at.from.is_some() { when.replacen(" at ", " from ", 1) } else { when };
    format!("{whose}{} {}{when}", about.name, value(about.unit, seen.value))
}

/// A quantity in its episodes: whose, what, and each peak with its time.
pub(super) fn peaks(seen: &Reading, episodes: &[Episode]) -> String {
    let unit = seen.field.about().unit;
    let mut parts: Vec<String> = episodes
        .iter()
        .take(EPISODES_MAX)
        .map(|episode| {
            let at = episode.peak.at.map_or_else(String::new, |at| format!(" at {at}"));
            format!("{}{at}", value(unit, episode.peak.value))
        })
        .collect();
    if episodes.len() > EPISODES_MAX {
        parts.push(format!(
            "and in {}",
            count::counted(episodes.len() - EPISODES_MAX, "more episode", "more episodes")
        ));
    }
    format!("{}{}: {}", whose(&seen.subject), seen.field.about().name, parts.join(", "))
}

/// The subject in front of a sentence; nothing for the machine.
fn whose(subject: &Subject) -> String {
    match subject {
        Subject::Machine => String::new(),
        other => format!("{other}: "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [(0.0, "0"), (0.125, "0.12"), (77.4, "77.4"), (436_064.2, "436,064")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(-1234.0), "-1,234");
        assert_eq!(milliseconds(1275.59), "1,276 ms");
        assert_eq!(value(Unit::Index, 0.5), "0.50");
        assert_eq!(range(Unit::Milliseconds, 411.0, 601.0), "411 to 601 ms");
        assert_eq!(range(Unit::Bytes, 1024.0, 1048576.0), "1.0 KiB to 1.0 MiB");
        assert_eq!(range(Unit::Count, 3.0, 3.0), "3");
    }
}
