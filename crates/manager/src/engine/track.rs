//! Whose use of memory is looked at now, and by which tracker.

use crate::access::{AccessAsk, Step, Tracker};
use crate::config::Config;
use crate::state::{State, Target};
use hugewise_base::units::{Ns, saturating_u64};
use std::collections::BTreeMap;

/// DAMON is one for the whole machine: it looks at one program at a time.
const fn is_damon(by: Tracker) -> bool {
    matches!(by, Tracker::Damon | Tracker::DamonFrames)
}

/// Halves of looks that are due at `now` and fit the tracking budget, all together; users take
/// turns, and of one user whoever has waited longest comes first. What has begun is ended in any
/// case: it may hold DAMON for everybody.
pub(super) fn asks(config: &Config, state: &State, now: Ns) -> Vec<AccessAsk> {
    let offers = state.machine.sample.as_ref().map_or(&[][..], |machine| &machine.trackers);
    if offers.is_empty() {
        return Vec::new();
    }
    // What it takes of the program's lock is taken of its promotions: the next calls wait for it.
    let lock = Ns::us(config.track.longest_lock_us);
    let ask = |target: &Target, by, step, left: &mut f64| {
        let budget = Ns(saturating_u64(*left));
        *left -= target.looks.expected_cost().0 as f64;
        AccessAsk { target: target.sample.id, by, step, budget, lock }
    };
    // Whose lock is in debt waits.
    let due = |target: &Target| now >= target.looks.next && target.lock.level_at(now) >= 0.0;
    let window = Ns::ms(config.track.window_ms);
    let mut left = state.limits.budgets.track_cpu.level_at(now);
    let (mut asks, mut waiting, mut damon) = (Vec::new(), Vec::new(), false);
    for target in state.programs.targets.values() {
        match target.looks.under_way {
            Some((by, began)) => {
                damon |= is_damon(by);
                if now >= began + window {
                    asks.push(ask(target, by, Step::End, &mut left));
                }
            }
            None if target.is_known() && due(target) => waiting.push(target),
            None => {}
        }
    }
    let waiting = in_turn(state, waiting);
    for target in waiting {
        if left <= 0.0 {
            break;
        }
        let Some(by) = target.looks.choose(&config.track.by, offers, now) else { continue };
        if is_damon(by) && std::mem::replace(&mut damon, true) {
            continue;
        }
        asks.push(ask(target, by, Step::Begin, &mut left));
    }
    asks
}

/// Whose turn it is: of each user one, the user first that was served longest ago; then of each a
/// second, and so on. Whoever runs more programs takes nobody's turn.
fn in_turn<'a>(state: &State, mut waiting: Vec<&'a Target>) -> Vec<&'a Target> {
    waiting.sort_by_key(|target| (target.looks.next, target.sample.id));
    let mut of_user = BTreeMap::<Option<u32>, usize>::new();
    let turn = |target: &&Target| {
        let rank = of_user.entry(target.sample.account()).or_default();
        *rank += 1;
        (*rank, state.looked_at(target.sample.account()))
    };
    let turns: Vec<_> = waiting.iter().map(turn).collect();
    let mut waiting: Vec<_> = turns.into_iter().zip(waiting).collect();
    waiting.sort_by_key(|(turn, _)| *turn);
    waiting.into_iter().map(|(_, target)| target).collect()
}
