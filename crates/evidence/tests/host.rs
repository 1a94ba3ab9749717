//! The tests of this crate's files and findings, as one program: each is linked anew whenever the
//! library changes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures of a run, for a reader")]

mod alphabet;
mod corpus;
mod diagnose;
mod hostile;
mod hugetlb;
mod normalised;
mod public;
mod recording_properties_c;
mod recording_properties_listings;
mod recording_properties_logs;
mod recording_properties_sysstat;
mod recording_sysstat;
mod response_properties;
mod signatures;
