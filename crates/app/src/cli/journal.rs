//! The command line of `journal`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What `journal` does.
#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Score policies that ran in shadow: was what they chose accessed more?
    Score(JournalScoreArgs),
}

/// Arguments of `journal score`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  hugewise manage --set 'policy.shadow=[\"utilization\"]' --for 10m\n  \
hugewise journal score"
)]
pub(crate) struct JournalScoreArgs {
    /// The journal
    #[arg(default_value = "/var/lib/hugewise/journal.jsonl", value_name = "FILE")]
    pub(crate) file: PathBuf,
}
