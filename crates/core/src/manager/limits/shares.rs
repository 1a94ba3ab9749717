//! Who had how much of a shared budget lately: who had least is served next.
//!
//! A user may start as many processes as they like, and put them into as many cgroups: the budget
//! is divided among users first, then among the cgroups of a user, then among processes.

use crate::base::units::{Ns, ProcId};
use std::collections::BTreeMap;

/// After this time what somebody had counts half.
const HALF_LIFE: Ns = Ns::s(10);

/// Whom a cost is charged to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The user; unknown owners are one user.
    pub uid: Option<u32>,
    /// The cgroup, or what stands for it.
    pub cgroup: String,
    /// The process.
    pub process: ProcId,
}

/// What an owner had: as a user, as a cgroup of that user, as a process. The smallest is next.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Had(pub f64, pub f64, pub f64);

/// An amount that fades.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Fading {
    amount: f64,
    at: Ns,
}

impl Fading {
    fn now(self, now: Ns) -> f64 {
        self.amount * 0.5f64.powf(now.since(self.at).as_s() / HALF_LIFE.as_s())
    }

    fn add(&mut self, amount: f64, now: Ns) {
        *self = Self { amount: self.now(now) + amount, at: now };
    }
}

/// What each owner had lately.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shares {
    users: BTreeMap<Option<u32>, Fading>,
    cgroups: BTreeMap<(Option<u32>, String), Fading>,
    processes: BTreeMap<ProcId, Fading>,
}

impl Shares {
    /// Charges `owner`.
    pub fn charge(&mut self, owner: &Owner, amount: f64, now: Ns) {
        self.users.entry(owner.uid).or_default().add(amount, now);
        let cgroup = (owner.uid, owner.cgroup.clone());
        self.cgroups.entry(cgroup).or_default().add(amount, now);
        self.processes.entry(owner.process).or_default().add(amount, now);
    }

    /// What a user had, all processes together.
    #[must_use]
    pub fn of_user(&self, uid: Option<u32>, now: Ns) -> f64 {
        self.users.get(&uid).map_or(0.0, |amount| amount.now(now))
    }

    /// What `owner` had.
    #[must_use]
    pub fn of(&self, owner: &Owner, now: Ns) -> Had {
        let faded = |amount: Option<&Fading>| amount.map_or(0.0, |amount| amount.now(now));
        Had(
            self.of_user(owner.uid, now),
            faded(self.cgroups.get(&(owner.uid, owner.cgroup.clone()))),
            faded(self.processes.get(&owner.process)),
        )
    }

    /// Forgets amounts of which less than `least` is left.
    pub fn forget_below(&mut self, least: f64, now: Ns) {
        let stays = |amount: &Fading| amount.now(now) >= least;
        self.users.retain(|_, amount| stays(amount));
        self.cgroups.retain(|_, amount| stays(amount));
        self.processes.retain(|_, amount| stays(amount));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(uid: u32, cgroup: &str, pid: u32) -> Owner {
        let process = ProcId { pid, start_ticks: 1 };
        Owner { uid: Some(uid), cgroup: cgroup.to_owned(), process }
    }

    #[test]
    fn many_processes_and_cgroups_are_one_user() {
        let mut shares = Shares::default();
        for pid in 0..100 {
            shares.charge(&owner(1, &format!("/a{pid}"), pid), 1.0, Ns(0));
        }
        shares.charge(&owner(2, "/b", 200), 50.0, Ns(0));
        // A new process of the first user in a new cgroup comes after the second user.
        let new = shares.of(&owner(1, "/new", 300), Ns(0));
        assert!(new > shares.of(&owner(2, "/b", 200), Ns(0)));
        // ... but before the same user's others.
        assert!(new < shares.of(&owner(1, "/a0", 0), Ns(0)));
    }

    #[test]
    fn what_somebody_had_fades_and_is_forgotten() {
        let mut shares = Shares::default();
        shares.charge(&owner(1, "/a", 1), 8.0, Ns(0));
        assert_eq!(shares.of(&owner(1, "/a", 1), Ns::s(30)), Had(1.0, 1.0, 1.0));
        shares.forget_below(2.0, Ns::s(30));
        assert_eq!(shares, Shares::default());
    }
}
