//! `hugewise map`.

use crate::cli::{Global, MapArgs};

/// Runs the command.
pub(crate) fn run(_global: &Global, _args: &MapArgs) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
