//! Which trackers this machine has, found out without using any of them.

use crate::kdamond;
use crate::probe::{Capability, privileges, why_not_writable};
use crate::root::Root;
use hugewise_manager::access::{Offer, Tracker};
use hugewise_manager::reason::SkipReason;
use serde::Serialize;

/// Why a tracker cannot be used, and what says so.
type Refusal = (SkipReason, String);

/// What was found out of one tracker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The tracker.
    pub tracker: Tracker,
    /// Why it cannot be used; `None`: it can, as far as files tell.
    pub refused: Option<SkipReason>,
    /// What says so; `None` where nothing does.
    pub why: Option<String>,
}

/// Finds out what there is, in the order of [`Tracker::ALL`]. Reads a few files: about 0.2 ms.
pub fn find(root: &Root) -> Vec<Found> {
    let caps = privileges(root).caps;
    let one = |tracker: &Tracker| {
        let (refused, why) = match look(root, &caps, *tracker) {
            Ok(()) => (None, None),
            Err((reason, why)) => (Some(reason), Some(why)),
        };
        Found { tracker: *tracker, refused, why }
    };
    Tracker::ALL.iter().map(one).collect()
}

/// The same for a manager.
pub fn offers(root: &Root) -> Vec<Offer> {
    let offer = |found: Found| Offer { tracker: found.tracker, refused: found.refused };
    find(root).into_iter().map(offer).collect()
}

fn look(root: &Root, caps: &[Capability], tracker: Tracker) -> Result<(), Refusal> {
    match tracker {
        Tracker::Damon => kdamond::is_free(root),
        Tracker::DamonFrames => {
            kdamond::is_free(root)?;
            holds(caps, "CAP_SYS_ADMIN")
        }
        Tracker::IdlePages => {
            is_there(root, IDLE_BITMAP, "sys/kernel/mm")?;
            holds(caps, "CAP_SYS_ADMIN")?;
            writable(root, IDLE_BITMAP)
        }
        Tracker::Referenced => {
            is_there(root, "proc/self/clear_refs", "proc/self")?;
            is_there(root, "proc/self/smaps", "proc/self")
        }
        Tracker::ColdDelta => {
            is_there(root, "proc/self/smaps", "proc/self")?;
            holds(caps, "CAP_SYS_NICE")
        }
    }
}

/// Idle marks of page frames (Documentation/admin-guide/mm/idle_page_tracking.rst).
pub(super) const IDLE_BITMAP: &str = "sys/kernel/mm/page_idle/bitmap";

/// A file whose absence means something only where `witness` is there.
fn is_there(root: &Root, file: &str, witness: &str) -> Result<(), Refusal> {
    if root.has(file) {
        return Ok(());
    }
    let missing = if root.has(witness) { file } else { witness };
    Err((SkipReason::NoMechanism, format!("/{missing} is missing")))
}

/// A file that may be written.
fn writable(root: &Root, file: &str) -> Result<(), Refusal> {
    match why_not_writable(root, file) {
        Some(why) => Err((SkipReason::NoPermission, why)),
        None => Ok(()),
    }
}

/// A capability that is known to be missing is refused; what is unknown may work.
fn holds(caps: &[Capability], name: &str) -> Result<(), Refusal> {
    match caps.iter().any(|cap| cap.name == name && cap.held == Some(false)) {
        true => Err((SkipReason::NoPermission, format!("needs {name}"))),
        false => Ok(()),
    }
}
