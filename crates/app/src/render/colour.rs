//! Colour, or none. Nothing may be said by colour alone.

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
    /// Colour where it is `wanted`; where nothing was said, on a terminal unless `no_colour`.
    pub(crate) fn new(wanted: Option<bool>, is_terminal: bool, no_colour: bool) -> Self {
        let coloured = wanted.unwrap_or(is_terminal && !no_colour);
        Self(if coloured { Ink::Colour } else { Ink::Plain })
    }

    /// Whether there is colour.
    pub(crate) fn is_coloured(self) -> bool {
        self.0 == Ink::Colour
    }

    /// No colour, whatever the environment.
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

    /// Worth attention: yellow.
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
        let red = "\x1b[31mx\x1b[0m";
        assert_eq!(Paint::new(Some(false), true, false).bad("x"), "x");
        assert_eq!(Paint::new(None, false, false).bad("x"), "x");
        assert_eq!(Paint::new(None, true, false).bad("x"), red);
        assert_eq!(Paint::new(None, true, true).bad("x"), "x");
        assert_eq!(Paint::new(Some(true), false, true).bad("x"), red);
        assert_eq!(Paint::new(Some(true), false, false).bad(""), "");
    }
}
