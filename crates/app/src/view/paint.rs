//! Colour, or none. Nothing may be said by colour alone.

use crate::cli::Color;

/// Paints text for a terminal, or leaves it as it is.
///
/// Pad first, paint then: escape sequences have a length but no width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint(Ink);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ink {
    Colour,
    Plain,
}

impl Paint {
    /// As `--color` says; `auto`: on a terminal, unless `NO_COLOR` is set and not empty.
    pub(crate) fn new(color: Color, stdout_is_terminal: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self(match color {
            Color::Always => Ink::Colour,
            Color::Auto if stdout_is_terminal && !no_color => Ink::Colour,
            Color::Auto | Color::Never => Ink::Plain,
        })
    }

    /// No colour, whatever the environment.
    #[cfg(test)]
    pub(crate) const fn plain() -> Self {
        Self(Ink::Plain)
    }

    /// As wanted: green.
    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    /// Wrong: red.
    pub(crate) fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    /// To be looked at: yellow.
    pub(crate) fn warn(self, text: &str) -> String {
        self.with("33", text)
    }

    /// Of less interest. (Faint, not grey: grey vanishes on some backgrounds.)
    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    /// Headings and what matters most.
    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self.0 {
            Ink::Colour if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            Ink::Colour | Ink::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_terminal() {
        assert_eq!(Paint::new(Color::Never, true).bad("x"), "x");
        assert_eq!(Paint::new(Color::Auto, false).bad("x"), "x");
        assert_eq!(Paint::new(Color::Always, false).bad("x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Paint::new(Color::Always, false).bad(""), "");
    }
}
