//! Numbers that any program prints: the last line of its output, an object of JSON.

use serde_json::Value;
use std::collections::BTreeMap;

/// Longest name of a number.
const NAME_MAX: usize = 60;

/// Why an output gives no numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// Nothing was printed.
    #[error("it printed nothing; the last line must be an object of JSON, as {{\"rate\": 1.5}}")]
    Empty,
    /// The last line is no object.
    #[error("the last line of its output is no object of JSON: {0}")]
    NoObject(String),
    /// A value is no number.
    #[error("'{0}' in the last line of its output is no number")]
    NoNumber(String),
    /// A name that no metric can have.
    #[error(
        "'{0}' in the last line of its output cannot be a metric: 1 to 60 letters, digits, '_' \
         and '.'"
    )]
    BadName(String),
}

/// The numbers by their names.
///
/// # Errors
/// When the last line that is not blank is no object of numbers.
pub fn last_line(output: &str) -> Result<BTreeMap<String, f64>, OutputError> {
    let line = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let line = line.ok_or(OutputError::Empty)?;
    let Ok(Value::Object(object)) = serde_json::from_str(line) else {
        return Err(OutputError::NoObject(line.chars().take(100).collect()));
    };
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
    let mut numbers = BTreeMap::new();
    for (name, value) in object {
        if !(1..=NAME_MAX).contains(&name.len()) || !name.bytes().all(allowed) {
            return Err(OutputError::BadName(name.escape_debug().take(NAME_MAX).collect()));
        }
        let Some(number) = value.as_f64().filter(|number| number.is_finite()) else {
            return Err(OutputError::NoNumber(name));
        };
        numbers.insert(name, number);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_line_counts() {
        let numbers = last_line("{\"rate\": 1}\nnoise\n{\"rate\": 2.5, \"a.b\": 3}\n\n");
        let wanted = [("a.b".to_owned(), 3.0), ("rate".to_owned(), 2.5)];
        assert_eq!(numbers, Ok(BTreeMap::from(wanted)));
        assert_eq!(last_line("{}"), Ok(BTreeMap::new()));
    }

    #[test]
    fn what_is_wrong_has_a_name() {
        assert_eq!(last_line(" \n"), Err(OutputError::Empty));
        assert_eq!(last_line("{}\ndone"), Err(OutputError::NoObject("done".into())));
        assert_eq!(last_line("[1]"), Err(OutputError::NoObject("[1]".into())));
        assert_eq!(last_line("{\"a\": \"1\"}"), Err(OutputError::NoNumber("a".into())));
        assert_eq!(last_line("{\"a b\": 1}"), Err(OutputError::BadName("a b".into())));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "(?s).{0,80}") {
            let _ = last_line(&text);
        }

        #[test]
        fn what_was_written_is_read(
            numbers in prop::collection::btree_map("[a-z_.]{1,9}", -1e12..1e12f64, 0..6),
        ) {
            let line = serde_json::to_string(&numbers).expect("plain numbers");
            let read = last_line(&format!("first\n{line}\n")).expect("an object");
            prop_assert_eq!(read.len(), numbers.len());
            for (name, number) in &numbers {
                prop_assert!((read[name] - number).abs() <= number.abs() * 1e-12);
            }
        }
    }
}
