//! Which regions are looked at closely now: page frames of those that may hold a broken block,
//! contents of huge ones where reading is allowed.

use crate::config::Config;
use crate::snapshot::LookAsk;
use crate::state::{Region, State};
use crate::units::{Ns, ProcId};
use std::cmp::Reverse;

/// CPU time of one look: 4 KiB of pagemap and two page frames' flags, kernel.md 1.2.
pub const LOOK: Ns = Ns::us(30);
/// CPU time of a look with a sample of the contents: 80 us to read 32 pages through
/// `/proc/PID/mem` (measured, `linux/src/content.rs`) on top of a look.
pub const SAMPLE: Ns = Ns::us(110);
/// A small region whose populated count moved is looked at again after this time.
pub const AGAIN: Ns = Ns::s(10);
/// At most so many looks a tick: a tenth of a second even where each takes ten times as long.
const MOST: usize = 256;

/// How much a look at a region is worth; ordered, the worthiest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Huge, and its last sample is old.
    ContentsAgain,
    /// It changed since it was looked at.
    Changed,
    /// Huge, and its contents were never sampled, or only once.
    Contents,
    /// It was never looked at: it may hold a block from before this manager's time.
    New,
    /// It lost its huge page and misses pages: very likely it holds the block.
    Broken,
}

/// Looks that fit the scan budget at `now`, after `planned` of it went to scans.
#[must_use]
pub fn asks(config: &Config, state: &State, planned: Ns, now: Ns) -> Vec<LookAsk> {
    let mut left = state.scan_cpu.level_at(now) - planned.0 as f64;
    let mut wanted = Vec::new();
    for (id, target) in state.targets.iter().filter(|(_, target)| target.refused.is_none()) {
        for (at, region) in &target.regions {
            if let Some(worth) = worth(config, state, region, now) {
                let since = region.looked.map_or(Ns(0), |look| look.at);
                wanted.push((Reverse(worth), since, *id, *at, region.mapping));
            }
        }
    }
    // A partial sort would do; there are at most some ten thousand, and mostly none.
    wanted.sort_unstable();
    let mut asks = Vec::new();
    for (Reverse(worth), _, target, region, mapping) in wanted.into_iter().take(MOST) {
        let sample = matches!(worth, Worth::Contents | Worth::ContentsAgain);
        left -= if sample { SAMPLE } else { LOOK }.0 as f64;
        if left < 0.0 {
            break;
        }
        asks.push(LookAsk { target: ProcId { ..target }, region, mapping, sample });
    }
    asks
}

fn worth(config: &Config, state: &State, region: &Region, now: Ns) -> Option<Worth> {
    if region.huge {
        let due = Ns::ms(config.demote.sample_interval_ms);
        let stale = region.looked.is_none_or(|look| now.since(look.at) >= due);
        return match region.samples {
            _ if !config.demote.sample => None,
            0 if region.looked.is_none() => Some(Worth::Contents),
            1 => Some(Worth::Contents),
            _ => stale.then_some(Worth::ContentsAgain),
        };
    }
    let whole = state.geometry.pages_per_huge();
    let missing = u32::from(region.populated) + u32::from(region.zero_page) < whole;
    // Frames that are hidden stay hidden.
    if !missing || state.frames_hidden {
        return None;
    }
    match region.looked {
        None if region.broken.is_some() => Some(Worth::Broken),
        None => Some(Worth::New),
        Some(look) => {
            let changed = look.populated != region.populated;
            (changed && now.since(look.at) >= AGAIN).then_some(Worth::Changed)
        }
    }
}
