//! Numbers as people write them in steps: three decimals, exact.

use hugewise_base::units::Ns;

/// What a millisecond, second, minute and hour are called, with a thousandth of each.
/// A thousandth is whole in nanoseconds, so that three decimals lose nothing.
const UNITS: [(&str, u64); 4] =
    [("ms", 1_000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000)];

/// Thousandths of a decimal number with up to three decimals; `None` for anything else.
pub fn thousandths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let pointed = text.contains('.');
    if whole.is_empty() || part.len() > 3 || (pointed && part.is_empty()) {
        return None;
    }
    if !digits(whole) || !digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(part)
}

/// Prints what [`thousandths`] reads.
pub fn decimal(thousandths: u64) -> String {
    let (whole, part) = (thousandths / 1000, thousandths % 1000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:03}").trim_end_matches('0').to_owned()
}

/// A time such as `20 s`, `1.5min`, `250 ms`; `None` for anything else.
pub fn time(text: &str) -> Option<Ns> {
    let text: String = text.split_whitespace().collect();
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let (_, thousandth) = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(Ns(thousandths(number)?.checked_mul(*thousandth)?))
}

/// Prints a time so that [`time`] reads it back; exact to a microsecond.
pub fn print_time(time: Ns) -> String {
    let whole = |(_, thousandth): &&(&str, u64)| time.0.is_multiple_of(thousandth * 1000);
    let (name, thousandth) = UNITS.iter().rev().find(whole).unwrap_or(&UNITS[0]);
    format!("{} {name}", decimal(time.0 / thousandth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, want) in [("0", 0), ("1000", 1_000_000), ("0.5", 500), ("2.125", 2125)] {
            assert_eq!(thousandths(text), Some(want), "{text}");
            assert_eq!(decimal(want), text);
        }
        for text in ["", ".5", "1.", "1.2345", "-1", "+1", "1e3", "99999999999999999999", "1_0"] {
            assert_eq!(thousandths(text), None, "{text}");
        }
    }

    #[test]
    fn times_survive_printing() {
        for (text, want) in [
            ("20 s", Ns::s(20)),
            ("90 min", Ns::s(5400)),
            ("2 h", Ns::s(7200)),
            ("1 ms", Ns::ms(1)),
        ] {
            assert_eq!((time(text), print_time(want).as_str()), (Some(want), text));
        }
        assert_eq!((time("1.5min"), time("1.5 s")), (Some(Ns::s(90)), Some(Ns::ms(1500))));
        assert_eq!(print_time(Ns::us(1)), "0.001 ms");
        for text in ["", "s", "20", "20 days", "20 s s", "1 µs", "18446744073709551615 h"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
