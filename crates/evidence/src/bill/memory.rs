//! What each way would take in memory.

use super::estimate::Estimate;
use super::facts::{Facts, Program};
use super::offer::Worth;
use crate::hugetlb::tables::mapped;
use hugewise_base::units::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;

/// From this share of anonymous memory on programs are taken to be listed: pages that several of
/// them share count for each.
const NEARLY_ALL: f64 = 0.9;

/// What of it programs' anonymous memory would be, were every touched region a huge page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The name of the programs.
    pub name: String,
    /// How many there are.
    pub processes: u64,
    /// Their resident anonymous memory now.
    pub now_bytes: f64,
    /// The same under `always`.
    pub always_bytes: Estimate,
    /// How many of them have switched huge pages off for themselves.
    pub huge_off: u64,
}

/// The programs by name, those that may grow most first.
pub(super) fn growth(programs: &[Program], base: Bytes) -> Vec<Growth> {
    let mut all: BTreeMap<&str, Growth> = BTreeMap::new();
    for program in programs.iter().filter(|program| program.anon.0 > 0) {
        let growth = all.entry(&program.name).or_insert_with(|| Growth {
            name: program.name.clone(),
            processes: 0,
            now_bytes: 0.0,
            always_bytes: Estimate::exact(0.0),
            huge_off: 0,
        });
        growth.processes += 1;
        growth.now_bytes += program.anon.0 as f64;
        growth.always_bytes = growth.always_bytes + under_always(program, base);
        growth.huge_off += u64::from(program.huge_off);
    }
    let mut all: Vec<Growth> = all.into_values().collect();
    all.sort_by(|a, b| more(b).total_cmp(&more(a)));
    all
}

fn more(growth: &Growth) -> f64 {
    growth.always_bytes.high - growth.now_bytes
}

/// A program's anonymous memory under `always`. Its page tables say in how many regions
/// it has touched anything, files included; it cannot fill more than it has mapped for itself.
fn under_always(program: &Program, base: Bytes) -> Estimate {
    let anon = program.anon.0 as f64;
    if program.huge_off {
        return Estimate::exact(anon);
    }
    let touched = program.tables.map(|tables| mapped(tables, base).0 as f64);
    let private = program.private.map(|private| private.0 as f64);
    let most = match (touched, private) {
        (Some(touched), Some(private)) => touched.min(private),
        (one, other) => one.or(other).unwrap_or(anon),
    };
    Estimate::between(anon, most.max(anon))
}

/// What `always` adds: to the programs that are listed, and to those that are not. `None` without
/// page tables.
pub(super) fn added_by_always(facts: &Facts, growth: &[Growth]) -> Option<Estimate> {
    let (anon, tables) = (facts.anon?, facts.tables?);
    let listed = |bytes: fn(&Program) -> Option<Bytes>| -> Bytes {
        facts.programs.iter().filter_map(bytes).sum()
    };
    let programs = growth.iter().fold(Estimate::exact(0.0), |sum, one| {
        sum + (one.always_bytes - Estimate::exact(one.now_bytes))
    });
    let known = listed(|program| Some(program.anon));
    let others = anon.saturating_sub(known).0 as f64;
    let share = known.0 as f64 / (known.0 as f64 + others);
    if share >= NEARLY_ALL {
        // The rest is as the others are: the machine's count of tables is not that exact.
        return Some(programs.times(1.0 / share));
    }
    let tables = tables.saturating_sub(listed(|program| program.tables));
    let most = mapped(tables, facts.geometry().base).0 as f64;
    Some(programs + Estimate::between(0.0, (most - others).max(0.0)))
}

/// What `worth` adds at most: as much as its budget allows, and no more than `always`; regions that
/// it promotes are half in use, or more.
pub(super) fn added_by_worth(facts: &Facts, growth: &[Growth], worth: Worth) -> Option<f64> {
    let budget = facts.total?.0 as f64 * worth.bloat_budget_percent / 100.0;
    let unused = (100.0 - worth.min_utilization_percent) / worth.min_utilization_percent;
    let small = facts.anon?.0.saturating_sub(facts.huge.map_or(0, |huge| huge.0)) as f64;
    let always = added_by_always(facts, growth).map_or(f64::INFINITY, |added| added.high);
    Some(budget.min(small * unused.max(0.0)).min(always))
}

/// What `never` saves: what of huge pages nobody has asked for.
pub(super) fn saved_by_never(facts: &Facts) -> Option<Estimate> {
    // At most all base pages of a huge page but one were never asked for.
    let unused = 1.0 - 1.0 / facts.region_pages();
    Some(Estimate::between(0.0, facts.huge?.0 as f64 * unused))
}
