//! `hugewise workload`: hidden; what probes, `try` and tests look at.

mod demo;
mod warm;

use crate::cli::WorkloadArgs;

/// Runs the command.
pub(crate) fn run(args: &WorkloadArgs) -> anyhow::Result<u8> {
    match args.kind.as_str() {
        "try" => demo::run(&args.args),
        "warm" => warm::run(&args.args),
        other => anyhow::bail!("no workload '{other}'"),
    }
}
