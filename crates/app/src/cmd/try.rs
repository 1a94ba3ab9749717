//! `hugewise try`.

use crate::cli::{Global, TryArgs};

/// Runs the command.
pub(crate) fn run(_global: &Global, _args: &TryArgs) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
