//! Experiments: `hugewise lab`.

pub(crate) mod protocol;
