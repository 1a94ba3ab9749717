//! sysstat and its family: `sar`, `mpstat`, `pidstat`, `iostat` in text, `sadf -j` in JSON.

mod banner;
mod columns;
pub(super) mod iostat;
pub(super) mod sadf;
mod table;
#[cfg(test)]
mod tests;
mod time;
pub(super) mod timed;
mod words;

use super::Lines;
use banner::Banner;
pub(super) use iostat::moment;
pub(super) use table::is_sane;
pub(super) use words::{Cell, cell, is_elision, number, words};

/// How a listing begins.
struct Opening {
    /// Its first line, if it has one.
    banner: Option<Banner>,
    /// How many lines ahead its first table begins.
    at: usize,
}

/// Lines between a tool's first line and its first table: blank ones and dots.
const GAP_MAX: usize = 12;

/// Lines below a header in which a number shows the decimal sign.
const SAMPLE_LINES: usize = 16;

fn opening(lines: &Lines<'_>) -> Opening {
    let line = lines.ahead(0);
    if !banner::is_banner(line) {
        return Opening { banner: None, at: 0 };
    }
    let blank = |at: &usize| lines.ahead(*at).trim().is_empty() || is_elision(lines.ahead(*at));
    let at = (1..GAP_MAX).find(|at| !blank(at)).unwrap_or(GAP_MAX);
    let comma = (at..at + SAMPLE_LINES).any(|at| has_comma(lines.ahead(at)));
    Opening { banner: banner::parse(line, comma), at }
}

/// Whether a line has a number with a decimal comma.
fn has_comma(line: &str) -> bool {
    words(line).iter().any(|word| word.contains(',') && number(word).is_some())
}
