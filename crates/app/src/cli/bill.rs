//! Syntax of `bill`.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `bill`.
#[derive(Debug, Args)]
#[command(after_help = "Estimates, with error bars, what memory, stalls and speed would be under \
'never', 'always', HugeTLB pools and 'hugewise manage', if programs did the same and were started \
again. Changes nothing. A capture tells most; any recording that 'diagnose' takes tells a part.\n\n\
Speed takes what page walks cost now, which only the CPU can say:\n  perf stat -a -e cycles,\
dtlb_load_misses.walk_active,dtlb_store_misses.walk_active sleep 60\n\n\
Exit codes: 0 told, 3 with --check: something came out beyond its error bars, 5 told in part, 1 \
unreadable input, 2 usage.\n\n\
Examples:\n  hugewise record --for 1m -o before && hugewise bill before\n  \
hugewise bill before --walk-percent 12.5\n  \
hugewise bill before --check after --as always      # how far off was it?")]
pub(crate) struct BillArgs {
    /// Recordings of one machine; this machine for ten seconds, without any
    #[arg(value_name = "RECORDING")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Recordings that were made after a change: score the bill by what came
    #[arg(long, value_name = "RECORDING")]
    pub(crate) check: Vec<PathBuf>,
    /// What was chosen; otherwise as the settings of the later recording say
    #[arg(long, value_name = "WAY", requires = "check",
          value_parser = ["never", "always", "hugetlb", "worth"])]
    pub(crate) r#as: Option<String>,
    /// CPU cycles that go into page walks now, percent
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) walk_percent: Option<f64>,
}
