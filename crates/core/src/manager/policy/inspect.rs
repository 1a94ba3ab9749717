//! Which regions are inspected now: page frames of those that may be partially mapped,
//! contents of huge ones where reading is allowed.

use crate::base::units::Ns;
use crate::manager::config::Config;
use crate::manager::policy::View;
use crate::manager::snapshot::InspectAsk;
use crate::manager::state::Region;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// CPU time of one inspection: 4 KiB of pagemap and two page frames' flags
/// (`docs/measurements.md#closer-inspection-of-a-region`).
pub const INSPECT: Ns = Ns::us(30);
/// CPU time of one with a sample of the contents: 80 us to read 32 pages through
/// `/proc/PID/mem` (`docs/measurements.md#sampled-contents`) on top.
pub const SAMPLE: Ns = Ns::us(110);
/// A small region whose populated count changed is inspected again after this time.
pub const AGAIN: Ns = Ns::s(10);
/// At most so many inspections a tick: a tenth of a second even where each takes ten times as long.
const MOST: usize = 256;

/// How much the inspection of a region is worth; ordered, the worthiest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Huge, and its last sample is old.
    ContentsAgain,
    /// It changed since it was inspected.
    Changed,
    /// Huge, and its contents were never sampled, or only once.
    Contents,
    /// It was never inspected: it may hold a block from before this manager's time.
    New,
    /// It lost its huge page and misses pages: very likely it holds the block.
    PartiallyMapped,
}

/// Inspections at `now` that fit `budget`, CPU time in ns.
#[must_use]
pub fn asks(config: &Config, view: &View<'_>, mut budget: f64, now: Ns) -> Vec<InspectAsk> {
    let mut users = BTreeMap::<_, Vec<_>>::new();
    for (id, target) in view.targets.iter().filter(|(_, target)| target.refused.is_none()) {
        for (at, region) in &target.regions {
            if let Some(worth) = worth(config, view, region, now) {
                let since = region.inspected.map_or(Ns(0), |seen| seen.at);
                let one = (Reverse(worth), since, *id, *at, region.mapping);
                users.entry(target.sample.uid).or_default().push(one);
            }
        }
    }
    // A partial sort would do; there are at most some ten thousand, and mostly none. Users take
    // turns: whoever drops pieces of huge pages all the time is inspected no more than others.
    let mut wanted = Vec::new();
    for mut of_user in users.into_values() {
        of_user.sort_unstable();
        wanted.extend(of_user.into_iter().take(MOST).enumerate());
    }
    wanted.sort_unstable();
    let mut asks = Vec::new();
    for (_, (Reverse(worth), _, target, region, mapping)) in wanted.into_iter().take(MOST) {
        let sample = matches!(worth, Worth::Contents | Worth::ContentsAgain);
        budget -= if sample { SAMPLE } else { INSPECT }.0 as f64;
        if budget < 0.0 {
            break;
        }
        asks.push(InspectAsk { target, region, mapping, sample });
    }
    asks
}

fn worth(config: &Config, view: &View<'_>, region: &Region, now: Ns) -> Option<Worth> {
    if region.huge {
        let due = Ns::ms(config.demote.sample_interval_ms);
        let stale = region.inspected.is_none_or(|seen| now.since(seen.at) >= due);
        return match region.samples {
            _ if !config.demote.sample => None,
            0 if region.inspected.is_none() => Some(Worth::Contents),
            1 => Some(Worth::Contents),
            _ => stale.then_some(Worth::ContentsAgain),
        };
    }
    let whole = view.geometry.pages_per_huge();
    let missing = u32::from(region.populated) + u32::from(region.zero_page) < whole;
    // Frames that are hidden stay hidden.
    if !missing || view.frames_hidden {
        return None;
    }
    match region.inspected {
        None if region.partially_mapped_since.is_some() => Some(Worth::PartiallyMapped),
        None => Some(Worth::New),
        Some(seen) => {
            let changed = seen.populated != region.populated;
            (changed && now.since(seen.at) >= AGAIN).then_some(Worth::Changed)
        }
    }
}
