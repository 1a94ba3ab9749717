//! A plan as values: how many pages each pool gets, what else must be set, and what it costs.

use serde::{Deserialize, Serialize};

use super::demand::{Demand, LeftOut};
use super::facts::{Missing, Mount, Pool};
use super::input::Inputs;
use super::tables::Segment;
use super::warning::Warning;
use hugewise_base::units::Bytes;

/// Version of the plan's JSON.
pub const SCHEMA: u32 = 1;

/// What is to be done, and what it does to the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HugetlbPlan {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What the facts are of.
    pub source: String,
    /// One a page size that is planned for or exists, ascending.
    pub pools: Vec<PoolPlan>,
    /// Shared memory that gets no pages, with the reason.
    pub left_out: Vec<LeftOut>,
    /// What it does to the machine's memory.
    pub memory: MemoryPlan,
    /// What it does to page tables.
    pub tables: TablesPlan,
    /// The right to lock, and to use, so much memory.
    pub memlock: Option<Memlock>,
    /// Kernel settings beside the pools.
    pub settings: Vec<Setting>,
    /// What an operator should know.
    pub warnings: Vec<Warning>,
    /// What it was made of.
    pub inputs: Inputs,
    /// Processes of the planned programs when it was made, whose page tables
    /// [`TablesPlan::processes_bytes`] are.
    pub processes: u64,
    /// Mounted hugetlbfs.
    pub mounts: Vec<Mount>,
    /// What could not be read.
    pub missing: Vec<Missing>,
}

/// The plan for one page size, in pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolPlan {
    /// Size of a page.
    pub page_bytes: Bytes,
    /// Who needs how many.
    pub demands: Vec<Demand>,
    /// For what is to come.
    pub headroom_pages: u64,
    /// In use or reserved by somebody else.
    pub others_pages: u64,
    /// Sum of the above.
    pub needed_pages: u64,
    /// What the pool will be: `needed`, and no less than it is now (unless shrinking), and never
    /// less than is in use or reserved.
    pub target_pages: u64,
    /// As it is now; `None`: not known.
    pub now: Option<Pool>,
    /// Shares of NUMA nodes; empty where there is no choice.
    pub nodes: Vec<NodeShare>,
}

/// A NUMA node's share of a pool, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeShare {
    /// Number of the node.
    pub node: u32,
    /// Now.
    pub now_pages: u64,
    /// As planned. Without `--node` the kernel spreads new pages evenly: then it is an
    /// expectation.
    pub target_pages: u64,
}

impl PoolPlan {
    /// Pages that the pool has now; 0 where it is not known.
    pub fn now_pages(&self) -> u64 {
        self.now.as_ref().map_or(0, |pool| pool.total)
    }

    /// The same without surplus ones.
    pub fn own_pages(&self) -> u64 {
        self.now.as_ref().map_or(0, Pool::own)
    }

    /// Memory of a number of its pages.
    pub fn bytes_of(&self, pages: u64) -> Bytes {
        Bytes(self.page_bytes.0.saturating_mul(pages))
    }
}

/// Effect on the machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPlan {
    /// All of it.
    pub total_bytes: Option<Bytes>,
    /// Available now.
    pub available_bytes: Option<Bytes>,
    /// In pools now.
    pub pools_now_bytes: Bytes,
    /// In pools as planned.
    pub pools_bytes: Bytes,
    /// What remains for everybody else.
    pub remains_bytes: Option<Bytes>,
    /// What must remain.
    pub leave_bytes: Option<Bytes>,
}

/// Effect on page tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TablesPlan {
    /// `PageTables` of the machine now.
    pub machine_bytes: Option<Bytes>,
    /// The same in percent of the memory.
    pub machine_percent: Option<f64>,
    /// Memory that a number of entries map in 4 KiB pages, in units of the machine's memory.
    pub machine_times_memory: Option<f64>,
    /// Processes touching all of the planned memory that it takes for the machine's page tables.
    pub sharers: Option<f64>,
    /// Page tables that a number of processes would have for it on the planned pages.
    pub sharers_huge_bytes: Option<Bytes>,
    /// The segment on base pages that costs most, if each of its processes touches all of it.
    pub costliest: Option<Segment>,
    /// Page tables of the planned programs' processes now (sum of `VmPTE`).
    pub processes_bytes: Option<Bytes>,
    /// For the planned memory alone on 4 KiB pages, if each process touches all of it; `None`
    /// where it is not given how many share a part of it.
    pub small_bytes: Option<Bytes>,
    /// The same on the planned pages.
    pub huge_bytes: Option<Bytes>,
}

/// Locked memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memlock {
    /// The limit, in kB as limits.d wants it.
    pub limit_kb: u64,
    /// For these users.
    pub users: Vec<String>,
    /// For these systemd units.
    pub units: Vec<String>,
}

impl Setting {
    /// Whether it has to be written.
    pub fn differs(&self) -> bool {
        self.now.as_ref() != Some(&self.value)
    }
}

/// A kernel setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Path below the root.
    pub file: String,
    /// Its key for sysctl.
    pub key: String,
    /// Value to write.
    pub value: String,
    /// Value now; `None`: not known.
    pub now: Option<String>,
    /// Why.
    pub why: String,
}

impl HugetlbPlan {
    /// All demands of all pools.
    pub fn demands(&self) -> impl Iterator<Item = &Demand> {
        self.pools.iter().flat_map(|pool| &pool.demands)
    }

    /// The warnings for which it is not carried out.
    pub fn refusals(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().filter(|warning| warning.kind.refuses())
    }
}
