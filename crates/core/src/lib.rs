//! The pure half of hugewise: parse, decide, simulate, compute.
//!
//! Nothing here touches files, the clock, the environment, threads or random hash order (see this
//! crate's `clippy.toml`), so the same code runs live, replayed and simulated, and a recorded
//! night gives the same decisions on every machine.
//!
//! The rooms, in their order; none imports one that stands after it:
//!
//! 1. [`base`]: units, sizes, named tables;
//! 2. [`parse`]: the kernel's text; [`stats`]: what measurements say;
//! 3. [`manager`] (the loop and its policy) and [`evidence`] (recordings, HugeTLB, diagnosis),
//!    which do not import each other;
//! 4. [`experiment`]: what is compared, and what follows.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod base;
pub mod evidence;
pub mod experiment;
pub mod manager;
pub mod parse;
pub mod stats;
