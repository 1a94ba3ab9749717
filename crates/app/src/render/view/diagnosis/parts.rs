//! Parts of a finding's text, short or full.

use crate::render::colour::Paint;
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
    let first = finding.intervals.iter().take(INTERVALS_MAX).map(ToString::to_string);
    let mut times: Vec<String> = first.collect();
    let more = finding.intervals.len().saturating_sub(INTERVALS_MAX);
    if more > 0 {
        times.push(format!("and {more} more"));
    }
    (!times.is_empty()).then(|| times.join("; "))
}
