//! What a machine says of itself: recordings, HugeTLB pools and their users, the diagnosis that
//! follows, what its products want of huge pages, when a closer look is due, who made it freeze,
//! which loads a bad time resembles, its history on disk, and the findings of many machines as one
//! table.
//!
//! Pure: nothing here touches files, the clock, the environment, threads or random hash order
//! (`clippy.toml`).

#![warn(missing_docs)]

pub mod advice;
pub mod bill;
pub mod diagnose;
pub mod fleet;
pub mod freeze;
mod functions;
pub mod history;
pub mod hugetlb;
pub mod placement;
pub mod recording;
pub mod response;
pub mod signature;
mod table;
pub mod watch;
