//! Who had how much lately of what all programs share.

use crate::base::units::Ns;
use crate::manager::decision::Outcome;
use crate::manager::limits::shares::{Owner, Shares};

/// After this time CPU time and attempts of somebody count half.
const HALF_LIFE: Ns = Ns::s(10);
/// After this time a promotion counts half that was let go: a user who lets everything go was given
/// as much in it as others hold (`docs/measurements.md#defaults-by-choice`).
const SERVED_HALF_LIFE: Ns = Ns::s(600);
/// CPU time, ns, that is not worth remembering as somebody's share.
const FORGOTTEN_NS: f64 = 1_000.0;
/// The same in attempts and promotions.
const FORGOTTEN_ATTEMPTS: f64 = 0.1;

/// Shares of what is not a budget of anybody's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Lately {
    /// CPU time of scans, ns.
    pub scans: Shares,
    /// Attempts that came to nothing.
    pub fruitless: Shares,
    /// Regions made huge, whether or not they still are.
    pub served: Shares,
    /// CPU time of promotions and splits, ns.
    pub spent: Shares,
}

impl Default for Lately {
    fn default() -> Self {
        Self {
            scans: Shares::new(HALF_LIFE),
            fruitless: Shares::new(HALF_LIFE),
            served: Shares::new(SERVED_HALF_LIFE),
            spent: Shares::new(HALF_LIFE),
        }
    }
}

impl Lately {
    /// Charges what was done for `owner`.
    pub fn acted(&mut self, owner: &Owner, outcome: &Outcome, now: Ns) {
        self.spent.charge(owner, outcome.cpu().0 as f64, now);
        if matches!(outcome, Outcome::Promoted { .. }) {
            self.served.charge(owner, 1.0, now);
        }
    }

    /// Forgets what is next to nothing by now.
    pub fn forget(&mut self, now: Ns) {
        self.scans.forget_below(FORGOTTEN_NS, now);
        self.fruitless.forget_below(FORGOTTEN_ATTEMPTS, now);
        self.served.forget_below(FORGOTTEN_ATTEMPTS, now);
        self.spent.forget_below(FORGOTTEN_NS, now);
    }
}
