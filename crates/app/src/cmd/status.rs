//! `hugewise status`.

use crate::cli::{Global, StatusArgs};

/// Runs the command.
pub(crate) fn run(_global: &Global, _args: &StatusArgs) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
