//! How a listing of this family begins.

use super::banner::{self, Banner};
use super::words::{is_elision, number, words};
use crate::recording::readers::Lines;

/// How a listing begins.
pub(super) struct Opening {
    /// Its first line, if it has one.
    pub(super) banner: Option<Banner>,
    /// How many lines ahead its first table begins.
    pub(super) at: usize,
}

/// Lines between a tool's first line and its first table: blank ones and dots.
const GAP_MAX: usize = 12;

/// Lines below a header in which a number shows the decimal sign.
pub(super) const SAMPLE_LINES: usize = 16;

pub(super) fn opening(lines: &Lines<'_>) -> Opening {
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
pub(super) fn has_comma(line: &str) -> bool {
    words(line).iter().any(|word| word.contains(',') && number(word).is_some())
}
