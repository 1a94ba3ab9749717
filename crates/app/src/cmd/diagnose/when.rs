//! Which time is diagnosed.

use crate::cli::{DiagnoseArgs, duration};
use crate::cmd::recorded;
use crate::history::History;
use std::ops::RangeInclusive;
use std::time::Duration;

/// How much of the history around a moment is diagnosed unless something else is asked for.
const AROUND: Duration = Duration::from_secs(600);

/// How long is watched, or looked back, if that was said.
pub(super) fn length(args: &DiagnoseArgs) -> anyhow::Result<Option<Duration>> {
    let length = args.r#for.as_deref().map(duration).transpose()?;
    Ok(length.map(|length| Duration::from_nanos(length.0)))
}

/// What was recorded, and the time around the moment that is meant; up to the last one, where none
/// is named. In milliseconds since 1970-01-01 UTC.
pub(super) fn meant(args: &DiagnoseArgs) -> anyhow::Result<(History, RangeInclusive<i64>)> {
    let (past, at) = recorded::open(&args.past)?;
    let length_ms = length(args)?.unwrap_or(AROUND).as_millis();
    let length_ms = i64::try_from(length_ms).unwrap_or(i64::MAX);
    let at_ms = past.moments().get(at).map_or(0, |moment| moment.at_ms);
    let half_ms = if args.past.at.is_some() { length_ms / 2 } else { length_ms };
    let window = at_ms.saturating_sub(half_ms)..=at_ms.saturating_add(half_ms);
    Ok((past, window))
}
