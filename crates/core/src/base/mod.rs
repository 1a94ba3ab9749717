//! What every other room stands on: units, error numbers, sizes as people write them, named
//! tables, random numbers from a seed. Imports nothing else of this crate.

pub mod calendar;
pub mod count;
pub mod errno;
pub mod escape;
pub mod exit;
pub(crate) mod named;
pub mod owner;
pub mod problem;
pub mod rng;
pub mod size;
pub mod units;
