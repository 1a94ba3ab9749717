//! What the sections of `status` are built from.

use crate::render::colour::Paint;
use crate::render::text;
use crate::render::view::status::fields::{Field, Kind};
use hugewise_manager::status::TargetStatus;

/// What to do where no manager runs.
pub(crate) const NONE_RUNS: &str =
    "'hugewise manage --dry-run --once' shows what one would do, 'hugewise manage' starts it";

/// The title of a section.
pub(super) fn heading(title: &str, note: &str, paint: Paint) -> String {
    if note.is_empty() {
        return format!("{}\n", paint.bold(title));
    }
    let first = format!("{}  ", paint.bold(title));
    // Each line is painted: a pager may show one without those above it.
    let indent = " ".repeat(text::width(&first));
    let lines = text::wrap(&indent, note);
    let lines = lines.lines().map(|line| paint.dim(&line[indent.len()..]));
    format!("{first}{}\n", lines.collect::<Vec<_>>().join(&format!("\n{indent}")))
}

/// Text columns start at the left, numbers end at the right.
pub(super) fn cell(field: &Field<TargetStatus>, content: &str) -> String {
    match field.kind {
        Kind::Text => text::left(content, field.width()),
        _ => text::right(content, field.width()),
    }
}
