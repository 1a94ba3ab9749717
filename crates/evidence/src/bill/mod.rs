//! The bill: what memory, stalls and speed would be under `never`, `always`, HugeTLB and a manager
//! that promotes what is worth it, from one recording alone and with error bars; and how far off
//! that was, once one of them was chosen.
//!
//! Every range holds for what programs do in the recording, after they were started again: memory
//! that they have keeps its pages.

mod check;
mod estimate;
mod facts;
mod memory;
mod offer;
mod stall;

pub use check::{Check, Scored, way_of};
pub use estimate::Estimate;
pub use facts::{Facts, Program};
pub use memory::Growth;
pub use offer::{Pools, Worth};

use serde::Serialize;

/// Version of [`Bill`] as JSON.
const SCHEMA: u32 = 1;
/// Of what walks cost, huge pages gave back two thirds: a program that spent 40 % of its cycles in
/// them became 44 % faster, of 67 % that were possible (CBMM, ATC'22).
const WALKS_GIVEN_BACK: f64 = 0.66;
/// Coverage below which memory counts as all base pages.
const COVERAGE_LEAST: f64 = 0.01;

/// A way to have huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// As it is.
    Now,
    /// `enabled` is `never`.
    Never,
    /// `enabled` is `always`.
    Always,
    /// Pools for those who use them, and no transparent huge pages.
    Hugetlb,
    /// `hugewise manage`, which promotes what is worth it.
    Worth,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Now, Self::Never, Self::Always, Self::Hugetlb, Self::Worth];

    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Never => "never",
            Self::Always => "always",
            Self::Hugetlb => "hugetlb",
            Self::Worth => "worth",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// One way, with what it would cost and give.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Which.
    pub way: Way,
    /// Anonymous and shared memory, page tables and pools; `None`: not in the recording.
    pub memory_bytes: Option<Estimate>,
    /// Time for which programs stand still, in ms of each second, of all of them together; `None`:
    /// faults were not counted.
    pub stall_ms_per_s: Option<Estimate>,
    /// How much faster programs would run than now, percent; `None`: nobody measured what
    /// translation costs.
    pub speed_percent: Option<Estimate>,
}

/// The bill of one host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// Version of this form.
    pub schema: u32,
    /// The choice in `enabled` now.
    pub enabled: Option<String>,
    /// The share of anonymous memory that is huge now, percent.
    pub coverage_percent: Option<f64>,
    /// The ways, in order of [`Way::ALL`].
    pub rows: Vec<Row>,
    /// Programs by name, those that may grow most under `always` first.
    pub programs: Vec<Growth>,
    /// Nothing in the recording would use a pool.
    pub no_pool: bool,
    /// What could not be said, each with the reason.
    pub missing: Vec<&'static str>,
}

impl Bill {
    /// The bill of a host. `pools`: what would be planned for it; `walk_percent`: the share of CPU
    /// cycles in page walks now, as the caller measured.
    pub fn of(facts: &Facts, worth: Worth, pools: Pools, walk_percent: Option<f64>) -> Self {
        let programs = memory::growth(&facts.programs, facts.geometry().base);
        let no_pool = pools.planned <= pools.now;
        let stalls = stall::stalls(facts, worth);
        let stall = |way: Way| {
            let all = stalls.as_ref()?;
            Some(match way {
                Way::Now => all.now,
                Way::Always => all.always,
                Way::Worth => all.worth,
                Way::Hugetlb if no_pool => return None,
                // Faults in a pool are fewer, and never compact.
                Way::Hugetlb => Estimate { low: 0.0, ..all.never },
                Way::Never => all.never,
            })
        };
        let row = |way: Way| Row {
            way,
            memory_bytes: memory(way, facts, &programs, worth, pools),
            stall_ms_per_s: stall(way),
            speed_percent: speed(way, facts, walk_percent, no_pool),
        };
        Self {
            schema: SCHEMA,
            enabled: facts.enabled.clone(),
            coverage_percent: facts.coverage().map(|share| share * 100.0),
            rows: Way::ALL.into_iter().map(row).collect(),
            programs,
            no_pool,
            missing: missing(facts, walk_percent),
        }
    }

    /// The row of a way.
    pub fn row(&self, way: Way) -> Option<&Row> {
        self.rows.iter().find(|row| row.way == way)
    }

    /// Whether memory or stalls of some way are not known.
    pub fn is_partial(&self) -> bool {
        let told = |row: &&Row| !(self.no_pool && row.way == Way::Hugetlb);
        let mut rows = self.rows.iter().filter(told);
        rows.any(|row| row.memory_bytes.is_none() || row.stall_ms_per_s.is_none())
    }

    /// Whether nothing is known of memory: then the recording is of no use.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.memory_bytes.is_none() && row.stall_ms_per_s.is_none())
    }
}

fn memory(
    way: Way,
    facts: &Facts,
    programs: &[Growth],
    worth: Worth,
    pools: Pools,
) -> Option<Estimate> {
    let now = Estimate::exact(facts.memory()?);
    let never = || Some(now - memory::saved_by_never(facts)?);
    let estimate = match way {
        Way::Now => now,
        Way::Never => never()?,
        Way::Always => now + memory::added_by_always(facts, programs)?,
        Way::Worth => {
            let added = memory::added_by_worth(facts, programs, worth)?;
            Estimate::between(never()?.low, now.high + added)
        }
        Way::Hugetlb if pools.planned <= pools.now => return None,
        Way::Hugetlb => {
            let more = (pools.planned.0 - pools.now.0) as f64;
            let moved = Estimate::between(0.0, pools.moved.0 as f64);
            let saved = Estimate::between(0.0, pools.tables_saved.0 as f64);
            never()? + Estimate::exact(more) - moved - saved
        }
    };
    Some(Estimate { low: estimate.low.max(0.0), ..estimate })
}

/// Bounds by what translation costs now: no huge page can give back more than all of it.
fn speed(way: Way, facts: &Facts, walk_percent: Option<f64>, no_pool: bool) -> Option<Estimate> {
    match way {
        Way::Now => Some(Estimate::exact(0.0)),
        Way::Never => all_base_pages(facts).then(|| Estimate::exact(0.0)),
        Way::Hugetlb if no_pool => None,
        Way::Always | Way::Worth | Way::Hugetlb => {
            let walks = walk_percent? / 100.0;
            let most = 100.0 * walks / (1.0 - walks);
            Some(Estimate { low: 0.0, likely: most * WALKS_GIVEN_BACK, high: most })
        }
    }
}

fn all_base_pages(facts: &Facts) -> bool {
    facts.coverage().is_some_and(|share| share < COVERAGE_LEAST)
}

fn missing(facts: &Facts, walk_percent: Option<f64>) -> Vec<&'static str> {
    let all = [
        (facts.anon.is_none(), "memory: anonymous memory is not in the recording"),
        (facts.tables.is_none(), "memory under always: page tables are not in the recording"),
        (facts.faults_per_s.is_none(), "stalls: page faults are not in the recording"),
        (facts.programs.is_empty(), "which programs would grow: none is in the recording"),
        (
            walk_percent.is_some() && !all_base_pages(facts),
            "speed under never: what walks would cost without the huge pages that there are",
        ),
        (walk_percent.is_none(), "speed: page walks were not measured (give --walk-percent)"),
    ];
    all.into_iter().filter(|(missing, _)| *missing).map(|(_, why)| why).collect()
}

#[cfg(test)]
mod tests;
