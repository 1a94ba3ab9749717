//! Which programs are managed when there are more than `select.max_targets`.

use super::State;
use crate::config::Config;
use crate::snapshot::ProcessSample;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Who is managed already counts as so much larger, in percent: nobody changes places for a page.
const INCUMBENT_PERCENT: f64 = 125.0;
/// Who could not be promoted because it is shared counts as so much smaller: resident pages of a
/// forked child are mostly its parent's.
const SHARED_PERCENT: f64 = 10.0;

type Chosen = (f64, ProcessSample);

impl State {
    /// Deals the places out: one user after the other gets one, and of a user one cgroup after the
    /// other, the largest program first. A user with 300 forks then takes no place that another
    /// user has a program for. Those without a place come second.
    pub(super) fn deal_slots(
        &mut self,
        config: &Config,
        chosen: Vec<Chosen>,
    ) -> (Vec<Chosen>, Vec<ProcessSample>) {
        let listed: BTreeSet<_> = chosen.iter().map(|(_, sample)| sample.id).collect();
        self.programs.shared.retain(|id| listed.contains(id));
        if chosen.len() <= config.select.max_targets {
            return (chosen, Vec::new());
        }
        let mut dealt = self.in_turns(chosen);
        let rest = dealt.split_off(config.select.max_targets);
        (dealt, rest.into_iter().map(|(_, sample)| sample).collect())
    }

    /// What a program counts among others, in bytes.
    fn rank(&self, sample: &ProcessSample) -> u64 {
        let mut size = sample.anon;
        if self.programs.targets.contains_key(&sample.id) {
            size = size.percent(INCUMBENT_PERCENT);
        }
        if self.programs.shared.contains(&sample.id) {
            size = size.percent(SHARED_PERCENT);
        }
        size.0
    }

    fn in_turns(&self, mut chosen: Vec<Chosen>) -> Vec<Chosen> {
        chosen.sort_by_key(|(_, sample)| Reverse((self.rank(sample), sample.id)));
        let mut users = BTreeMap::<_, BTreeMap<_, VecDeque<Chosen>>>::new();
        for (share, sample) in chosen {
            let cgroups = users.entry(sample.account()).or_default();
            let cgroup = cgroups.entry(sample.cgroup_key().into_owned()).or_default();
            cgroup.push_back((share, sample));
        }
        let by_cgroup = |cgroups: BTreeMap<_, _>| self.merge(cgroups.into_values().collect());
        self.merge(users.into_values().map(by_cgroup).collect()).into()
    }

    /// Takes one from each queue in turn; in each round the largest first.
    fn merge(&self, mut queues: Vec<VecDeque<Chosen>>) -> VecDeque<Chosen> {
        let mut merged = VecDeque::new();
        while !queues.is_empty() {
            let mut round: Vec<_> = queues.iter_mut().filter_map(VecDeque::pop_front).collect();
            round.sort_by_key(|(_, sample)| Reverse((self.rank(sample), sample.id)));
            merged.extend(round);
            queues.retain(|queue| !queue.is_empty());
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::SkipReason;
    use crate::select::Selected;
    use hugewise_base::units::{Bytes, Geometry, Ns};

    fn process(pid: u32, uid: u32, mib: u64) -> Selected {
        let sample = ProcessSample::example(pid, Bytes::mib(mib));
        let cgroup = Some(format!("/user-{uid}"));
        Selected { sample: ProcessSample { uid: Some(uid), cgroup, ..sample }, share: Ok(1.0) }
    }

    fn state(config: &Config) -> State {
        State::new(config, Geometry::X86_64, Ns(0))
    }

    fn pids(state: &State, uid: u32) -> Vec<u32> {
        let of = state.programs.targets.values().filter(|target| target.sample.uid == Some(uid));
        of.map(|target| target.sample.id.pid).collect()
    }

    /// 300 forks of one large program filled the table; the next was called too small.
    #[test]
    fn three_hundred_forks_leave_a_place_for_another_user() {
        let config = Config::default();
        let mut state = state(&config);
        let mut list: Vec<_> = (100..400).map(|pid| process(pid, 1, 900)).collect();
        list.push(process(500, 2, 200));
        state.list(&config, list, Ns(0));
        assert_eq!(pids(&state, 2), [500]);
        assert_eq!(pids(&state, 1).len(), 255);
        let without: Vec<_> = state.programs.left_alone.iter().map(|left| left.reason).collect();
        assert_eq!(without, [SkipReason::NoSlot; 32]);
    }

    /// One program under each of 300 ids that its user was lent.
    #[test]
    fn lent_ids_take_the_places_of_one_user() {
        let config = Config::default();
        let mut state = state(&config);
        let mut list: Vec<_> = (100..400).map(|pid| process(pid, pid, 900)).collect();
        for selected in &mut list {
            selected.sample.account_uid = Some(1000);
        }
        list.push(process(500, 2, 200));
        state.list(&config, list, Ns(0));
        assert_eq!(pids(&state, 2), [500]);
    }

    /// With one id for each fork, of which nobody is known to have lent them, there are as many
    /// users; what is shared with a parent then makes room.
    #[test]
    fn what_is_known_to_be_shared_comes_last() {
        let config = Config::default();
        let mut state = state(&config);
        let list = || {
            let forks = (100..400).map(|pid| process(pid, pid, 900));
            forks.chain([process(500, 2, 200)]).collect::<Vec<_>>()
        };
        state.list(&config, list(), Ns(0));
        assert!(pids(&state, 2).is_empty());
        state.programs.shared = state.programs.targets.keys().copied().collect();
        state.list(&config, list(), Ns::s(5));
        assert_eq!(pids(&state, 2), [500]);
        // Those that ended are forgotten.
        state.list(&config, vec![process(500, 2, 200)], Ns::s(10));
        assert!(state.programs.shared.is_empty());
    }

    #[test]
    fn who_is_managed_keeps_its_place_from_one_that_is_hardly_larger() {
        let mut config = Config::default();
        config.select.max_targets = 1;
        let mut state = state(&config);
        state.list(&config, vec![process(100, 1, 100)], Ns(0));
        state.list(&config, vec![process(100, 1, 100), process(200, 1, 120)], Ns(1));
        assert_eq!(pids(&state, 1), [100]);
        state.list(&config, vec![process(100, 1, 100), process(200, 1, 130)], Ns(2));
        assert_eq!(pids(&state, 1), [200]);
    }
}
