//! Pure logic of `hugewise`: no files, no clock, no environment.
#![forbid(unsafe_code)]

pub mod parse;
