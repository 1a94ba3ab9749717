//! What a load says while it runs.

use hugewise_base::units::Ns;
use std::time::Duration;

/// How often a run says where it is, and checks whether it should continue.
pub const BEAT: Duration = Duration::from_millis(100);

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Since the begin of the first step; zero while connections are opened and keys are set.
    pub at: Ns,
    /// Duration of all steps.
    pub time: Ns,
    /// Requests whose time came.
    pub intended: u64,
    /// Requests answered well.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// The latency that 1 % of those answered exceed; `None` where nobody keeps count.
    pub p99: Option<Ns>,
}

impl Progress {
    /// Where a run is that does not say what became of its requests.
    pub const fn silent(at: Ns, time: Ns) -> Self {
        Self { at, time, intended: 0, completed: 0, failed: 0, p99: None }
    }
}

/// Is called with where the run is; its error ends the run.
pub type Beat<'a> = dyn FnMut(Progress) -> anyhow::Result<()> + 'a;
