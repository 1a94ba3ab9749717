//! Who is left alone because a call into one of their processes did not return in time.
//!
//! A process, or the server of a file that it maps, can hold the lock of its address space for as
//! long as it likes. The process that waited for it is given up, and its user is not asked again
//! for a while: twice as long after each time, up to [`LONGEST`].

use hugewise_base::units::Ns;
use std::collections::BTreeMap;

/// First suspension. Each costs the others at most one deadline, so that a user who never answers
/// takes less than a tenth of the time from them.
pub const FIRST: Ns = Ns::s(10);
/// Longest suspension.
pub const LONGEST: Ns = Ns::s(640);

/// Who stands for a process: its user; root's processes are told apart by their cgroups, because
/// the containers of many users run as root.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    uid: Option<u32>,
    cgroup: Option<String>,
}

impl Party {
    /// Of a process of this user, in this cgroup; `None` where it is unknown.
    pub fn of(uid: Option<u32>, cgroup: Option<&str>) -> Self {
        let by_cgroup = uid.is_none_or(|uid| uid == 0);
        Self { uid, cgroup: cgroup.filter(|_| by_cgroup).map(str::to_owned) }
    }
}

/// Suspended parties.
#[derive(Debug, Default)]
pub struct Suspensions(BTreeMap<Party, Suspension>);

#[derive(Debug)]
struct Suspension {
    until: Ns,
    length: Ns,
}

impl Suspensions {
    /// A call into a process of `party` did not return in time.
    pub fn missed(&mut self, party: &Party, now: Ns) {
        let before = self.0.get(party).map(|suspension| suspension.length);
        let length = before.map_or(FIRST, |length| Ns(length.0.saturating_mul(2)).min(LONGEST));
        self.0.insert(party.clone(), Suspension { until: now + length, length });
    }

    /// Whether none is remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `party` is left alone now.
    pub fn is_suspended(&self, party: &Party, now: Ns) -> bool {
        self.0.get(party).is_some_and(|suspension| now < suspension.until)
    }

    /// How many parties are left alone now.
    pub fn suspended(&self, now: Ns) -> usize {
        self.0.values().filter(|suspension| now < suspension.until).count()
    }

    /// Forgets those whose last suspension ended [`LONGEST`] ago.
    pub fn forgive(&mut self, now: Ns) {
        self.0.retain(|_, suspension| now < suspension.until + LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suspension_is_twice_as_long_up_to_the_longest() {
        let (mut all, party) = (Suspensions::default(), Party::of(Some(1000), Some("/a")));
        let mut now = Ns::s(1);
        for seconds in [10, 20, 40, 80, 160, 320, 640, 640] {
            all.missed(&party, now);
            assert!(all.is_suspended(&party, now + Ns::s(seconds - 1)));
            now += Ns::s(seconds);
            assert!(!all.is_suspended(&party, now));
        }
        all.forgive(now + LONGEST);
        all.missed(&party, now);
        assert!(!all.is_suspended(&party, now + FIRST), "it begins anew");
    }

    #[test]
    fn users_stand_for_all_their_processes_and_root_for_those_of_one_cgroup() {
        let mut all = Suspensions::default();
        all.missed(&Party::of(Some(1000), Some("/a")), Ns(1));
        all.missed(&Party::of(Some(0), Some("/pod1")), Ns(1));
        let suspended = |uid, cgroup| all.is_suspended(&Party::of(uid, cgroup), Ns(2));
        assert!(suspended(Some(1000), Some("/b")));
        assert!(suspended(Some(0), Some("/pod1")));
        assert!(!suspended(Some(0), Some("/pod2")));
        assert!(!suspended(Some(1001), Some("/a")));
        assert_eq!((all.suspended(Ns(2)), all.suspended(Ns(1) + FIRST)), (2, 0));
    }
}
