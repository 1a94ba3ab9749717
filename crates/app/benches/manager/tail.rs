//! What a program feels while its memory is promoted: `hugewise try`, more rounds of it.

use super::{Done, number, target};
use std::process::Command;

pub(crate) fn run() -> Done {
    let rounds = number("HUGEWISE_BENCH_ROUNDS", 5).to_string();
    let report = std::env::temp_dir().join("hugewise-bench-tail.html");
    let status = Command::new(target::PROGRAM)
        .args(["try", "--rounds", &rounds, "--report"])
        .arg(report)
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("try ended with {status}").into()) }
}
