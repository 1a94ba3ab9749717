//! What the threads of `top` tell its screen.

use crate::render::view::top::values::{MapPane, Report, Shown};

/// A piece of news.
pub(super) enum News {
    /// A sample of the machine.
    Shown(Box<Shown>),
    /// A region map.
    Map(MapPane),
    /// How a diagnosis goes.
    Report(Report),
}
