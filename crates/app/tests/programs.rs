//! The program together with others, which may be missing: a test then skips with its reason.

#![allow(clippy::disallowed_types, reason = "tests speak to servers over TCP")]

mod diagnose;
mod docs;
mod fleet;
mod load;
mod recommended;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut failed = run(&arguments, diagnose::trials());
    failed |= run(&arguments, fleet::trials());
    failed |= run(&arguments, load::trials());
    failed |= run(&arguments, docs::trials());
    let threads = arguments.test_threads.or(Some(recommended::AT_ONCE));
    failed |= run(&Arguments { test_threads: threads, ..arguments }, recommended::trials());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Whether one of them failed.
fn run(arguments: &Arguments, trials: Vec<Trial>) -> bool {
    libtest_mimic::run(arguments, trials).has_failed()
}
