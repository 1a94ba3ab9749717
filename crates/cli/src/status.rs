//! Syntax of `status`.

use super::daemon::DaemonArgs;
use super::history::PastArgs;
use super::pids::Pids;
use super::places::STATE_DIR;
use super::values::at_least_one;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hugewise status               # machine, programs, manager\n  \
hugewise status 812           # one program: why its memory is as it is, in words\n  \
hugewise status --pid 812     # its numbers\n  \
hugewise status --map 812     # a picture of its memory\n  \
hugewise status --sort known_bloat --filter 'anon>1GiB'\n  \
hugewise status --json | jq .manager"
)]
pub struct StatusArgs {
    /// Number of processes to show
    #[arg(long, short = 'n', default_value = "10", value_name = "N", value_parser = at_least_one)]
    pub top: usize,
    /// Only these processes (repeat, or separate by commas or blanks)
    #[arg(long, value_name = "PID")]
    pub pid: Vec<Pids>,
    /// One process: why its memory is huge, waiting, small or given back, in words
    #[arg(value_name = "PID", conflicts_with_all = ["pid", "explain", "fields", "sort", "filter"])]
    process: Option<u32>,
    /// The same as PID alone
    #[arg(long, value_name = "PID", conflicts_with = "pid")]
    explain: Option<u32>,
    /// Columns of the table, such as pid,name,huge,promoted ('--json' lists all below 'fields')
    #[arg(long, value_name = "FIELDS", conflicts_with = "explain")]
    pub fields: Option<String>,
    /// Sort by a field, the largest first; FIELD:asc, the smallest first
    #[arg(long, value_name = "FIELD", conflicts_with = "explain")]
    pub sort: Option<String>,
    /// Only processes for which this holds, such as anon>1GiB, huge_percent<50, name=redis (repeat
    /// for more)
    #[arg(long, value_name = "TEST", conflicts_with = "explain")]
    pub filter: Vec<String>,
    /// Directory in which a manager keeps old values of settings
    #[arg(long, default_value = STATE_DIR, value_name = "DIR")]
    pub state_dir: PathBuf,
    #[command(flatten)]
    pub daemon: DaemonArgs,
    #[command(flatten)]
    pub past: PastArgs,
    #[command(flatten)]
    pub map: MapArgs,
}

impl StatusArgs {
    /// The process that is explained in words.
    pub fn explained(&self) -> Option<u32> {
        self.process.or(self.explain)
    }
}

/// Options of the picture of one process.
#[derive(Debug, Args)]
#[command(next_help_heading = "The memory of one process")]
pub struct MapArgs {
    /// Draw the address space of a process: a cell for each region
    #[arg(long, value_name = "PID", conflicts_with_all = ["top", "pid", "explain", "fields", "sort",
          "filter", "at", "history"])]
    pub map: Option<u32>,
    /// Write a picture to this file; '-' is standard output
    #[arg(long, value_name = "FILE", requires = "map")]
    pub svg: Option<PathBuf>,
    /// Cells per line (default: what fits the terminal, at most 64)
    #[arg(long, value_name = "N", value_parser = at_least_one, requires = "map")]
    pub width: Option<usize>,
    /// Read samples of the process's memory: how much of its huge pages is zeros
    ///
    /// Reads 32 of 512 base pages of every huge region. It checks only whether a page is all
    /// zeros, and stores nothing.
    #[arg(long, requires = "map")]
    pub sample: bool,
}
