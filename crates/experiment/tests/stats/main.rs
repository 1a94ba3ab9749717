//! The statistics against other programs, against experiments whose truth is known, and against
//! values that are none.

mod aa;
mod stopping;
mod unknown;
mod vectors;
