//! What every other crate stands on: units, sizes as people write them, named tables, the
//! kernel's text ([`parse`]), and what measurements say ([`stats`]).
//!
//! Nothing here touches files, the clock, the environment, threads or random hash order (see this
//! crate's `clippy.toml`), so the same code runs live, replayed and simulated.

#![warn(missing_docs)]

pub mod calendar;
pub mod count;
pub mod errno;
pub mod escape;
pub mod exit;
pub mod format;
pub mod named;
pub mod owner;
pub mod parse;
pub mod problem;
pub mod rng;
pub mod size;
pub mod stats;
pub mod units;
