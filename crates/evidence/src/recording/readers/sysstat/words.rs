//! Words and numbers of sysstat's listings.

use crate::recording::readers::words::decimal;
pub(in crate::recording::readers) use crate::recording::readers::words::split as words;

/// What is in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::recording::readers) enum Cell {
    /// A number.
    Number(f64),
    /// A number with a size's letter (`--human`): in bytes.
    Bytes(f64),
    /// Nothing: `-`, or `nan` where there was nothing to divide by.
    Absent,
    /// No number.
    Bad,
}

/// Reads a cell. The decimal sign is a point or a comma; there are no signs between thousands.
pub(in crate::recording::readers) fn cell(word: &str) -> Cell {
    if let Some(value) = number(word) {
        return Cell::Number(value);
    }
    if let Some(value) = word.strip_suffix('%').and_then(number) {
        return Cell::Number(value);
    }
    if matches!(word, "-" | "nan" | "-nan") {
        return Cell::Absent;
    }
    let last = word.chars().next_back();
    // The letters of `--human`, each 1024 times the one before.
    let power =
        last.and_then(|last| ['B', 'k', 'M', 'G', 'T', 'P'].iter().position(|l| *l == last));
    let value = power.and_then(|_| number(word.get(..word.len() - 1)?));
    match (power.and_then(|power| i32::try_from(power).ok()), value) {
        (Some(power), Some(value)) => Cell::Bytes(value * 1024_f64.powi(power)),
        _ => Cell::Bad,
    }
}

/// A plain decimal number, below zero or not.
pub(in crate::recording::readers) fn number(word: &str) -> Option<f64> {
    match word.strip_prefix('-') {
        Some(digits) => decimal(digits).map(|value| -value),
        None => decimal(word),
    }
}

/// How many digits follow the decimal sign, whatever follows those.
pub(super) fn decimals(word: &str) -> usize {
    let Some(sign) = word.find(['.', ',']) else { return 0 };
    word.bytes().skip(sign + 1).take_while(u8::is_ascii_digit).count()
}

/// Whether a line is nothing but dots: what an author left out.
pub(in crate::recording::readers) fn is_elision(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '.' | '…' | '·' | ' ' | '⋮'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_as_everywhere() {
        for line in ["", " ", "a", " a", "a ", "a b", "\ta \x0c b\r", "  all   0.1  -  ", "a\u{b}b"]
        {
            let wanted: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words(line), wanted, "{line:?}");
        }
        assert_eq!(words("a\u{a0}b c"), ["a", "b", "c"]);
    }

    #[test]
    fn numbers_of_all_locales() {
        for (word, wanted) in [
            ("0", Some(0.0)),
            ("12.35", Some(12.35)),
            ("12,35", Some(12.35)),
            ("571342.00", Some(571_342.0)),
            ("-1.00", Some(-1.0)),
            ("12345678901234567890.5", Some(12_345_678_901_234_567_890.5)),
            ("1,234.56", None),
            ("1.", None),
            (".5", None),
            ("-", None),
            ("", None),
            ("1e5", None),
        ] {
            assert_eq!(number(word), wanted, "{word}");
        }
        assert_eq!(cell("22.5G"), Cell::Bytes(22.5 * 1024.0 * 1024.0 * 1024.0));
        assert_eq!(cell("18.7%"), Cell::Number(18.7));
        assert_eq!(cell("-nan"), Cell::Absent);
        assert_eq!(cell("G"), Cell::Bad);
        assert_eq!(cell("12é"), Cell::Bad);
    }

    #[test]
    fn lines_of_dots() {
        assert!(is_elision("..................") && is_elision(" … ") && is_elision("..."));
        assert!(!is_elision("") && !is_elision("...x"));
        assert_eq!(words("a\u{a0}b\tc\u{202f}d"), ["a", "b", "c", "d"]);
    }
}
