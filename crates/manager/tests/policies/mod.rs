//! What policies choose, and what comes of it: over seeds of the simulator.

mod page;
mod properties;
mod text;
