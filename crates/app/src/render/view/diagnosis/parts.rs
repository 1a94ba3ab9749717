//! Parts of a finding's text, short or full.

use crate::render::colour::Paint;
use crate::render::text::listed;
use hugewise_evidence::diagnose::{Finding, Severity};

/// Most intervals that are listed.
pub(super) const INTERVALS_MAX: usize = 8;

/// How bad it is, in a word.
pub(super) fn head(finding: &Finding, paint: Paint) -> String {
    match finding.severity {
        Severity::Critical => paint.bad("CRITICAL"),
        Severity::Warning => paint.warn("WARNING"),
        Severity::Note => paint.dim("NOTE"),
    }
}

/// The times of a finding.
pub(super) fn when(finding: &Finding) -> Option<String> {
    let times = finding.intervals.iter().map(ToString::to_string);
    (times.len() > 0).then(|| listed(times, INTERVALS_MAX))
}
