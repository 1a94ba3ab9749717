//! Flame graphs: where the recorded time went, by chain of calls, and where it changed.

mod differential;
mod frames;
mod picture;
mod profile;

pub(crate) use differential::push as push_differences;
pub(crate) use profile::{json, push, svg};
