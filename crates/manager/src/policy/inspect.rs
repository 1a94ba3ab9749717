//! Which regions are inspected now: page frames of those that may be partially mapped, contents of
//! huge ones, and of others that may hold larger folios, where reading is allowed.

use crate::config::Config;
use crate::gate::Sight;
use crate::policy::View;
use crate::snapshot::InspectAsk;
use crate::state::{Region, Target};
use hugewise_base::units::{Addr, Ns, ProcId, saturating_u64};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// CPU time of one inspection: 4 KiB of pagemap and two page frames' flags
/// (`docs/measurements.md#closer-inspection-of-a-region`).
pub const INSPECT: Ns = Ns::us(30);
/// CPU time of one with a sample of the contents: 80 us to read 32 pages through
/// `/proc/PID/mem` (`docs/measurements.md#sampled-contents`) on top.
pub const SAMPLE: Ns = Ns::us(110);
/// A small region whose populated count changed is inspected again after this time.
pub const AGAIN: Ns = Ns::s(10);
/// At most so many inspections at once ...
const MOST: usize = 256;
/// ... that are expected to take so long: a tenth of a second even where each takes ten times as
/// long ...
pub const LONGEST: Ns = Ns(MOST as u64 * INSPECT.0);
/// ... and while promotions wait so long: whoever makes them slow keeps nobody from their turn for
/// longer than a few calls take.
pub const LONGEST_WHILE_BUSY: Ns = Ns::us(2_700);

/// A user's cgroups in which memory is short have three of four parts of what is inspected for that
/// user (`docs/measurements.md#defaults-by-choice`).
const SHORT: u64 = 3;

/// At rest, contents are sampled again at this pace at most, all programs together: 0.05 % of a
/// core. However much memory there is, looking at it again costs no more.
const PACE: Ns = Ns::ms(220);

/// How much the inspection of a region is worth; ordered, the worthiest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Its last sample is old.
    ContentsAgain,
    /// It changed since it was inspected.
    Changed,
    /// Its contents were never sampled, or only once.
    Contents,
    /// It was never inspected: it may hold a block from before this manager's time, or pages that
    /// nobody wrote.
    New,
    /// It lost its huge page and misses pages: very likely it holds the block.
    PartiallyMapped,
}

/// Targets of which nothing is worth an inspection, and how long that holds: so that asking costs
/// as much as has changed.
#[derive(Debug, Clone, Default)]
pub struct Done {
    conditions: Option<(Sight, bool, Ns)>,
    targets: BTreeMap<ProcId, (u64, Ns)>,
}

impl Done {
    /// Forgets all when what counts for every target has changed.
    fn under(&mut self, rule: &Rule) {
        let conditions = Some((rule.sight, rule.samples, rule.again));
        if self.conditions != conditions {
            *self = Self { conditions, targets: BTreeMap::new() };
        }
    }

    fn holds(&self, id: ProcId, target: &Target, now: Ns) -> bool {
        let done = self.targets.get(&id);
        done.is_some_and(|(version, until)| *version == target.version() && now < *until)
    }
}

/// One that is wanted, the worthiest first, and then the one that waits longest; among equals in no
/// order of addresses, so that the first few stand for all.
type Wanted = (Reverse<Worth>, Ns, u64, ProcId, Addr, Addr, bool);

fn ask((_, _, _, target, region, mapping, sample): Wanted) -> InspectAsk {
    InspectAsk { target, region, mapping, sample }
}

/// A number that has nothing to do with where an address lies: Fibonacci hashing.
const fn scattered(at: Addr) -> u64 {
    at.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What decides about every region.
#[derive(Debug, Clone, Copy)]
struct Rule {
    sight: Sight,
    /// Contents are read.
    samples: bool,
    /// They are read again after this time.
    again: Ns,
    whole: u32,
}

impl Rule {
    fn of(config: &Config, view: &View<'_>) -> Self {
        let huge: usize = view.targets.values().map(|target| target.regions.huge()).sum();
        // In powers of two: it seldom changes, and what is known holds as long.
        let all = PACE.0.saturating_mul(huge.next_power_of_two() as u64);
        Self {
            sight: view.sight,
            samples: config.demote.sample,
            again: Ns(all).max(Ns::ms(config.demote.sample_interval_ms)),
            whole: view.geometry.pages_per_huge(),
        }
    }

    /// Whether a region's contents are read when it is inspected.
    const fn samples(&self, region: &Region) -> bool {
        self.samples && (region.huge || self.sight.samples_small)
    }
}

/// Inspections at `now` that fit `budget`, CPU time in ns.
pub fn asks(
    config: &Config,
    view: &View<'_>,
    done: &mut Done,
    mut budget: f64,
    now: Ns,
) -> Vec<InspectAsk> {
    let rule = Rule::of(config, view);
    done.under(&rule);
    done.targets.retain(|id, _| view.targets.contains_key(id));
    let mut users = BTreeMap::<_, BTreeMap<_, Vec<_>>>::new();
    for (id, target) in view.targets.iter().filter(|(_, target)| target.refused.is_none()) {
        if done.holds(*id, target, now) {
            continue;
        }
        let (mut until, mut wanted) = (Ns(u64::MAX), false);
        for (at, region) in target.regions.iter() {
            if let Some(worth) = rule.worth(&region, now) {
                let since = region.inspected.map_or(Ns(0), |seen| seen.at);
                let (scattered, sample) = (scattered(at), rule.samples(&region));
                let one = (Reverse(worth), since, scattered, *id, at, region.mapping, sample);
                let cgroups = users.entry(target.sample.account()).or_default();
                cgroups.entry(target.sample.cgroup_key()).or_default().push(one);
                wanted = true;
            } else {
                until = until.min(rule.is_old_at(&region));
            }
        }
        if !wanted {
            done.targets.insert(*id, (target.version(), until));
        }
    }
    // Users take turns, and the cgroups of a user: whoever drops pieces of huge pages all the time
    // is inspected no more than others. A user's cgroups in which memory is short have most of it,
    // not all: some are full for ever.
    let had = view.inspections;
    let users = users.into_iter().map(|(uid, cgroups)| {
        let (mut short, mut others) = ((0.0, Vec::new()), (0.0, Vec::new()));
        for (cgroup, mut wanted) in cgroups {
            // A partial sort would do; there are at most some ten thousand, and mostly none.
            wanted.sort_unstable();
            let wanted = wanted.into_iter().map(ask).take(MOST).collect();
            let is_short = view.pressure.on(&cgroup).is_some();
            let group = if is_short { &mut short } else { &mut others };
            let own = had.of_cgroup(uid, &cgroup, now);
            group.0 += own;
            group.1.push((own, 1, wanted));
        }
        // With what each had: a tick may have room for a single inspection.
        let both =
            [(SHORT, short), (1, others)].map(|(share, (had, all))| (had, share, in_turns(all)));
        (had.of_user(uid, now), 1, in_turns(both))
    });
    let mut wanted = in_turns(users);
    let fits = |ask: &InspectAsk| {
        budget -= cost(ask) as f64;
        budget >= 0.0
    };
    let most = wanted.iter().copied().take_while(fits).count();
    wanted.truncate(most);
    wanted
}

/// The first of those that had least, over and over; what each of theirs costs counts. `groups`:
/// what each had, its share among them, and what it wants.
fn in_turns(groups: impl IntoIterator<Item = (f64, u64, Vec<InspectAsk>)>) -> Vec<InspectAsk> {
    let (mut turns, mut groups): (BinaryHeap<_>, Vec<_>) = groups
        .into_iter()
        .enumerate()
        .map(|(index, (had, share, wanted))| {
            (Reverse((saturating_u64(had) / share, index)), (share, wanted.into_iter()))
        })
        .unzip();
    let mut all = Vec::new();
    while let Some(Reverse((had, index))) = turns.pop().filter(|_| all.len() < MOST) {
        let Some((share, wanted)) = groups.get_mut(index) else { continue };
        if let Some(ask) = wanted.next() {
            turns.push(Reverse((had + cost(&ask) / *share, index)));
            all.push(ask);
        }
    }
    all
}

/// CPU time that these are expected to take.
pub fn expected_cost(asks: &[InspectAsk]) -> Ns {
    Ns(asks.iter().map(cost).sum())
}

const fn cost(ask: &InspectAsk) -> u64 {
    if ask.sample { SAMPLE.0 } else { INSPECT.0 }
}

impl Rule {
    /// From when on what was seen of a region is old: what changed, and what is known to hold zeros
    /// that may have been written meanwhile, sooner than the rest.
    fn is_old_at(&self, region: &Region) -> Ns {
        let seen = region.inspected.filter(|_| !region.shared_memory);
        let Some(seen) = seen else { return Ns(u64::MAX) };
        let moves = seen.populated != region.populated || region.zeros > Some(0);
        match region.huge {
            true if self.samples => seen.at + self.again,
            false if moves && self.sees(region) => seen.at + AGAIN,
            _ => Ns(u64::MAX),
        }
    }

    /// Whether an inspection of a region that is not huge shows anything.
    fn sees(&self, region: &Region) -> bool {
        let missing = u32::from(region.populated) + u32::from(region.zero_page) < self.whole;
        // Frames that are hidden stay hidden.
        (missing && !self.sight.frames_hidden) || self.samples(region)
    }

    fn worth(&self, region: &Region, now: Ns) -> Option<Worth> {
        if region.shared_memory {
            return None;
        }
        if region.huge {
            return match region.samples {
                _ if !self.samples => None,
                0 if region.inspected.is_none() => Some(Worth::Contents),
                1 => Some(Worth::Contents),
                _ => (now >= self.is_old_at(region)).then_some(Worth::ContentsAgain),
            };
        }
        if region.populated == 0 || !self.sees(region) {
            return None;
        }
        let is_old = now >= self.is_old_at(region);
        match region.inspected {
            None if region.partially_mapped_since.is_some() => Some(Worth::PartiallyMapped),
            None => Some(Worth::New),
            // Where it holds zeros a second sample decides.
            Some(_) if region.samples == 1 && region.zeros > Some(0) => Some(Worth::Contents),
            Some(seen) if is_old && seen.populated != region.populated => Some(Worth::Changed),
            Some(_) => is_old.then_some(Worth::ContentsAgain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Selected;
    use crate::snapshot::{CgroupSample, ProcessSample, ScanReport};
    use crate::state::State;
    use hugewise_base::units::{Bytes, Geometry};

    /// One user's program 1 in a full cgroup and program 2 in another one, all memory huge.
    fn beside_a_full_cgroup(config: &Config) -> State {
        let mut state = State::new(config, Geometry::X86_64, Ns(0));
        let process = |pid: u32| {
            let cgroup = Some(format!("/{pid}"));
            let sample = ProcessSample { cgroup, ..ProcessSample::example(pid, Bytes::mib(800)) };
            Selected { sample, share: Ok(1.0) }
        };
        state.list(config, [1, 2].map(process).to_vec(), Ns(0));
        let usage = |mib| {
            let (usage, limit) = (Bytes::mib(mib), Bytes::mib(1000));
            CgroupSample { usage, limit, stalled_us: None, limit_hits: None }
        };
        let usage = [("/1", usage(1000)), ("/2", usage(100))];
        let usage = usage.map(|(cgroup, usage)| (cgroup.to_owned(), usage)).into();
        state.cgroup_memory(config, usage, Ns(0));
        for target in state.targets().keys().copied().collect::<Vec<_>>() {
            let regions = (1..=400).map(|number| Addr(number << 21));
            state.scanned(&ScanReport::huge(target, regions), Ns(0));
        }
        state
    }

    #[test]
    fn the_full_cgroup_has_the_larger_share_however_small_a_tick_is() {
        let mut config = Config::default();
        config.demote.sample = true;
        for per_tick in [1, 10, MOST] {
            let (mut state, mut of_full, mut all) = (beside_a_full_cgroup(&config), 0, 0);
            while all < 200 {
                let (view, mut done) = (View::new(&config, &state, false, Ns(0)), Done::default());
                let budget = (per_tick as u64 * SAMPLE.0) as f64;
                let asked = asks(&config, &view, &mut done, budget, Ns(0));
                assert_eq!(asked.len(), per_tick);
                all += asked.len();
                of_full += asked.iter().filter(|ask| ask.target.pid == 1).count();
                for ask in asked {
                    let owner = state.targets()[&ask.target].owner();
                    state.account.lately.inspections.charge(&owner, SAMPLE.0 as f64, Ns(0));
                }
            }
            assert!((4 * of_full).abs_diff(3 * all) <= 4, "{of_full} of {all}, {per_tick} a tick");
        }
    }

    fn wanted(pid: u32, count: u64, sample: bool) -> Vec<InspectAsk> {
        let target = ProcId { pid, start_ticks: 1 };
        let at = |number| Addr(number << 21);
        let ask = |number| InspectAsk { target, region: at(number), mapping: at(0), sample };
        (0..count).map(ask).collect()
    }

    #[test]
    fn a_cgroup_that_is_always_full_leaves_a_quarter_to_others() {
        let (short, others) = (wanted(1, 1000, true), wanted(2, 1000, true));
        let both = in_turns([(0.0, SHORT, short), (0.0, 1, others.clone())]);
        assert_eq!(both.len(), MOST);
        assert_eq!(both.iter().filter(|ask| ask.target.pid == 2).count(), MOST / 4);
        // Where nothing is short, or hardly anything, others have the rest.
        let alone = in_turns([(0.0, SHORT, wanted(1, 9, true)), (0.0, 1, others)]);
        assert_eq!(alone.iter().filter(|ask| ask.target.pid == 2).count(), MOST - 9);
    }

    #[test]
    fn shares_hold_where_each_tick_has_room_for_one() {
        let (mut had, mut asked) = ([0.0, 0.0], [0, 0]);
        for _ in 0..100 {
            let [short, others] = [1, 2].map(|pid| wanted(pid, 9, pid == 2));
            let first = in_turns([(had[0], SHORT, short), (had[1], 1, others)])[0];
            let whose = usize::from(first.target.pid == 2);
            had[whose] += cost(&first) as f64;
            asked[whose] += cost(&first);
        }
        let [short, others] = asked;
        assert!(short.abs_diff(SHORT * others) <= SHORT * SAMPLE.0, "{short} and {others}");
    }

    #[test]
    fn what_an_inspection_costs_counts_and_what_somebody_had_before() {
        let (dear, cheap) = (wanted(1, 1000, true), wanted(2, 1000, false));
        let all = in_turns([(0.0, 1, dear.clone()), (0.0, 1, cheap.clone())]);
        let spent = |pid| all.iter().filter(|a| a.target.pid == pid).map(cost).sum::<u64>();
        assert!(spent(1).abs_diff(spent(2)) <= SAMPLE.0, "{} and {}", spent(1), spent(2));
        let late = in_turns([(1e9, 1, dear), (0.0, 1, cheap)]);
        assert!(late.iter().all(|ask| ask.target.pid == 2));
    }
}
