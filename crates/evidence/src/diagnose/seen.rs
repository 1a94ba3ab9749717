//! A single value of a recording.

use super::interval::Interval;
use crate::recording::{Field, Point, SourceId, Subject};

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

/// What has a value.
pub(crate) trait Valued {
    /// The value.
    fn value(&self) -> f64;
}

impl Valued for Seen {
    fn value(&self) -> f64 {
        self.value
    }
}

impl Valued for Point {
    fn value(&self) -> f64 {
        self.value
    }
}

impl<A, V: Valued> Valued for (A, V) {
    fn value(&self) -> f64 {
        self.1.value()
    }
}

/// The one with the highest value, the first of equal ones.
pub(crate) fn most<V: Valued>(all: impl IntoIterator<Item = V>) -> Option<V> {
    all.into_iter().reduce(|a, b| if b.value() > a.value() { b } else { a })
}

/// The one with the lowest value, the first of equal ones.
pub(crate) fn least<V: Valued>(all: impl IntoIterator<Item = V>) -> Option<V> {
    all.into_iter().reduce(|a, b| if b.value() < a.value() { b } else { a })
}

/// The sum of several, told as the first one's.
pub(crate) fn sum(all: impl IntoIterator<Item = Seen>) -> Option<Seen> {
    all.into_iter().reduce(|sum, more| Seen { value: sum.value + more.value, ..sum })
}
