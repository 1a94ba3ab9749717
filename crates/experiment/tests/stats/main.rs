//! The statistics against other programs, against experiments whose truth is known, and against
//! values that are none.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures of a run, for a reader")]

mod aa;
mod stopping;
mod unknown;
mod vectors;
