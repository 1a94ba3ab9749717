//! What the manager decides: over seeds of the simulator, and over recordings. One program, because
//! each is linked anew whenever the library changes.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures of a run, for a reader")]

mod compaction;
mod gates;
mod neighbours;
mod policies;
mod replays;
mod simulation;
