//! `hugewise workload`: hidden; what probes, `try` and tests look at.

mod bloat;
mod demo;
mod exec;
mod hold;
mod kit;
mod lab;
mod load;
mod probe;
mod segment;
mod shadow;
mod warm;

use crate::cli::WorkloadArgs;
use crate::exit;

/// Runs the command.
pub(crate) fn run(args: &WorkloadArgs) -> anyhow::Result<u8> {
    match args.kind.as_str() {
        "probe" => probe::run(&args.args),
        "try" => demo::run(&args.args),
        "warm" => warm::run(&args.args),
        "exec" => exec::run(&args.args),
        "lab" => lab::run(&args.args),
        "hold" => hold::run(&args.args),
        "bloat" => bloat::run(&args.args),
        "segment" => segment::run(&args.args),
        "load" => load::run(&args.args),
        "shadow" => shadow::run(&args.args),
        other => {
            let message = format!("workload: there is none called '{}'", other.escape_debug());
            Err(exit::coded(exit::USAGE, message))
        }
    }
}
