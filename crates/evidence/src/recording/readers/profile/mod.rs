//! Profiles: in which functions samples were taken, and how programs came there.
//!
//! [`model`] is one profile, whatever tool printed it. One file a form of print: [`table`] is
//! `perf report` and `perf top`, [`script`] is `perf script`, [`folded`] has a chain a line,
//! [`maps`] the maps of bpftrace, [`listed`] the lists of bcc's `profile`, and [`pprof`] the binary
//! profiles of Go and others. [`way`] says how a
//! program came into the kernel.

mod chain;
mod folded;
mod listed;
mod maps;
pub(super) mod model;
pub(in crate::recording) mod pprof;
mod script;
pub(super) mod table;
pub(crate) mod way;

use super::glance::Glance;
use super::prelude::*;

/// Whether stacks may begin at a line.
pub(super) fn may(line: &Glance<'_>) -> bool {
    let sample = line.any(":") && line.any("0123456789") && (line.ends(":") || line.has("()"));
    let timed = line.ends(":") && line.any("0123456789");
    let chain = line.has("; ") && line.ends_with_digit();
    let map = line.begins("@") || line.has("Atachingprob.");
    let list = line.words_max(2);
    sample
        || timed
        || chain
        || map
        || list
        || line.begins("#")
        || line.has("Hertz.")
        || line.has("off-CPU(us)")
}

/// Stacks begin here, in whatever form.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let forms = [script::begins, folded::begins, maps::begins, listed::begins];
    forms.iter().find_map(|begins| begins(lines, out))
}
