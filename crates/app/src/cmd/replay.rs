//! `hugewise replay`.

use crate::cli::{Global, ReplayArgs};

/// Runs the command.
pub(crate) fn run(_global: &Global, _args: &ReplayArgs) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
