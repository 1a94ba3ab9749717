//! `hugewise lab workload`: what examples, probes, experiments and tests look at.

mod load;

use crate::cli::WorkloadArgs;

/// Runs the command.
pub(crate) fn run(args: &WorkloadArgs) -> anyhow::Result<u8> {
    match args.kind.as_str() {
        "load" => load::run(&args.args),
        kind => hugewise_workloads::run(kind, &args.args),
    }
}
