//! What no policy can exceed: budgets, back-off, waits, and whether memory is short.
//!
//! Nothing here knows the state or a policy. The state keeps these values and feeds them, the
//! engine asks them before it serves a decision.

pub mod backoff;
pub mod bucket;
pub mod budgets;
pub mod compaction;
pub mod demand;
pub mod fair;
pub mod fault_size;
pub mod huge_faults;
pub mod ladder;
pub mod making;
pub mod pressure;
pub mod shares;
pub mod shrinking;
pub mod suspension;
pub mod thresholds;
pub mod waits;
pub mod warm;
