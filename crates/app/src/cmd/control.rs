//! `hugewise pause` and `hugewise resume`.

use crate::cli::{DaemonArgs, Global};

/// What is asked of the manager.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verb {
    /// Stop promoting.
    Pause,
    /// Promote again.
    Resume,
}

/// Runs the command.
pub(crate) fn run(_global: &Global, _args: &DaemonArgs, _verb: Verb) -> anyhow::Result<u8> {
    anyhow::bail!("not built yet")
}
