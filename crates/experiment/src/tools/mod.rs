//! What programs of others print, read for experiments.

pub mod output;
pub mod pgbench;
