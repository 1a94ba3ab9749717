//! What to promote, what to split, what to leave alone, and why: a function from a [`View`] to a
//! [`Plan`] that changes nothing.
//!
//! * [`Policy`]: the function. Those that are there ([`PolicyKind`]) look at each region
//!   ([`survey`]): they differ in what is eligible, and in which order; [`worth`] is what decides
//!   that in the one in force.
//! * [`contiguity`]: whether compaction would help.
//! * [`inspect`]: which regions are worth a closer look, so that the next view shows more.
//!
//! Which processes are managed ([`select`](crate::select)), what is refused now, how fast
//! and in whose turn ([`limits`](crate::limits), engine) is not a policy's to decide.

pub mod contiguity;
pub mod inspect;
pub mod ledger;
mod plan;
pub mod survey;
mod view;
pub mod worth;

pub use plan::{AllReasons, Plan, Policy, Reasons};
pub use view::View;

use crate::config::PolicyKind;

/// The policy of this kind.
pub fn of(kind: PolicyKind) -> Box<dyn Policy> {
    Box::new(survey::ByRegion::new(kind))
}
