//! A single value of a recording.

use super::extreme::Valued;
pub(crate) use super::extreme::{least, least_by, most, most_by};
use super::interval::Interval;
use crate::recording::{Field, SourceId, Subject};

/// A value that was seen.
#[derive(Clone, Debug)]
pub struct Reading {
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

impl Valued for Reading {
    fn value(&self) -> f64 {
        self.value
    }
}

/// The sum of several, reported as the first one's.
pub(crate) fn sum(all: impl IntoIterator<Item = Reading>) -> Option<Reading> {
    all.into_iter().reduce(|sum, more| Reading { value: sum.value + more.value, ..sum })
}
