//! A single value of a recording.

use super::interval::Interval;
use crate::recording::{Field, SourceId, Subject};

/// A value that was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The quantity.
    pub field: Field,
    /// Whose.
    pub subject: Subject,
    /// The value.
    pub value: f64,
    /// When.
    pub at: Interval,
    /// From where.
    pub source: SourceId,
}
