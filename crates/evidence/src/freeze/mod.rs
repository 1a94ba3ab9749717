//! When a machine, or a program on it, freezes: for how long, and who held the CPU or the memory.
//!
//! Three things are freezes. A **CPU** does not run a thread that is ready to, which a probe on it
//! notices by waking too late. Programs wait for **memory**, which the kernel sums up (PSI). And a
//! program is **stopped** by a signal, and continues later.
//!
//! [`Detector`] says when; [`explain()`] says who, from what was recorded meanwhile.

mod detector;
mod explain;
mod work;

#[cfg(test)]
mod tests;

pub use detector::{Detector, Freeze, Late, Signal, What};
pub use explain::{Account, Cause, Counted, Facts, Holder, Program, Ran, explain};
pub use work::Work;
