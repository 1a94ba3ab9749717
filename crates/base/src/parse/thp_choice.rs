//! Settings written as a list with the choice in brackets: `always [madvise] never`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ParseError;

/// A setting with its possible values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The value in force.
    pub selected: String,
    /// Every value this kernel offers, in its order.
    pub options: Vec<String>,
}

impl Choice {
    /// Whether this kernel offers `option`.
    pub fn offers(&self, option: &str) -> bool {
        self.options.iter().any(|offered| offered == option)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, option) in self.options.iter().enumerate() {
            let blank = if at == 0 { "" } else { " " };
            if *option == self.selected {
                write!(f, "{blank}[{option}]")?;
            } else {
                write!(f, "{blank}{option}")?;
            }
        }
        Ok(())
    }
}

/// Reads the file.
///
/// # Errors
/// When not exactly one value stands in brackets, or a value stands there twice.
pub fn parse(text: &str) -> Result<Choice, ParseError> {
    let error = |found: &str, wanted| ParseError::new("setting", 1, found, wanted);
    let mut options: Vec<String> = Vec::new();
    let mut selected = None;
    for word in text.split_ascii_whitespace() {
        let chosen = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let option = chosen.unwrap_or(word);
        if option.is_empty() || option.contains(['[', ']']) {
            return Err(error(word, "a value, in brackets if chosen"));
        }
        if options.iter().any(|known| known == option) {
            return Err(error(word, "every value once"));
        }
        options.push(option.to_owned());
        if chosen.is_some() && selected.replace(option.to_owned()).is_some() {
            return Err(error(text, "only one value in brackets"));
        }
    }
    let selected = selected.ok_or_else(|| error(text, "one value in brackets"))?;
    Ok(Choice { selected, options })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_choice() {
        let choice = parse("always defer defer+madvise [madvise] never\n").expect("well formed");
        assert_eq!(choice.selected, "madvise");
        assert_eq!(choice.options.len(), 5);
        assert!(choice.offers("defer+madvise") && !choice.offers("inherit"));
        assert_eq!(choice.to_string(), "always defer defer+madvise [madvise] never");
    }

    #[test]
    fn refuses_none_two_and_torn() {
        for wrong in ["", "always never", "[always] [never]", "always [mad", "[]", "a [a]"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
