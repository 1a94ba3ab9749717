//! What a machine says of itself: recordings, HugeTLB pools and their users, the diagnosis that
//! follows, and when a closer look is due.

pub mod diagnose;
pub mod hugetlb;
pub mod recording;
pub mod watch;
