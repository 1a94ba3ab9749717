//! Who had how much lately of what all programs share.

use super::Target;
use crate::decision::{Action, Decision, Outcome};
use crate::limits::shares::{Owner, Shares};
use hugewise_base::units::{Ns, ProcId};
use std::collections::BTreeMap;

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
    /// CPU time of inspections, ns.
    pub inspections: Shares,
    /// CPU time of all that was done, also of what came to nothing, ns.
    pub work: Shares,
    /// Attempts that came to nothing.
    pub fruitless: Shares,
    /// Regions made huge, less those that the manager split: also those that were let go.
    pub served: Shares,
    /// CPU time of splits while memory was not short for everybody, ns.
    pub splits: Shares,
}

impl Default for Lately {
    fn default() -> Self {
        Self {
            scans: Shares::new(HALF_LIFE),
            inspections: Shares::new(HALF_LIFE),
            work: Shares::new(HALF_LIFE),
            fruitless: Shares::new(HALF_LIFE),
            served: Shares::new(SERVED_HALF_LIFE),
            splits: Shares::new(HALF_LIFE),
        }
    }
}

impl Lately {
    /// Charges what was done for `owner`; `short`: memory is short for everybody.
    pub fn acted(
        &mut self,
        owner: &Owner,
        decision: &Decision,
        outcome: &Outcome,
        short: bool,
        now: Ns,
    ) {
        self.work.charge(owner, outcome.cpu().0 as f64, now);
        match outcome {
            Outcome::Promoted { .. } => self.served.charge(owner, 1.0, now),
            // He did not let it go. What lost its huge page before the split he did.
            Outcome::Demoted { .. } if decision.motive.loses_a_huge_page() => {
                self.served.charge(owner, -1.0, now);
            }
            _ => {}
        }
        if decision.action == Action::Demote && !short {
            self.splits.charge(owner, outcome.cpu().0 as f64, now);
        }
    }

    /// Charges CPU time of a scan.
    pub fn scanned(&mut self, owner: &Owner, cost: Ns, now: Ns) {
        self.scans.charge(owner, cost.0 as f64, now);
        self.work.charge(owner, cost.0 as f64, now);
    }

    /// Charges CPU time of an inspection.
    pub fn inspected(&mut self, owner: &Owner, cost: Ns, now: Ns) {
        self.inspections.charge(owner, cost.0 as f64, now);
        self.work.charge(owner, cost.0 as f64, now);
    }

    /// Forgets what is next to nothing by now, and cgroups and processes that are gone: anybody can
    /// make names without end, and what their user had stays.
    pub fn forget(&mut self, targets: &BTreeMap<ProcId, Target>, now: Ns) {
        self.scans.forget_below(FORGOTTEN_NS, now);
        self.inspections.forget_below(FORGOTTEN_NS, now);
        self.work.forget_below(FORGOTTEN_NS, now);
        self.fruitless.forget_below(FORGOTTEN_ATTEMPTS, now);
        self.served.forget_below(FORGOTTEN_ATTEMPTS, now);
        self.splits.forget_below(FORGOTTEN_NS, now);
        self.served.forget_others(targets.values().map(Target::owner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::snapshot::ProcessSample;
    use hugewise_base::units::{Bytes, Geometry};

    #[test]
    fn who_moves_on_is_remembered_as_a_user_only() {
        let (now, mut lately) = (Ns::s(1), Lately::default());
        let target = |pid, cgroup: &str| {
            let sample = ProcessSample::example(pid, Bytes::mib(64));
            let sample = ProcessSample { cgroup: Some(cgroup.to_owned()), ..sample };
            Target::new(&Config::default(), Geometry::X86_64, sample, 1.0, now)
        };
        let here = target(1, "/here");
        for owner in [here.owner(), target(1, "/there").owner(), target(2, "/here").owner()] {
            lately.served.charge(&owner, 1.0, now);
        }
        lately.forget(&BTreeMap::from([(here.sample.id, here.clone())]), now);
        let (owner, served) = (here.owner(), &lately.served);
        assert_eq!(served.of_user(owner.uid, now), 3.0);
        assert_eq!(served.of_cgroup(owner.uid, "/here", now), 2.0);
        assert_eq!(served.of_cgroup(owner.uid, "/there", now), 0.0);
        assert_eq!(served.of_process(owner.process, now), 2.0);
        assert_eq!(served.of_process(target(2, "/here").owner().process, now), 0.0);
    }
}
