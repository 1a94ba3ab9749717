//! What ends a run that would harm the users of a service.

/// A bound that protects a live service does not hold: the run is over, and the experiment
/// continues.
#[derive(Debug, thiserror::Error)]
#[error("the guard ended it: {bound}")]
pub(crate) struct Guarded {
    /// Which bound, and what was found.
    pub(crate) bound: String,
}
