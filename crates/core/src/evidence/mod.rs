//! What a machine says of itself: recordings, HugeTLB pools and their users, the diagnosis that
//! follows, when a closer look is due, who made it freeze, and which loads a bad time resembles.

pub mod diagnose;
pub mod freeze;
mod functions;
pub mod hugetlb;
pub mod placement;
pub mod recording;
pub mod response;
pub mod signature;
pub mod watch;
