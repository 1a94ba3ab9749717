//! Syntax of `record`, and of going back in what it wrote.

use super::daemon::DaemonArgs;
use super::places::{HISTORY_DIR, STATE_DIR};
use clap::Args;
use hugewise_base::size::{self, Size};
use std::path::{Path, PathBuf};

/// Above the options that go back.
const HEADING: &str = "A moment that was recorded";

/// Arguments of `record`.
#[derive(Debug, Args)]
#[command(
    after_help = "Runs until SIGINT or SIGTERM. Files are of their owner alone: they name all \
programs.\n\n\
Examples:\n  hugewise record --interval 5s\n  hugewise top --at 03:00          # the same screens, \
as they were\n  hugewise status --at '10m ago'\n  hugewise diagnose --at 03:00\n  \
hugewise capture --from 02:55 --to 03:10 -o for-a-ticket"
)]
pub(crate) struct RecordArgs {
    /// Directory of the history
    #[arg(long, default_value = HISTORY_DIR, value_name = "DIR")]
    pub(crate) history: PathBuf,
    /// Time between samples
    #[arg(long, default_value = "5s", value_name = "TIME")]
    pub(crate) interval: String,
    /// Days that are stored, today included
    #[arg(long, default_value_t = 7, value_name = "DAYS",
          value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: u32,
    /// Most disk space; the oldest hours make room
    #[arg(long, default_value = "1GiB", value_name = "SIZE", value_parser = room)]
    pub(crate) max_size: Size,
    /// How long to record (default: until SIGINT or SIGTERM)
    #[arg(long, value_name = "TIME")]
    pub(crate) r#for: Option<String>,
    /// Record the arguments of processes and of the kernel, too: they may hold passwords
    #[arg(long)]
    pub(crate) with_arguments: bool,
    /// Directory in which a manager keeps old values of settings
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
}

/// A size of which an eighth is room for a sample.
fn room(text: &str) -> Result<Size, String> {
    let size = size::with_unit(text)?;
    if size.0 < 8 << 20 { Err("must be 8MiB or more".to_owned()) } else { Ok(size) }
}

/// A moment that was recorded.
#[derive(Debug, Clone, Args)]
pub(crate) struct PastArgs {
    /// As it was then, in UTC: 03:00, '2026-11-26 03:00:30', '10m ago' (from the last sample on)
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    pub(crate) at: Option<String>,
    /// Directory of 'hugewise record' or 'hugewise capture' (default: /var/lib/hugewise/history)
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    pub(crate) history: Option<PathBuf>,
}

impl PastArgs {
    /// Whether a moment that was recorded is meant, and not now.
    pub(crate) const fn is_meant(&self) -> bool {
        self.at.is_some() || self.history.is_some()
    }

    /// Where it was recorded.
    pub(crate) fn directory(&self) -> &Path {
        self.history.as_deref().unwrap_or(Path::new(HISTORY_DIR))
    }
}
