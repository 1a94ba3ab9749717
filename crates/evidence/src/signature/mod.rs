//! Signatures: which counters each kind of load moves on a machine, and which mixture of loads a
//! bad time resembles.
//!
//! A [`Vector`] is what a machine does in some time, as rates that add up where loads run side by
//! side. A [`Signature`] is the vector of one stressor. [`fit`] finds the mixture nearest to a
//! vector, [`judge`] says what that means, and [`file`] is how signatures are kept.

pub mod feature;
pub mod file;
mod fit;
mod judge;
mod measured;
mod vector;

#[cfg(test)]
mod tests;

pub use file::{Signature, Signatures, Skipped};
pub use fit::{Fit, PARTS_MAX, Space, between};
pub use judge::{
    Baseline, IN_PART_MAX, Misfit, Other, Part, RESEMBLES_MAX, Resemblance, Verdict, judge,
    resembled,
};
pub use measured::Measured;
pub use vector::Vector;
