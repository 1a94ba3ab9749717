//! Syntax of what puts settings back.

use super::places::STATE_DIR;
use clap::Args;
use std::path::PathBuf;

/// Arguments of each command that puts settings back.
#[derive(Debug, Args)]
pub struct SettingsRevertArgs {
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    /// Show what would be put back; nothing is changed
    #[arg(long)]
    pub dry_run: bool,
}
