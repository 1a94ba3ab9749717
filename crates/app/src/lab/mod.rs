//! Experiments: the half that acts.

pub(crate) mod load;
