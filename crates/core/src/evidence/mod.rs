//! What a machine says of itself: recordings, HugeTLB pools and their users, and the diagnosis
//! that follows.

pub mod diagnose;
pub mod hugetlb;
pub mod recording;
