//! `/proc/pressure/*` and a cgroup's `*.pressure` (`Documentation/accounting/psi.rst`).

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// Share of time some kind of waiting took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Average over 10 seconds, in percent.
    pub avg10: f64,
    /// Average over 60 seconds, in percent.
    pub avg60: f64,
    /// Average over 300 seconds, in percent.
    pub avg300: f64,
    /// All of it since boot (or since the cgroup was made), in microseconds.
    pub total_us: u64,
}

/// Pressure on one resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// At least one task waited.
    pub some: Option<Stall>,
    /// Every runnable task waited. System-wide CPU pressure has no such line before Linux 5.13.
    pub full: Option<Stall>,
}

/// Reads the file.
pub fn parse(text: &str) -> Parsed<Pressure> {
    let mut parsed = Parsed::<Pressure>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let stall = stall(rest);
        match kind {
            "some" if stall.is_some() => parsed.value.some = stall,
            "full" if stall.is_some() => parsed.value.full = stall,
            _ => {
                let wanted = "'some' or 'full' with avg10, avg60, avg300 and total";
                parsed.note(ParseError::new("pressure", number, line, wanted));
            }
        }
    }
    parsed
}

fn stall(text: &str) -> Option<Stall> {
    let mut found = (None, None, None, None);
    for word in text.split_ascii_whitespace() {
        let (key, value) = word.split_once('=')?;
        match key {
            "avg10" => found.0 = Some(percent(value)?),
            "avg60" => found.1 = Some(percent(value)?),
            "avg300" => found.2 = Some(percent(value)?),
            "total" => found.3 = Some(decimal(value)?),
            _ => {}
        }
    }
    Some(Stall { avg10: found.0?, avg60: found.1?, avg300: found.2?, total_us: found.3? })
}

/// Digits and a point only: Rust would take `inf`, `nan` and exponents too.
fn percent(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = if plain {
        text.parse().ok()?
    } else {
        return None;
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_lines() {
        let text = "some avg10=1.50 avg60=0.25 avg300=0.00 total=123456\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        let parsed = parse(text);
        assert_eq!(parsed.problems, []);
        let some = Stall { avg10: 1.5, avg60: 0.25, avg300: 0.0, total_us: 123_456 };
        assert_eq!(parsed.value.some, Some(some));
        assert_eq!(parsed.value.full.map(|stall| stall.total_us), Some(7));
    }

    #[test]
    fn an_incomplete_line_is_unknown() {
        let parsed = parse("some avg10=0.00 avg60=0.00\nfull avg10=nan avg60=0 avg300=0 total=0\n");
        assert_eq!((parsed.value.some, parsed.value.full), (None, None));
        assert_eq!(parsed.problems.len(), 2);
    }
}
