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
    most_by(all, V::value)
}

/// The one with the lowest value, the first of equal ones.
pub(crate) fn least<V: Valued>(all: impl IntoIterator<Item = V>) -> Option<V> {
    least_by(all, V::value)
}

/// The one with the highest key, the first of equal ones.
pub(crate) fn most_by<T, K: PartialOrd>(
    all: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Option<T> {
    all.into_iter().reduce(|a, b| if key(&b) > key(&a) { b } else { a })
}

/// The one with the lowest key, the first of equal ones.
pub(crate) fn least_by<T, K: PartialOrd>(
    all: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Option<T> {
    all.into_iter().reduce(|a, b| if key(&b) < key(&a) { b } else { a })
}
