//! What the manager decides: over seeds of the simulator, and over recordings. One program, because
//! each is linked anew whenever the library changes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures of a run, for a reader")]

mod compaction;
mod gates;
mod neighbours;
mod policies;
mod replays;
mod simulation;

/// A whole series takes minutes: `make test` runs one part of this many, `make soak` all.
#[allow(clippy::disallowed_methods, reason = "the length of a test is no configuration")]
fn parts() -> u64 {
    if std::env::var_os("HUGEWISE_SOAK").is_some() { 1 } else { 5 }
}
