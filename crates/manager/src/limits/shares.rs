//! Who had how much of a shared budget lately: who had least is served next.
//!
//! A user may start as many processes as they like, and put them into as many cgroups: the budget
//! is divided among users first, then among the cgroups of a user, then among processes.

use hugewise_base::units::{Ns, ProcId};
use std::collections::{BTreeMap, BTreeSet};

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

/// An amount that fades, as it was when something was last added.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Fading {
    amount: f64,
    at: Ns,
}

/// What each owner had lately.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    half_life: Ns,
    users: BTreeMap<Option<u32>, Fading>,
    cgroups: BTreeMap<Option<u32>, BTreeMap<String, Fading>>,
    processes: BTreeMap<ProcId, Fading>,
}

impl Shares {
    /// Nobody had anything yet; what somebody had counts half after `half_life`.
    pub fn new(half_life: Ns) -> Self {
        let (users, cgroups, processes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { half_life, users, cgroups, processes }
    }

    fn left(&self, had: Option<&Fading>, now: Ns) -> f64 {
        let left = |had: &Fading| {
            had.amount * 0.5f64.powf(now.since(had.at).as_s() / self.half_life.as_s())
        };
        had.map_or(0.0, left)
    }

    /// Charges `owner`, or gives back what was charged: nobody had less than nothing.
    pub fn charge(&mut self, owner: &Owner, amount: f64, now: Ns) {
        let Had(user, cgroup, process) = self.of(owner, now);
        let more = |had: f64| Fading { amount: (had + amount).max(0.0), at: now };
        self.users.insert(owner.uid, more(user));
        let cgroups = self.cgroups.entry(owner.uid).or_default();
        cgroups.insert(owner.cgroup.clone(), more(cgroup));
        self.processes.insert(owner.process, more(process));
    }

    /// What a user had, all processes together.
    pub fn of_user(&self, uid: Option<u32>, now: Ns) -> f64 {
        self.left(self.users.get(&uid), now)
    }

    /// What a cgroup of a user had.
    pub fn of_cgroup(&self, uid: Option<u32>, cgroup: &str, now: Ns) -> f64 {
        self.left(self.cgroups.get(&uid).and_then(|cgroups| cgroups.get(cgroup)), now)
    }

    /// What a process had.
    pub fn of_process(&self, process: ProcId, now: Ns) -> f64 {
        self.left(self.processes.get(&process), now)
    }

    /// What `owner` had.
    pub fn of(&self, owner: &Owner, now: Ns) -> Had {
        Had(
            self.of_user(owner.uid, now),
            self.of_cgroup(owner.uid, &owner.cgroup, now),
            self.of_process(owner.process, now),
        )
    }

    /// Forgets cgroups and processes that are none of these.
    pub fn forget_others(&mut self, owners: impl Iterator<Item = Owner>) {
        let (mut cgroups, mut processes) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new());
        for owner in owners {
            cgroups.entry(owner.uid).or_default().insert(owner.cgroup);
            processes.insert(owner.process);
        }
        self.processes.retain(|process, _| processes.contains(process));
        self.cgroups.retain(|uid, had| {
            let of_user = cgroups.get(uid);
            had.retain(|cgroup, _| of_user.is_some_and(|all| all.contains(cgroup)));
            !had.is_empty()
        });
    }

    /// Forgets amounts of which less than `least` is left.
    pub fn forget_below(&mut self, least: f64, now: Ns) {
        let mut all = std::mem::replace(self, Self::new(self.half_life));
        let stays = |had: &Fading| self.left(Some(had), now) >= least;
        all.users.retain(|_, had| stays(had));
        all.processes.retain(|_, had| stays(had));
        all.cgroups.retain(|_, cgroups| {
            cgroups.retain(|_, had| stays(had));
            !cgroups.is_empty()
        });
        *self = all;
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
        let mut shares = Shares::new(Ns::s(10));
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
        let mut shares = Shares::new(Ns::s(10));
        shares.charge(&owner(1, "/a", 1), 8.0, Ns(0));
        assert_eq!(shares.of(&owner(1, "/a", 1), Ns::s(30)), Had(1.0, 1.0, 1.0));
        shares.forget_below(2.0, Ns::s(30));
        assert_eq!(shares, Shares::new(Ns::s(10)));
    }
}
