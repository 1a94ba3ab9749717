//! What products want of a host, and rules.

pub(crate) mod change;
pub(crate) mod place;
pub(crate) mod report;
pub(crate) mod rules;
mod words;
