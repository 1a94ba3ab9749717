//! Experiments: variants of settings compared over interleaved, randomised, repeated runs.

pub mod compare;
