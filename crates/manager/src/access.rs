//! How a program uses its memory: what a tracker shows, in one form for all trackers.
//!
//! A look has two steps. [`Step::Begin`] forgets what was accessed so far, [`Step::End`] says what
//! was accessed since: [`Access`] for each range that the tracker tells apart. What it cannot tell
//! is a wide range of numbers, never zero.

use crate::reason::SkipReason;
use hugewise_base::named;
use hugewise_base::units::{Addr, Ns, ProcId};
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// A way to learn which memory a program accesses (`docs/measurements.md#access-tracking`).
    Tracker,
    Damon = "damon": "the kernel's DAMON samples the program's addresses",
        "needs CONFIG_DAMON_VADDR and CONFIG_DAMON_SYSFS (Linux 6.2), and DAMON not in use";
    DamonFrames = "damon_frames": "DAMON samples page frames, and huge pages are found among them",
        "needs CONFIG_DAMON_PADDR and CONFIG_DAMON_SYSFS (Linux 6.2), CAP_SYS_ADMIN, and DAMON not \
         in use";
    IdlePages = "idle_pages":
        "the kernel marks page frames idle, and clears the marks of those used",
        "needs CONFIG_IDLE_PAGE_TRACKING, and root";
    Referenced = "referenced":
        "accessed bits are cleared (clear_refs) and counted again (smaps), mapping by mapping",
        "";
    ColdDelta = "cold_delta":
        "one huge page's accessed bit is taken away (MADV_COLD), and the count looked at again",
        "it makes the page look cold to the kernel, too: add it to track.by to use it";
}

impl fmt::Display for Tracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

/// Whether a tracker can be used on this machine, as found out when the manager started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The tracker.
    pub tracker: Tracker,
    /// Why it cannot be used; `None`: it can.
    pub refused: Option<SkipReason>,
}

/// The two halves of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// What was accessed so far is forgotten.
    Begin,
    /// What was accessed since is shown.
    End,
}

/// One half of a look at one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessAsk {
    /// Whose memory.
    pub target: ProcId,
    /// By which tracker.
    pub by: Tracker,
    /// Which half.
    pub step: Step,
    /// CPU time that it may take.
    pub budget: Ns,
    /// Time for which the program's mm lock may be held for writing in one piece.
    pub lock: Ns,
}

/// What was accessed in one range since the look began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Where it starts.
    pub from: Addr,
    /// Where it ends.
    pub to: Addr,
    /// At least so many of its base pages were accessed. A huge page has one accessed bit: if it
    /// is set, at least one of its base pages was.
    pub least_pages: u64,
    /// ... and at most so many.
    pub most_pages: u64,
}

/// The answer to an [`AccessAsk`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessReport {
    /// Whose memory.
    pub target: ProcId,
    /// By which tracker.
    pub by: Tracker,
    /// Which half.
    pub step: Step,
    /// What was seen, ascending and without overlaps; nothing for the first half.
    pub seen: Vec<Access>,
    /// Why nothing was.
    pub refused: Option<SkipReason>,
    /// CPU time that it took.
    pub cost: Ns,
    /// Time for which the program's mm lock was held for writing.
    pub lock: Ns,
}

impl AccessReport {
    /// The answer when nothing could be seen.
    pub const fn refused(ask: &AccessAsk, reason: SkipReason, cost: Ns) -> Self {
        let AccessAsk { target, by, step, .. } = *ask;
        Self { target, by, step, seen: Vec::new(), refused: Some(reason), cost, lock: Ns(0) }
    }
}
