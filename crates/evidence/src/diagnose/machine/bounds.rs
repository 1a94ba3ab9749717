//! What is known of a quantity: at least this, at most that.

/// An interval that holds a quantity; both ends are finite or `high` is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    /// It is not less.
    pub(crate) low: f64,
    /// It is not more; infinite where nothing bounds it.
    pub(crate) high: f64,
}

impl Bounds {
    /// A value that stands in a source.
    pub(crate) const fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// A value of which a source shows a part.
    pub(crate) const fn at_least(low: f64) -> Self {
        Self { low, high: f64::INFINITY }
    }

    /// The same with a highest value, which is never below the lowest.
    pub(crate) const fn up_to(self, high: f64) -> Self {
        Self { low: self.low, high: high.max(self.low) }
    }

    /// Whether it reaches a limit; `None`: it may or may not.
    pub(crate) fn reaches(self, limit: f64) -> Option<bool> {
        if self.low >= limit {
            Some(true)
        } else if self.high < limit {
            Some(false)
        } else {
            None
        }
    }

    /// As a share of a whole, in percent.
    pub(crate) fn percent_of(self, whole: f64) -> Self {
        let whole = whole.max(1.0);
        Self { low: self.low / whole * 100.0, high: self.high / whole * 100.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_across_a_limit_is_not_known() {
        let free = Bounds::at_least(82.0);
        assert_eq!(free.reaches(10.0), Some(true));
        assert_eq!(free.reaches(90.0), None);
        let little = Bounds::at_least(1.0).up_to(4.0);
        assert_eq!(little.reaches(10.0), Some(false));
        assert_eq!(little.percent_of(200.0), Bounds { low: 0.5, high: 2.0 });
        assert_eq!(Bounds::at_least(5.0).up_to(4.0), Bounds::exact(5.0));
    }
}
