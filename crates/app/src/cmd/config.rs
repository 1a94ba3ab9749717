//! `hugewise config`.

use crate::cli::{ConfigCommand, Global};

/// Runs the command.
pub(crate) fn run(_global: &Global, _command: &ConfigCommand) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
