//! Syntax of `placement`.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `placement`.
#[derive(Debug, Args)]
#[command(after_help = "Takes what 'diagnose' takes, of three hosts or more, made at the same \
time: captures, sar files and pidstat, outputs of top. A host that its recording does not name is \
called as the file.\n\n\
Exit codes: 0 no host is busier than the others, 3 at least one is, 5 none was found and a \
recording or a host was left out, 1 unreadable input, 2 usage.\n\n\
Examples:\n  hugewise placement worker1.capture worker2.capture worker3.capture\n  \
hugewise placement top-*.txt --json")]
pub(crate) struct PlacementArgs {
    /// Recordings of the hosts
    #[arg(value_name = "RECORDING", required = true)]
    pub(crate) recordings: Vec<PathBuf>,
}
