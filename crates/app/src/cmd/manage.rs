//! `hugewise manage`.

use crate::cli::{Global, ManageArgs};

/// Runs the command.
pub(crate) fn run(_global: &Global, _args: &ManageArgs) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
