//! A figure with its error bars.

use serde::Serialize;
use std::ops::{Add, Mul, Sub};

/// What a figure is at least, likely, and at most. None of them is negative, but for a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// No less than this.
    pub low: f64,
    /// The best guess.
    pub likely: f64,
    /// No more than this.
    pub high: f64,
}

impl Estimate {
    /// A figure that is known.
    pub const fn exact(value: f64) -> Self {
        Self { low: value, likely: value, high: value }
    }

    /// A figure of which only the ends are known: the middle is as good a guess as any.
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, likely: f64::midpoint(low, high), high }
    }

    /// A figure between the lower ends and the higher ends of two.
    pub const fn either(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            likely: f64::midpoint(self.likely, other.likely),
            high: self.high.max(other.high),
        }
    }

    /// A factor.
    pub fn times(self, factor: f64) -> Self {
        self * Self::exact(factor)
    }
}

impl Add for Estimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            likely: self.likely + other.likely,
            high: self.high + other.high,
        }
    }
}

impl Sub for Estimate {
    type Output = Self;

    /// Least where most is taken away.
    fn sub(self, other: Self) -> Self {
        Self {
            low: self.low - other.high,
            likely: self.likely - other.likely,
            high: self.high - other.low,
        }
    }
}

impl Mul for Estimate {
    type Output = Self;

    /// Of two that are not negative.
    fn mul(self, other: Self) -> Self {
        Self {
            low: self.low * other.low,
            likely: self.likely * other.likely,
            high: self.high * other.high,
        }
    }
}
