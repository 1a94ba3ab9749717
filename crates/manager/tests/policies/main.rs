//! What policies choose, and what comes of it: over seeds of the simulator.

#![forbid(unsafe_code)]

mod page;
mod properties;
mod text;
