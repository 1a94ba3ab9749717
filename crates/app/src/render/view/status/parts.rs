//! What the sections of `status` are built from.

use crate::render::colour::Paint;
use crate::render::text;
use crate::render::view::status::fields::{Field, Kind};
use hugewise_core::manager::status::TargetStatus;

/// The title of a section.
pub(super) fn heading(title: &str, note: &str, paint: Paint) -> String {
    let gap = if note.is_empty() { "" } else { "  " };
    format!("{}{gap}{}\n", paint.bold(title), paint.dim(note))
}

/// Text columns start at the left, numbers end at the right.
pub(super) fn cell(field: &Field<TargetStatus>, content: &str) -> String {
    match field.kind {
        Kind::Text => text::left(content, field.columns),
        _ => text::right(content, field.columns),
    }
}
