//! The kernel calls `hugewise` needs, as safe functions.
//!
//! This is the only crate of the workspace with `unsafe` code. Every wrapper is narrow: it takes
//! plain numbers and owned or borrowed descriptors, makes one call, and reports what the kernel
//! said. It decides nothing and keeps no state.
//!
//! Every `unsafe` block contains one operation and carries two comments: `SAFETY` (each
//! requirement and why it is met) and `WHY UNSAFE` (why no safe function could be used instead).
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

pub mod cpu;
mod errno;
pub mod fork;
pub mod handed_over;
pub mod localtime;
pub mod madvise;
pub mod memory;
pub mod namespace;
pub mod numa;
pub mod page_cache;
pub mod pagemap;
pub mod perf;
pub mod pidfd;
pub mod pinned;
pub mod prctl;
pub mod prefork;
pub mod record;
pub mod sandbox;
pub mod segment;
pub mod session;
pub mod signal;
pub mod syscall;

pub use errno::{Errno, Presence};
