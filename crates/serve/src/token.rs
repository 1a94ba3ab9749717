//! The secret that whoever asks has to know.

use std::fmt;
use std::hint::black_box;

/// Fewest letters: as many as 128 bits have in hexadecimal.
const FEWEST: usize = 32;
/// Most letters; a longer one is a mistake, such as another file.
const MOST: usize = 512;

/// A secret. It has no form that is printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Takes one, white space around it left out.
    ///
    /// # Errors
    /// What is wrong with it, in words: too short, too long, or letters that a URL would escape.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim_ascii();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !text.bytes().all(plain) {
            return Err("a token has letters, digits, '-' and '_' only".to_owned());
        }
        match text.len() {
            n if n < FEWEST => Err(format!("a token has {FEWEST} letters or more, not {n}")),
            n if n > MOST => Err(format!("a token has {MOST} letters or fewer, not {n}")),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether somebody knows it. How long this takes tells its length, and nothing else.
    pub fn is(&self, said: &[u8]) -> bool {
        let own = self.0.as_bytes();
        if said.len() != own.len() {
            return false;
        }
        let differ = own.iter().zip(said).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        black_box(differ) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() {
        let text = "0123456789abcdef0123456789abcdef";
        let token = Token::new(&format!(" {text}\n")).expect("a token");
        assert!(token.is(text.as_bytes()));
        for wrong in ["", "0", &text[1..], &text.replace('f', "e"), &format!("{text}0")] {
            assert!(!token.is(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(token.reveal(), text);
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn what_is_no_token_says_why() {
        for (text, why) in
            [("", "32 letters"), ("x y", "letters, digits"), ("é", "letters, digits")]
        {
            let said = Token::new(text).expect_err("wrong");
            assert!(said.contains(why), "{said}");
        }
        assert!(Token::new(&"x".repeat(600)).expect_err("wrong").contains("or fewer"));
    }
}
