//! What `hugewise hugetlb apply` did, or would do, as values.

use hugewise_base::units::Bytes;
use hugewise_evidence::hugetlb::grow::Outcome;
use hugewise_evidence::hugetlb::plan::{HugetlbPlan, Setting};
use serde::Serialize;

/// What happened to a pool, or to a NUMA node's share.
#[derive(Debug, Serialize)]
pub(crate) struct PoolDone {
    /// Size of its pages.
    pub(crate) page_bytes: Bytes,
    /// The node; `None`: the whole pool.
    pub(crate) node: Option<u32>,
    /// Pages before.
    pub(crate) before_pages: u64,
    /// Pages wanted.
    pub(crate) wanted_pages: u64,
    /// Pages granted; `None` in a dry run.
    pub(crate) granted_pages: Option<u64>,
    /// How it ended; `None` in a dry run.
    pub(crate) outcome: Option<Outcome>,
    /// How often memory was compacted.
    pub(crate) compactions: u32,
}

/// What happened to a file.
#[derive(Debug, Serialize)]
pub(crate) struct FileDone {
    /// Path below the root.
    pub(crate) path: String,
    /// Whether it is not as it was.
    pub(crate) changed: bool,
    /// All of its text.
    pub(crate) text: String,
}

/// What was done, or would be.
#[derive(Debug, Serialize)]
pub(crate) struct Done {
    /// Version of this JSON.
    pub(crate) schema: u32,
    /// Whether nothing was changed.
    pub(crate) dry_run: bool,
    /// Pools.
    pub(crate) pools: Vec<PoolDone>,
    /// Settings beside them.
    pub(crate) settings: Vec<Setting>,
    /// Files; none without `--persist`.
    pub(crate) files: Vec<FileDone>,
    /// Files of an earlier `--persist` that say something else than this plan: with `--persist`
    /// they are put back, without they stay and count at the next boot.
    pub(crate) stale_files: Vec<String>,
    /// The plan that was carried out.
    pub(crate) plan: HugetlbPlan,
}

impl Done {
    /// Whether a pool was given fewer pages than planned.
    pub(crate) fn is_partial(&self) -> bool {
        self.pools.iter().any(|pool| pool.granted_pages.is_some_and(|p| p < pool.wanted_pages))
    }
}
