//! Sizes as people write them: `2MiB`, `512 MB`, `1G`, `4096`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::problem::ParseError;

/// Digits read after the point: enough for any size of a whole number of bytes people write.
const FRACTION_DIGITS_MAX: usize = 9;

/// Names of the powers of 1024 (IEC 80000-13), from the first.
const IEC_UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A number of bytes.
///
/// Read from a number with a unit, capital or not, a blank between allowed. `KiB`, `MiB`, ... and
/// the short `K`, `M`, ... are powers of 1024, as everywhere in the kernel's and systemd's
/// settings; `kB`, `MB`, ... are powers of 1000; nothing or `B` is bytes. A fraction is taken when
/// the result is a whole number of bytes: `1.5G`.
///
/// Printed exactly, in the largest unit without a fraction, so that it reads back the same.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "Written")]
pub struct Size(pub u64);

impl Size {
    /// The number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// For people to read: three or four digits and an IEC unit, such as `1.5 GiB`. Rounded, so
    /// it does not read back the same.
    pub fn rounded(self) -> String {
        let mut value = self.0 as f64;
        let mut unit = "B";
        for next in IEC_UNITS {
            // What would print as 1024.0 belongs to the next unit.
            if value < 1023.95 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        if unit == "B" { format!("{} B", self.0) } else { format!("{value:.1} {unit}") }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut value, mut unit) = (self.0, "B");
        for next in IEC_UNITS {
            if value == 0 || !value.is_multiple_of(1024) {
                break;
            }
            (value, unit) = (value / 1024, next);
        }
        write!(f, "{value} {unit}")
    }
}

impl FromStr for Size {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse(text)
    }
}

/// Reads a size.
///
/// # Errors
/// When the number is missing, negative, malformed or no whole number of bytes, the unit unknown,
/// or the size 2 to the power 64 bytes or more.
pub fn parse(text: &str) -> Result<Size, ParseError> {
    let error = |wanted| ParseError::new("size", 1, text, wanted);
    let text = text.trim_ascii();
    if text.starts_with('-') {
        return Err(error("a size that is not negative"));
    }
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let factor =
        unit_bytes(unit.trim_ascii_start()).ok_or_else(|| error("a unit such as KiB, MB or G"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > FRACTION_DIGITS_MAX {
        return Err(error("a number such as '512' or '1.5'"));
    }
    let too_large = || error("less than 16 EiB");
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    // At most nine digits times 2^60: both products fit into 128 bits.
    let scale = fraction.bytes().fold(1_u128, |scale, _| scale * 10);
    let fraction: u128 = fraction.parse().map_err(|_| too_large())?;
    let part = fraction * u128::from(factor);
    if !part.is_multiple_of(scale) {
        return Err(error("a whole number of bytes"));
    }
    let bytes = u128::from(whole) * u128::from(factor) + part / scale;
    u64::try_from(bytes).map(Size).map_err(|_| too_large())
}

/// Reads a size that a person typed on a command line: 10 may be meant as bytes or as GiB, so a
/// number alone is refused. Nothing needs no unit: 0.
///
/// # Errors
/// As [`parse`], and where the unit is missing: a sentence.
pub fn with_unit(text: &str) -> Result<Size, String> {
    let text = text.trim_ascii();
    let size =
        parse(text).map_err(|error| format!("'{}': wanted {}", error.found, error.wanted))?;
    let is_bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_bare && size != Size(0) {
        return Err(format!(
            "'{text}' has no unit: write {text}GiB, {text}MiB or {text}KiB, or {text}B for bytes"
        ));
    }
    Ok(size)
}

/// Bytes in one unit; the empty unit is one byte.
fn unit_bytes(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if unit.is_empty() || unit == "b" {
        return Some(1);
    }
    let (letter, rest) = unit.split_at_checked(1)?;
    let power = match letter {
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        "e" => 6,
        _ => return None,
    };
    match rest {
        "" | "ib" => 1024_u64.checked_pow(power),
        "b" => 1000_u64.checked_pow(power),
        _ => None,
    }
}

/// How a size may stand in a configuration file: a number of bytes or a text.
#[derive(Deserialize)]
#[serde(untagged, expecting = "wanted a number of bytes, or a size such as \"256 MiB\"")]
enum Written {
    Bytes(u64),
    Text(String),
}

impl TryFrom<Written> for Size {
    type Error = ParseError;

    fn try_from(written: Written) -> Result<Self, ParseError> {
        match written {
            Written::Bytes(bytes) => Ok(Self(bytes)),
            Written::Text(text) => parse(&text),
        }
    }
}

impl From<Size> for String {
    fn from(size: Size) -> Self {
        size.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let cases = [
            ("4096", 4096),
            ("0", 0),
            ("2MiB", 2 << 20),
            ("2 mib", 2 << 20),
            ("512 MB", 512_000_000),
            ("1G", 1 << 30),
            ("1.5G", 3 << 29),
            ("0.5 K", 512),
            (" 7 B ", 7),
            ("15EiB", 15 << 60),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse(text), Ok(Size(bytes)), "{text:?}");
        }
    }

    #[test]
    fn says_why_it_refuses() {
        let cases = [
            ("-1", "a size that is not negative"),
            ("16EiB", "less than 16 EiB"),
            ("18446744073709551616", "less than 16 EiB"),
            ("5 bananas", "a unit such as KiB, MB or G"),
            ("1e9", "a unit such as KiB, MB or G"),
            ("", "a number such as '512' or '1.5'"),
            ("MiB", "a number such as '512' or '1.5'"),
            ("1.", "a number such as '512' or '1.5'"),
            ("1.2.3", "a number such as '512' or '1.5'"),
            ("0.3 KiB", "a whole number of bytes"),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text).map_err(|error| error.wanted), Err(wanted), "{text:?}");
        }
    }

    #[test]
    fn a_number_alone_is_no_size_on_a_command_line() {
        for (text, size) in [("10GiB", 10 << 30), ("7B", 7), ("0", 0), (" 0.0 ", 0), ("1.5K", 1536)]
        {
            assert_eq!(with_unit(text), Ok(Size(size)), "{text:?}");
        }
        for (text, said) in [
            ("10", "'10' has no unit: write 10GiB, 10MiB or 10KiB, or 10B for bytes"),
            (" 4096 ", "'4096' has no unit: write 4096GiB, 4096MiB or 4096KiB, or 4096B for bytes"),
            ("1.0", "'1.0' has no unit: write 1.0GiB, 1.0MiB or 1.0KiB, or 1.0B for bytes"),
            ("1.5", "'1.5': wanted a whole number of bytes"),
            ("-1", "'-1': wanted a size that is not negative"),
            ("", "'': wanted a number such as '512' or '1.5'"),
        ] {
            assert_eq!(with_unit(text), Err(said.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn prints_exactly_and_rounded() {
        assert_eq!(Size(0).to_string(), "0 B");
        assert_eq!(Size(2 << 20).to_string(), "2 MiB");
        assert_eq!(Size((1 << 20) + 1).to_string(), "1048577 B");
        assert_eq!(Size(3 << 29).to_string(), "1536 MiB");
        assert_eq!(Size(3 << 29).rounded(), "1.5 GiB");
        assert_eq!(Size(999).rounded(), "999 B");
        assert_eq!(Size((1 << 30) - 1).rounded(), "1.0 GiB");
        assert_eq!(Size(u64::MAX).rounded(), "16.0 EiB");
    }

    #[test]
    fn stands_in_configuration_as_text_or_number() -> Result<(), serde_json::Error> {
        assert_eq!(serde_json::from_str::<Size>("\"2 MiB\"")?, Size(2 << 20));
        assert_eq!(serde_json::from_str::<Size>("4096")?, Size(4096));
        assert!(serde_json::from_str::<Size>("-1").is_err());
        assert_eq!(serde_json::to_string(&Size(2 << 20))?, "\"2 MiB\"");
        Ok(())
    }
}
