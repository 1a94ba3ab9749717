//! Syntax of `capture`.

use super::places::HISTORY_DIR;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `capture`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hugewise capture --for 5m -o bad-hour\n  \
hugewise capture --from 02:55 --to 03:10 -o bad-night    # of what 'hugewise record' saw\n  \
hugewise diagnose bad-hour\n  hugewise top --history bad-night")]
pub(crate) struct CaptureArgs {
    /// Directory to write to: a new one, or an empty one
    #[arg(long, short = 'o', value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Take the samples of the history from this time on, in UTC, instead of new ones
    #[arg(long, value_name = "TIME", conflicts_with_all = ["for", "every", "with_arguments",
          "processes"])]
    pub(crate) from: Option<String>,
    /// The last time of the history that is taken (default: its last sample)
    #[arg(long, value_name = "TIME", requires = "from")]
    pub(crate) to: Option<String>,
    /// Directory of the history
    #[arg(long, default_value = HISTORY_DIR, value_name = "DIR", requires = "from")]
    pub(crate) history: PathBuf,
    /// How long, e.g. 90s or 10m; SIGINT and SIGTERM end it early and cleanly
    #[arg(long, default_value = "60s", value_name = "TIME")]
    pub(crate) r#for: String,
    /// Time between samples
    #[arg(long, default_value = "1s", value_name = "TIME")]
    pub(crate) every: String,
    /// Capture the arguments of processes and of the kernel, too
    ///
    /// They may hold passwords. Without this, processes are captured by their names only. Their
    /// environment is never captured.
    #[arg(long)]
    pub(crate) with_arguments: bool,
    /// Most processes in a sample (default and most: 4096); the rest is counted
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<usize>,
}
