//! Flame graphs: where the recorded time went, by chain of calls.

mod frames;
mod picture;
mod profile;

pub(crate) use profile::{json, push, svg};
