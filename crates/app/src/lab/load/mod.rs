//! Puts a server under load: with an open model of our own, or with an installed tool.
//! The model, and what is counted, is `hugewise_core::lab::load`.

mod own;
mod tools;

#[cfg(test)]
mod tests;

use hugewise_core::lab::load::{LoadResult, LoadSpec, Tool};
use hugewise_core::units::Ns;
use std::time::Duration;

/// How often a run says where it is, and looks whether it should go on.
pub(crate) const BEAT: Duration = Duration::from_millis(100);

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Since the begin of the first step; zero while connections are opened and keys are set.
    pub(crate) at: Ns,
    /// Duration of all steps.
    pub(crate) time: Ns,
    /// Requests whose time came.
    pub(crate) intended: u64,
    /// Requests answered well.
    pub(crate) completed: u64,
    /// Requests that failed.
    pub(crate) failed: u64,
}

/// Told where the run is; its error ends the run.
pub(crate) type Beat<'a> = dyn FnMut(Progress) -> anyhow::Result<()> + 'a;

/// Runs a load to the end of its steps. Answers are waited for until the timeout of the last
/// request.
pub(crate) fn run(spec: &LoadSpec, beat: &mut Beat<'_>) -> anyhow::Result<LoadResult> {
    if spec.tool != Tool::Own {
        return tools::run(spec, beat);
    }
    let (target, profile) = spec.check()?;
    own::run(spec, &target, &profile, beat)
}
