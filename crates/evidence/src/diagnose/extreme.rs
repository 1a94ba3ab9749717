//! The highest and the lowest of several values.

use crate::recording::Point;

/// What has a value.
pub(crate) trait Valued {
    /// The value.
    fn value(&self) -> f64;
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
