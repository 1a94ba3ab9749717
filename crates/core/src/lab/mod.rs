//! Experiments: what is put under load, and how what came of it is judged.

pub mod load;
