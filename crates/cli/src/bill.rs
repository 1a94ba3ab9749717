//! Syntax of `advise --estimate`.

use clap::Args;
use std::path::PathBuf;

/// Options of the bill.
#[derive(Debug, Args)]
#[command(next_help_heading = "What huge pages would cost and give")]
pub struct BillArgs {
    /// Estimate what memory, stalls and speed would be under 'never', 'always', HugeTLB pools and
    /// 'hugewise manage', from recordings of one machine (default: this one, watched for 10 s)
    ///
    /// With error bars, and as if programs did the same and were started again. Changes nothing.
    /// A capture says most; any recording that 'diagnose' takes says a part. Exit codes: 0 done, 3
    /// with --check: something came out beyond its error bars, 5 partial.
    #[arg(long, value_name = "RECORDING", num_args = 0.., conflicts_with_all = ["pid", "all"])]
    pub estimate: Option<Vec<PathBuf>>,
    /// Recordings that were made after a change: score the bill by what came
    #[arg(long, value_name = "RECORDING", requires = "estimate")]
    pub check: Vec<PathBuf>,
    /// What was chosen; otherwise as the settings of the later recording say
    #[arg(long, value_name = "WAY", requires = "check",
          value_parser = ["never", "always", "hugetlb", "worth"])]
    pub r#as: Option<String>,
    /// CPU cycles that go into page walks now, percent
    ///
    /// Only the CPU can say it: 'perf stat -a -e
    /// cycles,dtlb_load_misses.walk_active,dtlb_store_misses.walk_active sleep 60'.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, requires = "estimate")]
    pub walk_percent: Option<f64>,
}
