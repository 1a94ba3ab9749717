//! Programs that experiments, and tests, look at from outside: they touch, fault, fork and verify
//! their memory. Each runs in a process of its own, as `hugewise lab workload NAME`, and obeys its
//! standard input.

mod bloat;
pub mod demo;
mod exec;
mod hold;
mod kit;
mod lab;
mod pattern;
mod probe;
pub mod protocol;
mod warm;

use hugewise_base::exit::{self, Coded};

pub use protocol::COMMAND;

/// Becomes the workload of this name; returns its exit code.
///
/// # Errors
/// An unknown name, arguments that make no sense, or what went wrong in the workload.
pub fn run(name: &str, args: &[String]) -> anyhow::Result<u8> {
    match name {
        "probe" => probe::run(args),
        "warm" => warm::run(args),
        "exec" => exec::run(args),
        "lab" => lab::run(args),
        "hold" => hold::run(args),
        "bloat" => bloat::run(args),
        other => {
            let message = format!("workload: there is none called '{}'", other.escape_debug());
            Err(Coded::new(exit::USAGE, message).into())
        }
    }
}
