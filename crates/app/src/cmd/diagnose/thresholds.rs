//! Thresholds as they are given: `--set KEY=VALUE`.

use crate::exit::{self, coded};
use hugewise_evidence::diagnose::Thresholds;

/// The usual ones, but for these.
pub(super) fn of(set: &[String]) -> anyhow::Result<Thresholds> {
    let mut thresholds = Thresholds::default();
    for pair in set {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| coded(exit::USAGE, format!("--set '{pair}': expected KEY=VALUE")))?;
        let set = thresholds.set(key.trim(), value.trim());
        set.map_err(|error| coded(exit::USAGE, format!("--set: {error}")))?;
    }
    Ok(thresholds)
}
