//! `hugewise advise run`: one program under its own policy of transparent huge pages.

use crate::cli::{AdviseRunArgs, Global};
use crate::output::Output;

/// Runs the command.
pub(super) fn run(_global: &Global, _args: &AdviseRunArgs) -> anyhow::Result<Output> {
    anyhow::bail!("not there yet")
}
