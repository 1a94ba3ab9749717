//! How things look on the screen.

use ratatui::style::{Color, Modifier, Style};

/// Colours, or what is left where there are none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    /// Whether there are colours.
    pub(crate) coloured: bool,
}

impl Palette {
    pub(super) fn colour(self, colour: Color) -> Style {
        if self.coloured { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub(super) fn warn(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(super) fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn bold() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
