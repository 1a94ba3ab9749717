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
    after_help = "Without '-o' it writes a history until SIGINT or SIGTERM. Files are of their \
owner alone: they name all programs.\n\n\
Examples:\n  hugewise record                  # a history, with a sample every 5 s\n  \
hugewise top --at 03:00          # the same screens, as they were\n  \
hugewise diagnose --at 03:00\n  \
hugewise record --from 02:55 --to 03:10 -o bad-night.history\n  \
hugewise record --for 5m -o bad-hour.history    # without a history\n  \
hugewise diagnose bad-hour.history"
)]
pub struct RecordArgs {
    /// Write to this new file instead of a history: for 60s, with a sample each second
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with_all = ["days", "max_size"])]
    pub output: Option<PathBuf>,
    /// Take the samples of the history from this time on, in UTC, instead of new ones
    #[arg(long, value_name = "TIME", conflicts_with_all = ["for", "every", "with_arguments",
          "processes"])]
    pub from: Option<String>,
    /// The last time of the history that is taken (default: its last sample)
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Directory of the history (default: /var/lib/hugewise/history)
    #[arg(long, value_name = "DIR")]
    pub history: Option<PathBuf>,
    /// Time between samples (default: 5s, with '-o' 1s)
    #[arg(long, alias = "interval", value_name = "TIME")]
    pub every: Option<String>,
    /// How long to record (default: until SIGINT or SIGTERM, with '-o' 60s)
    #[arg(long, value_name = "TIME")]
    pub r#for: Option<String>,
    /// Days that are stored, today included
    #[arg(long, default_value_t = 7, value_name = "DAYS",
          value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,
    /// Most disk space; the oldest hours make room
    #[arg(long, default_value = "1GiB", value_name = "SIZE", value_parser = room)]
    pub max_size: Size,
    /// Record the arguments of processes and of the kernel, too
    ///
    /// They may hold passwords. Without this, processes are recorded by their names only. Their
    /// environment is never recorded.
    #[arg(long)]
    pub with_arguments: bool,
    /// Record in a history, too, what the CPUs run, by the kernel's functions
    ///
    /// Each CPU is sampled 97 times a second. 'serve' and 'diagnose --flame-graph' draw it. A file
    /// of '-o' has it without this. It needs root, or kernel.perf_event_paranoid and
    /// kernel.kptr_restrict that allow it.
    #[arg(long, conflicts_with_all = ["output", "from"])]
    pub stacks: bool,
    /// Most processes in a sample; the rest is counted
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = clap::value_parser!(u16).range(..=4096))]
    pub processes: u16,
    /// Directory in which a manager keeps old values of settings
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    #[command(flatten)]
    pub daemon: DaemonArgs,
}

/// A size of which an eighth is room for a sample.
fn room(text: &str) -> Result<Size, String> {
    let size = size::with_unit(text)?;
    if size.0 < 8 << 20 { Err("must be 8MiB or more".to_owned()) } else { Ok(size) }
}

/// A moment that was recorded.
#[derive(Debug, Clone, Args)]
pub struct PastArgs {
    /// As it was then, in UTC: 03:00, '2026-11-26 03:00:30', '10m ago' (from the last sample on)
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    pub at: Option<String>,
    /// What 'hugewise record' wrote: a directory, or a file (default: /var/lib/hugewise/history)
    #[arg(long, value_name = "DIR|FILE", help_heading = HEADING)]
    pub history: Option<PathBuf>,
}

impl PastArgs {
    /// Whether a moment that was recorded is meant, and not now.
    pub const fn is_meant(&self) -> bool {
        self.at.is_some() || self.history.is_some()
    }

    /// Where it was recorded.
    pub fn directory(&self) -> &Path {
        self.history.as_deref().unwrap_or(Path::new(HISTORY_DIR))
    }
}
