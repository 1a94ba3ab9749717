//! `hugewise doctor`.

use crate::cli::Global;

/// Runs the command.
pub(crate) fn run(_global: &Global) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
