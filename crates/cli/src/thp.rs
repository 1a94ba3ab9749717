//! The command line of `thp`.

use super::STATE_DIR;
use super::revert::SettingsRevertArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `thp` does.
#[derive(Debug, Subcommand)]
pub enum ThpCommand {
    /// Every setting with its value, its choices, and what it was before 'thp set'
    Show(ThpShowArgs),
    /// Change settings; old values are kept for 'thp revert'
    Set(ThpSetArgs),
    /// Put back what 'thp set' changed
    Revert(SettingsRevertArgs),
}

/// Arguments of `thp show`.
#[derive(Debug, Args)]
pub struct ThpShowArgs {
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
}

/// Arguments of `thp set`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise thp set enabled=madvise defrag=defer+madvise\n  \
hugewise thp set khugepaged/max_ptes_none=51 --dry-run\n  \
hugewise thp set enabled=never --persist")]
pub struct ThpSetArgs {
    /// Settings by their path below /sys/kernel/mm/transparent_hugepage, and vm.defrag_mode and
    /// vm.compaction_proactiveness
    #[arg(required = true, value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Also write tmpfiles.d, so that they survive a reboot
    #[arg(long)]
    pub persist: bool,
    /// Do everything except the last step: change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Directory of the settings trail
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
}
