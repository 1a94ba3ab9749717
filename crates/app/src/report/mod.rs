//! The HTML report: one file that needs nothing else.
use crate::trial::{Trial, verdict::Verdict};

/// The page.
pub(crate) fn page(_trial: &Trial, _verdict: &Verdict) -> anyhow::Result<String> {
    Ok(String::new())
}
