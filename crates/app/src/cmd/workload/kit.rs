//! What the workloads share that tests look at from outside.
//!
//! They obey their standard input, answer every line with one line of JSON, and end with their
//! parent or their input.

use anyhow::Context;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::io::Write;

/// Bytes.
pub(super) const MIB: usize = 1 << 20;
/// Bytes of a huge page of x86-64, by which all of their memory is aligned.
pub(super) const HUGE: usize = 2 * MIB;

/// What a program may say of its memory before the first touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Advise {
    /// Huge pages are wanted: one program then behaves as all do under THP `always`.
    Huge,
}

/// Prints one answer.
pub(super) fn say(answer: &Value) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}")?;
    out.flush()
}

/// `VmRSS`, and what the kernel's rollup says about sharing and huge pages.
pub(super) fn memory_of_this_process() -> anyhow::Result<Value> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let kib = |text: &str, name: &str| -> anyhow::Result<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let line = line.with_context(|| format!("the kernel names no {name}"))?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    };
    Ok(json!({
        "rss_kib": kib(&status, "VmRSS")?,
        "pss_kib": kib(&rollup, "Pss")?,
        "huge_kib": kib(&rollup, "AnonHugePages")?,
    }))
}

/// What a written word at `address` holds: differs between neighbours, between pages and between
/// mappings, and is never 0, so that lost data cannot look right.
pub(super) fn pattern(address: u64) -> [u8; 8] {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).to_ne_bytes()
}
