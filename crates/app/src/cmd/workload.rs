//! `hugewise workload`: hidden; what probes, `try` and tests look at.

use crate::cli::WorkloadArgs;

/// Runs the command.
pub(crate) fn run(_args: &WorkloadArgs) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
