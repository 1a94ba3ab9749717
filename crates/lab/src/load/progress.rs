//! What a load says while it runs.

use hugewise_core::base::units::Ns;
use std::time::Duration;

/// How often a run says where it is, and looks whether it should go on.
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
}

/// Told where the run is; its error ends the run.
pub type Beat<'a> = dyn FnMut(Progress) -> anyhow::Result<()> + 'a;
