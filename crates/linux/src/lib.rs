//! The kernel as hugewise sees it: reads a `/proc` and `/sys` root, probes once, acts through
//! `hugewise-sys`, keeps old settings. Decides nothing.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod probe;
pub mod root;

pub use hugewise_sys::cpu;
pub use hugewise_sys::memory;
pub use hugewise_sys::prctl;
