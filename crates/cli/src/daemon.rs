//! How a running manager is found.

use clap::Args;
use std::path::PathBuf;

/// How to find a running manager.
#[derive(Debug, Clone, Args)]
pub struct DaemonArgs {
    /// Directory of the manager's socket
    #[arg(long, default_value = "/run/hugewise", value_name = "DIR")]
    pub run_dir: PathBuf,
}
