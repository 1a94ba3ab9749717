//! What is told of a diagnosis: as JSON, and as an exit code.

use crate::exit;
use crate::render::view::diagnosis;
use hugewise_evidence::diagnose::{Diagnosis, Severity};

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
    !found.problems.is_empty() || diagnosis::nothing_seen(found) || (silent && left_out)
}

/// The exit code.
pub(super) fn code(found: &Diagnosis) -> u8 {
    match found.worst() {
        Some(Severity::Critical) => exit::CRITICAL,
        Some(Severity::Warning) => exit::WARNING,
        Some(Severity::Note) | None if partial(found) => exit::PARTIAL,
        Some(Severity::Note) | None => exit::OK,
    }
}
