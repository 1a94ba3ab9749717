//! The program together with others, which may be missing: a test then skips with its reason.

#![allow(clippy::disallowed_types, reason = "tests speak to servers over TCP")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that its test starts")]

mod diagnose;
mod docs;
mod fleet;
mod load;
mod recommended;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // What is sent for a test is sent by a process of its own, which starts further ones as
    // hugewise would.
    let done = match words.as_slice() {
        [a, b, rest @ ..] if [a, b] == load::SEND => Some(load::send(rest).map(|()| 0)),
        [a, b, kind, rest @ ..] if [a, b] == hugewise_workloads::COMMAND => {
            Some(hugewise_workloads::run(kind, rest))
        }
        _ => None,
    };
    if let Some(done) = done {
        return done.map_or_else(|error| failed(&error), ExitCode::from);
    }
    let arguments = Arguments::from_args();
    let mut failed = run(&arguments, diagnose::trials());
    failed |= run(&arguments, fleet::trials());
    failed |= run(&arguments, load::trials());
    failed |= run(&arguments, docs::trials());
    let threads = arguments.test_threads.or(Some(recommended::AT_ONCE));
    failed |= run(&Arguments { test_threads: threads, ..arguments }, recommended::trials());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("{error:#}");
    ExitCode::FAILURE
}

/// Whether one of them failed.
fn run(arguments: &Arguments, trials: Vec<Trial>) -> bool {
    libtest_mimic::run(arguments, trials).has_failed()
}
