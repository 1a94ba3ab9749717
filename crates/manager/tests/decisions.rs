//! What the manager decides: over seeds of the simulator, and over recordings. One program, because
//! each is linked anew whenever the library changes.

mod compaction;
mod neighbours;
mod policies;
mod replays;
mod simulation;
