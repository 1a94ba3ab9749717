//! The tests of this crate's files and findings, as one program: each is linked anew whenever the
//! library changes.

mod corpus;
mod diagnose;
mod hostile;
mod hugetlb;
mod recording_properties_c;
mod recording_properties_listings;
mod recording_properties_sysstat;
mod recording_sysstat;
mod response_properties;
mod signatures;
