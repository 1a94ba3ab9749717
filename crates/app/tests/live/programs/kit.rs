//! What programs share that answer requests: a line each on their standard input, and an answer
//! each in JSON. They end with their parent, their input, or the request `exit`.

use crate::machine;
use anyhow::Context;
use hugewise_linux::prctl;
use hugewise_workloads::protocol::{Event, Report};
use serde::Serialize;

/// Bytes.
pub(super) const MIB: usize = 1 << 20;
/// Bytes of a huge page of this machine, by which all of their memory is aligned.
pub(super) fn huge() -> usize {
    usize::try_from(machine::geometry().huge.0).unwrap_or(2 * MIB)
}

/// Exit codes.
pub(super) const OK: u8 = 0;
pub(super) const ERROR: u8 = 1;

/// First of all: without its parent nobody would end a program.
pub(super) fn end_with_parent() -> anyhow::Result<()> {
    prctl::set_parent_death_signal().context("cannot ask to end with the parent")
}

/// Gives one answer.
pub(super) fn say(answer: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(answer)?);
    Ok(())
}

/// Said once, unasked, when requests may come.
pub(super) fn say_ready() -> anyhow::Result<()> {
    say(&Event::Ready(Report::default()))
}

/// Answers the requests of the input until it ends or one says `exit`. `answer` says whether the
/// program keeps running.
pub(super) fn serve(mut answer: impl FnMut(&str) -> anyhow::Result<bool>) -> anyhow::Result<u8> {
    for line in std::io::stdin().lines() {
        match line.context("cannot read the next request")?.as_str() {
            "exit" => break,
            asked if answer(asked)? => {}
            _ => return Ok(ERROR),
        }
    }
    Ok(OK)
}

/// The error of a program that is asked for what it cannot do.
pub(super) fn unknown(asked: &str) -> anyhow::Error {
    anyhow::anyhow!("unknown request '{}'", asked.escape_debug())
}
