//! How strong a program's claim is: the metric M of its user, of its cgroup, and its own.
//!
//! A user may start as many programs as they like, and put them into as many cgroups: so users are
//! compared first, then the cgroups of a user, then the programs of a cgroup, as with every other
//! budget (`limits::shares`).

use crate::limits::fair::metric;
use crate::state::{State, Target};
use hugewise_base::units::{Ns, ProcId, saturating_u64};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Idle penalty of the metric M: an idle huge page counts twice. Where nothing is known of a
/// program's use of memory, all its huge pages count as active.
const TAU: f64 = 0.5;
/// Huge pages that a user's attempt counts for that came to nothing: others then have four turns
/// of five. Else many programs with pinned memory would have as many turns as all others together.
const FRUITLESS: f64 = 4.0;
/// Whoever has waited for so long counts twice, and after as long again four times: nobody waits
/// for ever because others always hold less (`docs/measurements.md#defaults-by-choice`).
const AGING: Ns = Ns::s(30);

/// It doubles so often at most: more says nothing more, and no number is infinite.
const MOST_DOUBLINGS: f64 = 30.0;

/// One level of a claim.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Level {
    /// M, more for who has waited.
    pub(super) claim: f64,
    /// Huge pages held, or had lately, as they weaken it.
    pub(super) held: u64,
    /// CPU time that was spent on it lately, ns, for each unit of its share; of a program 0.
    pub(super) worked: f64,
    /// Which user, cgroup or program it is, among those of this level.
    pub(super) of: usize,
}

/// A program's claim: as a user, as a cgroup of that user, as a program.
pub(super) type Claim = [Level; 3];

/// The first level at which two claims differ; `None`: they are the same.
pub(super) fn differ(a: &Claim, b: &Claim) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a.claim.total_cmp(&b.claim).is_ne())
}

/// An order: the stronger claim at the first level at which they differ comes first.
pub(super) fn strongest_first(a: &Claim, b: &Claim) -> Ordering {
    let level = differ(a, b);
    level.map_or(Ordering::Equal, |level| b[level].claim.total_cmp(&a[level].claim))
}

/// The same where blocks do not run out, so that everybody is served in the end and CPU time is
/// what all share: the user comes first on whom less of it was spent lately, then the cgroup, and
/// of one cgroup the program with the stronger claim.
pub(super) fn least_worked_first(a: &Claim, b: &Claim) -> Ordering {
    let worked = |level: usize| a[level].worked.total_cmp(&b[level].worked);
    worked(0).then_with(|| worked(1)).then_with(|| strongest_first(a, b))
}

/// What one program has, or the programs of one user or cgroup have together.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// Its share: the largest of its programs, however many they are.
    share: f64,
    held: u64,
    /// Regions that were made huge for it lately: whoever lets them go and asks for others has
    /// had them all the same.
    served: f64,
    /// CPU time lately, ns, with failures and scans; of a program 0.
    worked: f64,
    idle: f64,
    /// Since when somebody in it has waited who was served last.
    waits_since: Option<Ns>,
    /// Huge pages that its attempts count for that came to nothing.
    wasted: u64,
}

impl Group {
    fn program(state: &State, target: &Target, now: Ns) -> Self {
        let held = target.held();
        Self {
            share: target.share,
            held,
            served: state.account.lately.served.of_process(target.sample.id, now),
            idle: held as f64 * target.idle_share,
            waits_since: target.waits_since,
            ..Self::default()
        }
    }

    fn add(&mut self, program: &Self) {
        self.share = self.share.max(program.share);
        self.held = self.held.saturating_add(program.held);
        self.idle += program.idle;
        self.waits_since = self.waits_since.max(program.waits_since);
    }

    /// `of`: its number among those of its level.
    fn level(&self, of: usize, now: Ns) -> Level {
        let idle = self.idle / self.held.max(1) as f64;
        let held = self.held.max(saturating_u64(self.served)).saturating_add(self.wasted);
        let waited = self.waits_since.map_or(Ns(0), |since| now.since(since));
        let aged = (waited.as_s() / AGING.as_s()).min(MOST_DOUBLINGS).exp2();
        let claim = metric(self.share, held, idle, TAU) * aged;
        Level { claim, held, worked: self.worked / self.share.max(f64::MIN_POSITIVE), of }
    }
}

/// A program, and the numbers of its user and of its cgroup.
#[derive(Debug)]
struct Program {
    own: Group,
    number: usize,
    user: usize,
    cgroup: usize,
}

/// All claims. Made once a tick: whatever is done then changes those of one user, and there may be
/// many users and cgroups for each thing that is done. What fades is as it was then, or when
/// something was last done for that user; waits go on.
#[derive(Debug, Default)]
pub(super) struct Claims {
    programs: BTreeMap<ProcId, Program>,
    users: Vec<Group>,
    cgroups: Vec<Group>,
}

impl Claims {
    pub(super) fn new(state: &State, now: Ns) -> Self {
        let mut claims = Self::default();
        let (mut user_numbers, mut cgroup_numbers) = (BTreeMap::new(), BTreeMap::new());
        for (number, (id, target)) in state.programs.targets.iter().enumerate() {
            let uid = target.sample.account();
            let user = *user_numbers.entry(uid).or_insert_with(|| {
                claims.users.push(user(state, target, now));
                claims.users.len() - 1
            });
            let key = (uid, target.sample.cgroup_key());
            let cgroup = *cgroup_numbers.entry(key).or_insert_with(|| {
                claims.cgroups.push(cgroup(state, target, now));
                claims.cgroups.len() - 1
            });
            let own = Group::program(state, target, now);
            claims.users[user].add(&own);
            claims.cgroups[cgroup].add(&own);
            claims.programs.insert(*id, Program { own, number, user, cgroup });
        }
        claims
    }

    /// Notes what was done for a program. One that is gone counts until the next tick.
    pub(super) fn renew(&mut self, state: &State, id: ProcId, now: Ns) {
        let Some(target) = state.programs.targets.get(&id) else { return };
        let Some(program) = self.programs.get_mut(&id) else { return };
        program.own = Group::program(state, target, now);
        let (user_of, cgroup_of) = (program.user, program.cgroup);
        let (mut user, mut cgroup) = (user(state, target, now), cgroup(state, target, now));
        for program in self.programs.values().filter(|program| program.user == user_of) {
            user.add(&program.own);
            if program.cgroup == cgroup_of {
                cgroup.add(&program.own);
            }
        }
        (self.users[user_of], self.cgroups[cgroup_of]) = (user, cgroup);
    }

    /// The claim of one program; `None`: it is not known.
    pub(super) fn of(&self, id: ProcId, now: Ns) -> Option<Claim> {
        let Program { own, number, user, cgroup } = self.programs.get(&id)?;
        let (users, cgroups) = (&self.users[*user], &self.cgroups[*cgroup]);
        Some([users.level(*user, now), cgroups.level(*cgroup, now), own.level(*number, now)])
    }
}

/// A program's user, before its programs are added.
fn user(state: &State, target: &Target, now: Ns) -> Group {
    let (uid, lately) = (target.sample.account(), &state.account.lately);
    Group {
        served: lately.served.of_user(uid, now),
        worked: lately.work.of_user(uid, now),
        wasted: saturating_u64(FRUITLESS * lately.fruitless.of_user(uid, now)),
        ..Group::default()
    }
}

/// The same of its cgroup.
fn cgroup(state: &State, target: &Target, now: Ns) -> Group {
    let (uid, key) = (target.sample.account(), target.sample.cgroup_key());
    let lately = &state.account.lately;
    Group {
        served: lately.served.of_cgroup(uid, &key, now),
        worked: lately.work.of_cgroup(uid, &key, now),
        ..Group::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::select::Selected;
    use crate::snapshot::{ProcessSample, ScanReport};
    use hugewise_base::units::{Addr, Bytes, Geometry};

    fn state() -> State {
        let process = |pid: u32| {
            let sample = ProcessSample::example(pid, Bytes::mib(1024));
            let cgroup = Some(format!("/c{}", pid % 3));
            let share = Ok(f64::from(1 + pid % 2));
            Selected { sample: ProcessSample { uid: Some(pid % 4), cgroup, ..sample }, share }
        };
        let config = Config::default();
        let mut state = State::new(&config, Geometry::X86_64, Ns(0));
        state.list(&config, (100..124).map(process).collect(), Ns(0));
        state
    }

    #[test]
    fn what_was_done_for_a_program_changes_claims_as_if_all_were_made_anew() {
        let mut state = state();
        let ids: Vec<_> = state.programs.targets.keys().copied().collect();
        let mut claims = Claims::new(&state, Ns::s(1));
        let before = claims.of(ids[0], Ns::s(2));
        for (id, more) in ids.iter().zip(1_u32..).step_by(5) {
            let owner = state.programs.targets[id].owner();
            state.account.lately.served.charge(&owner, f64::from(more), Ns::s(2));
            state.account.lately.fruitless.charge(&owner, f64::from(more % 3), Ns::s(2));
            let regions = (1..=more.into()).map(|number| Addr(number << 21));
            state.scanned(&ScanReport::huge(*id, regions), Ns::s(2));
            let target = state.programs.targets.get_mut(id).expect("it is there");
            (target.waits_since, target.idle_share) = (Some(Ns::s(2)), f64::from(more % 4) / 4.0);
            claims.renew(&state, *id, Ns::s(2));
        }
        assert!(state.programs.targets.values().any(|target| target.held() > 20));
        let anew = Claims::new(&state, Ns::s(2));
        for id in &ids {
            assert_eq!(claims.of(*id, Ns::s(3)), anew.of(*id, Ns::s(3)), "{id}");
        }
        assert_ne!(claims.of(ids[0], Ns::s(2)), before);
    }
}
