//! The pure half of hugewise: parse, decide, simulate, compute.
//!
//! Nothing here touches files, the clock, the environment, threads or random hash order (see this
//! crate's `clippy.toml`), so the same code runs live, replayed and simulated, and a recorded
//! night gives the same decisions on every machine.
//!
//! Reading order: [`engine`] (the loop), [`snapshot`] (what is observed), [`policy`] (what is
//! decided), [`state`] (what is remembered), [`record`] (what is written down).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod config;
pub mod diagnose;
pub mod engine;
pub mod hugetlb;
pub mod lab;
mod named;
pub mod ownership;
pub mod parse;
pub mod policy;
pub mod reason;
pub mod record;
pub mod recording;
pub mod replay;
pub mod sim;
pub mod snapshot;
pub mod state;
pub mod stats;
pub mod status;
pub mod units;
