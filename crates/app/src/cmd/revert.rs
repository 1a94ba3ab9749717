//! `hugewise revert`.

use crate::cli::{Global, RevertArgs};

/// Runs the command.
pub(crate) fn run(_global: &Global, _args: &RevertArgs) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
