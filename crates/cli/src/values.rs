//! Values on the command line, read.

use hugewise_base::units::Ns;
use hugewise_console::exit;
use std::ops::RangeInclusive;

/// A count that must not be 0.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("must be a whole number, 1 or more".to_owned()),
        Ok(count) => Ok(count),
    }
}

/// A number within bounds; `wanted` says which.
pub(super) fn within(text: &str, bounds: RangeInclusive<f64>, wanted: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| format!("must be {wanted}"))
}

/// A share of a whole that is not nothing.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    within(text, 1.0..=100.0, "a number from 1 to 100")
}

/// `90s`, `10m` or `2h`. A number alone is refused: 10 may be meant as seconds or as minutes.
pub fn duration(text: &str) -> anyhow::Result<Ns> {
    let wrong = |why: String| exit::coded(exit::USAGE, why);
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "" if !number.is_empty() => {
            let units =
                format!("{number}s for seconds, {number}m for minutes, {number}h for hours");
            return Err(wrong(format!("'{text}' has no unit: write {units}")));
        }
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => 0,
    };
    let seconds = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    match seconds.filter(|s| (1..=31_536_000).contains(s)) {
        Some(seconds) => Ok(Ns::s(seconds)),
        None => Err(wrong(format!(
            "'{text}' is not a length of time here: write whole seconds, minutes or hours, such \
             as 90s, 10m or 2h"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_nonsense_is_refused() {
        assert_eq!(duration("90s").ok(), Some(Ns::s(90)));
        assert_eq!(duration("10m").ok(), Some(Ns::s(600)));
        let bare = duration("7").expect_err("7 what?").to_string();
        assert_eq!(bare, "'7' has no unit: write 7s for seconds, 7m for minutes, 7h for hours");
        for bad in ["", "7", "s", "-5s", "5 years", "0", "99999999999999999999", "99999999h"] {
            let error = duration(bad).expect_err(bad);
            assert_eq!(exit::of_error(&error), exit::USAGE);
        }
    }
}
