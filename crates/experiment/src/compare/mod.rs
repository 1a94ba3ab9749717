//! Two variants of an experiment by one metric: how far apart, how sure, and what follows.
//!
//! [`compare`] looks at one variant against the baseline. [`judge()`] takes all comparisons that
//! one reader will look at together, so that the chance of a wrong difference anywhere stays at
//! alpha.

mod comparison;
mod judge;
mod words;

pub(crate) use comparison::visible_percent;
pub use comparison::{Comparison, Estimate, Rule, Side, compare};
pub use judge::{Judged, Judgement, Reason, judge};
pub(crate) use words::{decimals, two_digits_up};

pub use super::metric::Better;
