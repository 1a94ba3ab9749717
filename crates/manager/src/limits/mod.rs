//! What no policy can exceed: budgets, back-off, waits, and whether memory is short.
//!
//! Nothing here knows the state or a policy. The state keeps these values and feeds them, the
//! engine asks them before it serves a decision.

pub mod backoff;
pub mod bucket;
pub mod budgets;
pub mod compaction;
pub mod fair;
pub mod pressure;
pub mod shares;
pub mod suspension;
pub mod thresholds;
pub mod waits;
pub mod warm;

use crate::reason::SkipReason;
use backoff::Backoffs;
use hugewise_base::units::Ns;
use pressure::Pressure;
use suspension::Suspension;

/// Why nothing may be promoted in a target of this cgroup at `now`, whatever is allowed elsewhere.
#[must_use]
pub fn target_barred(
    backoffs: &Backoffs,
    pressure: &Pressure,
    suspension: &Suspension,
    cgroup: &str,
    now: Ns,
) -> Option<SkipReason> {
    if backoffs.cgroup_waits(cgroup, now) {
        return Some(SkipReason::CgroupBackoff);
    }
    let short = pressure.on(cgroup).map(|_| SkipReason::CgroupLowMemory);
    short.or_else(|| suspension.active(now))
}
