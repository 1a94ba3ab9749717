//! What workloads share.
//!
//! They answer requests ([`crate::protocol`]), and end with their parent or their input.

#![expect(clippy::disallowed_methods, reason = "a program of its own, which answers its starter")]

use crate::protocol::{Event, Request};
use anyhow::Context;
use clap::ValueEnum;
use hugewise_base::exit;
use hugewise_linux::memory::{Arena, LocalAdvice};
use hugewise_linux::root::Root;
use hugewise_linux::{machine, prctl};
use std::io::Write;
use std::sync::OnceLock;

/// Bytes.
pub(super) const MIB: usize = 1 << 20;

/// Bytes of a huge page of this machine, by which all of their memory is aligned.
pub(super) fn huge() -> usize {
    static HUGE: OnceLock<usize> = OnceLock::new();
    let read = || usize::try_from(machine::geometry(&Root::live()).huge.0).unwrap_or(2 * MIB);
    *HUGE.get_or_init(read)
}

/// What a program may say of its memory before the first touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Advise {
    /// Huge pages are wanted: one program then behaves as all do under THP `always`.
    Huge,
}

/// Huge pages that were switched off are allowed again: a manager may promote. So may khugepaged
/// where the program asked for them: it serves whom it knows, and learns of a program when that
/// asks for huge pages that it may have.
pub(super) fn allow_huge_pages(asked: bool) -> anyhow::Result<()> {
    prctl::set_thp_disable(false).context("cannot switch huge pages on")?;
    if asked {
        let mut once = Arena::new(huge(), huge()).context("cannot map memory")?;
        once.advise(0..huge(), LocalAdvice::HugePage).context("cannot ask for huge pages")?;
    }
    Ok(())
}

/// Says one event.
pub(super) fn say(event: &Event) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, event)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Says whether everything was as written; returns that.
pub(super) fn say_verdict(checked: usize, wrong_at: Option<u64>) -> anyhow::Result<bool> {
    say(&match wrong_at {
        None => Event::Verified { checked: checked as u64 },
        Some(address) => Event::Mismatch { wrong: 1, during: format!("verify, at {address:#x}") },
    })?;
    Ok(wrong_at.is_none())
}

/// Answers the requests of the input until it ends or one says `exit`. `answer` says whether all is
/// well; `None` where it knows no such request.
pub(super) fn serve(
    name: &str,
    mut answer: impl FnMut(Request) -> anyhow::Result<Option<bool>>,
) -> anyhow::Result<u8> {
    for line in std::io::stdin().lines() {
        let line = line.context("cannot read the next request")?;
        let answered = match Request::parse(&line) {
            Some(Request::Exit) => break,
            Some(asked) => answer(asked)?,
            None => None,
        };
        match answered {
            None => anyhow::bail!("workload {name}: unknown request '{}'", line.escape_debug()),
            Some(false) => return Ok(exit::ERROR),
            Some(true) => {}
        }
    }
    Ok(exit::OK)
}

/// What a written word at `address` holds: differs between neighbours, between pages and between
/// mappings, and is never 0, so that lost data cannot look right.
pub(super) fn pattern(address: u64) -> [u8; 8] {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).to_ne_bytes()
}
