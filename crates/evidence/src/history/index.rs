//! What a day file holds: the places of its frames, and which of them can be unpacked.

use super::frame::{HEAD_BYTES, Head};
use std::ops::RangeInclusive;

/// A frame and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Its head.
    pub head: Head,
}

impl Place {
    /// Where its packed text begins.
    pub const fn packed(&self) -> u64 {
        self.offset.saturating_add(HEAD_BYTES as u64)
    }

    /// Where it ends.
    pub const fn end(&self) -> u64 {
        self.packed().saturating_add(self.head.packed_bytes as u64)
    }
}

/// The frames of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    places: Vec<Place>,
    damaged_bytes: u64,
}

impl Index {
    /// The frames.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Bytes between frames, and behind the last, that are none.
    pub const fn damaged_bytes(&self) -> u64 {
        self.damaged_bytes
    }

    /// Where the last frame ends.
    pub fn end(&self) -> u64 {
        self.places.last().map_or(0, Place::end)
    }

    /// Takes the next frame.
    pub fn push(&mut self, place: Place) {
        self.damaged_bytes += place.offset.saturating_sub(self.end());
        self.places.push(place);
    }

    /// Says where the file ends: what is behind the last frame is damaged.
    pub fn close(&mut self, length: u64) {
        self.damaged_bytes += length.saturating_sub(self.end());
    }

    /// The frames that have to be unpacked for this one, itself the last; `None` where one of them
    /// is gone.
    pub fn chain(&self, at: usize) -> Option<RangeInclusive<usize>> {
        let number = usize::try_from(self.places.get(at)?.head.number).ok()?;
        let first = at.checked_sub(number)?;
        let chain = self.places.get(first..=at)?;
        let whole = chain.first()?.head.number == 0
            && chain.windows(2).all(|pair| pair[1].head.follows(&pair[0].head));
        whole.then_some(first..=at)
    }
}

/// The latest of these times that is not after `at_ms`, of equal ones the last; `None`: all are.
/// Clocks are set back now and then: the times need no order.
pub fn at_or_before(times_ms: impl IntoIterator<Item = i64>, at_ms: i64) -> Option<usize> {
    let before = times_ms.into_iter().enumerate().filter(|(_, time)| *time <= at_ms);
    before.max_by_key(|(place, time)| (*time, *place)).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::super::frame::tests::head;
    use super::*;
    use proptest::prelude::*;

    fn index(numbers: &[u32]) -> Index {
        let mut index = Index::default();
        for (n, number) in numbers.iter().enumerate() {
            let offset = n as u64 * (HEAD_BYTES as u64 + 10);
            index.push(Place { offset, head: head(*number, 0) });
        }
        index
    }

    #[test]
    fn a_chain_begins_with_a_frame_that_stands_alone() {
        let index = index(&[0, 1, 2, 0, 1, 3]);
        assert_eq!(index.chain(0), Some(0..=0));
        assert_eq!(index.chain(2), Some(0..=2));
        assert_eq!(index.chain(4), Some(3..=4));
        assert_eq!(index.chain(5), None, "one of it is gone");
        assert_eq!(index.chain(6), None);
        assert_eq!(index.damaged_bytes(), 0);
    }

    #[test]
    fn what_is_no_frame_is_counted() {
        let mut index = Index::default();
        index.push(Place { offset: 100, head: head(0, 0) });
        index.close(100 + 58 + 7);
        assert_eq!(index.damaged_bytes(), 107);
    }

    #[test]
    fn a_clock_that_was_set_back_hides_nothing() {
        let times = [10, 20, 15, 25];
        assert_eq!(at_or_before(times, 9), None);
        assert_eq!(at_or_before(times, 19), Some(2));
        assert_eq!(at_or_before(times, 24), Some(1));
        assert_eq!(at_or_before(times, i64::MAX), Some(3));
        assert_eq!(at_or_before([5, 5], 5), Some(1));
    }

    proptest! {
        #[test]
        fn a_chain_holds_whatever_the_numbers(
            numbers in proptest::collection::vec(0..5_u32, 0..20),
        ) {
            let index = index(&numbers);
            for at in 0..numbers.len() {
                if let Some(chain) = index.chain(at) {
                    prop_assert_eq!(*chain.end(), at);
                    prop_assert_eq!(numbers[*chain.start()], 0);
                }
            }
        }
    }
}
