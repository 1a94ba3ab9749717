//! `/proc/PID/uid_map` and `gid_map` (`user_namespaces(7)`): which ids there are in a namespace.

use super::{ParseError, Parsed, decimal, numbered_lines};
use core::ops::Range;

/// Reads either file: ranges of ids as seen within the namespace.
pub fn parse(text: &str) -> Parsed<Vec<Range<u32>>> {
    let mut parsed = Parsed::<Vec<Range<u32>>>::empty();
    for (number, line) in numbered_lines(text.as_bytes()) {
        let line = std::str::from_utf8(line).unwrap_or_default();
        let numbers: Option<Vec<u32>> = line.split_ascii_whitespace().map(decimal).collect();
        match numbers.as_deref() {
            Some([first, _, count]) => parsed.value.push(*first..first.saturating_add(*count)),
            _ => parsed.note(ParseError::new("id_map", number, line, "three numbers")),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ranges() {
        let parsed = parse("         0     100000      65536\n     70000          5         10\n");
        assert_eq!((parsed.value, parsed.problems.len()), (vec![0..65_536, 70_000..70_010], 0));
        let parsed = parse("0 0 4294967295\n1 2\nx\n5 4294967295 4294967295\n");
        assert_eq!(parsed.value, [0..u32::MAX, 5..u32::MAX]);
        assert_eq!(parsed.problems.len(), 2);
    }
}
