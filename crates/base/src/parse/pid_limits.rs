//! `/proc/PID/limits` (proc_pid_limits(5), `proc_pid_limits` of `fs/proc/base.c`).

use serde::{Deserialize, Serialize};

use super::{ParseError, Parsed, decimal, numbered_lines};

/// Name of the row of `RLIMIT_MEMLOCK`.
const MEMLOCK: &str = "Max locked memory";

/// Limits of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PidLimits {
    /// Soft limit of `Max locked memory`, in bytes; `u64::MAX` is unlimited.
    pub memlock_bytes: Option<u64>,
}

/// Reads the file. Limits this program has no use for are passed over in silence.
pub fn parse(text: &str) -> Parsed<PidLimits> {
    let mut parsed = Parsed::<PidLimits>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let Some(row) = line.strip_prefix(MEMLOCK) else { continue };
        match soft_bytes(row) {
            Some(bytes) => parsed.value.memlock_bytes = Some(bytes),
            None => parsed.note(ParseError::new("limits", number, line, "two limits in bytes")),
        }
    }
    parsed
}

/// All three columns must be there: a torn line could have lost digits.
fn soft_bytes(row: &str) -> Option<u64> {
    let mut words = row.split_ascii_whitespace();
    let (soft, _hard, unit) = (words.next()?, words.next()?, words.next()?);
    match soft {
        _ if unit != "bytes" => None,
        "unlimited" => Some(u64::MAX),
        _ => decimal(soft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_soft_limit() {
        let text = |row: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max processes             96000                96000                processes \n\
                 {row}\n"
            )
        };
        let row = "Max locked memory         8388608              unlimited            bytes     ";
        let parsed = parse(&text(row));
        assert_eq!(parsed.problems, []);
        assert_eq!(parsed.value.memlock_bytes, Some(8 << 20));
        let row = "Max locked memory         unlimited            unlimited            bytes     ";
        assert_eq!(parse(&text(row)).value.memlock_bytes, Some(u64::MAX));
        assert_eq!(parse("").value.memlock_bytes, None);
    }

    #[test]
    fn a_torn_row_is_no_limit() {
        let row = "Max locked memory         8388608              8388608              bytes";
        for end in MEMLOCK.len()..row.len() {
            let parsed = parse(&row[..end]);
            assert_eq!((parsed.value.memlock_bytes, parsed.problems.len()), (None, 1), "{end}");
        }
    }
}
