//! The kernel as hugewise sees it: reads a `/proc` and `/sys` root, probes once, acts through
//! `hugewise-sys`, keeps old settings. Decides nothing.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod actuator;
pub mod capture;
pub mod cgroup;
pub mod content;
pub mod foreign;
pub mod hugetlb;
pub mod instance;
mod lines;
pub mod machine;
pub mod pages;
pub mod probe;
pub mod process;
pub mod root;
#[cfg(test)]
mod scratch;
pub mod target;
pub mod trail;
pub mod world;

pub use hugewise_sys::cpu;
pub use hugewise_sys::fork;
pub use hugewise_sys::localtime;
pub use hugewise_sys::memory;
pub use hugewise_sys::prctl;
pub use hugewise_sys::segment;
