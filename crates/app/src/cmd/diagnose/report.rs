//! What is told of a diagnosis: as JSON, and as an exit code.

use crate::exit;
use crate::render::view::diagnosis;
use hugewise_evidence::diagnose::{Diagnosis, Severity};
use hugewise_evidence::placement::Placement;

/// The form of `docs/reference/schemas/diagnose.json`.
pub(crate) fn as_json(found: &Diagnosis) -> anyhow::Result<serde_json::Value> {
    let mut json = serde_json::to_value(found)?;
    json["command"] = "diagnose".into();
    json["version"] = env!("CARGO_PKG_VERSION").into();
    json["partial"] = partial(found).into();
    Ok(json)
}

/// So many lines that nobody knew are more than the words of somebody who asks.
const LINES_LEFT_OUT_MIN: usize = 8;

/// Whether input was left out or cut off: then nothing found is no all-clear.
fn partial(found: &Diagnosis) -> bool {
    let left_out = diagnosis::lines_left_out(found) >= LINES_LEFT_OUT_MIN;
    let silent = found.findings.is_empty();
    // Of a log in no format of its own only what stands out is known.
    let left_out = left_out || !found.logs.is_empty();
    !found.problems.is_empty() || diagnosis::nothing_seen(found) || (silent && left_out)
}

/// The exit code. A host that is busier than the others is a warning; that hosts cannot be compared
/// counts where `comparison_was_asked`.
pub(super) fn code(
    found: &Diagnosis,
    placement: Option<&Placement>,
    comparison_was_asked: bool,
) -> u8 {
    let out_of_line = placement.is_some_and(|all| all.too_busy().next().is_some());
    let lacks = |all: &Placement| !all.left_out.is_empty() || all.middle_percent.is_none();
    let not_compared = comparison_was_asked && placement.is_some_and(lacks);
    match found.worst() {
        Some(Severity::Critical) => exit::CRITICAL,
        Some(Severity::Warning) => exit::WARNING,
        Some(Severity::Note) | None if out_of_line || found.is_under_pressure() => exit::WARNING,
        Some(Severity::Note) | None if partial(found) || not_compared => exit::PARTIAL,
        Some(Severity::Note) | None => exit::OK,
    }
}
