//! What databases log about slow statements: of [`mysql`], [`postgres`] and [`mongo`]. Statements
//! are told without their literals, as [`runs`].

mod mongo;
mod mysql;
mod postgres;
mod runs;

use super::glance::Glance;
use super::prelude::*;

/// Whether such a log may begin at a line.
pub(super) fn may(line: &Glance<'_>) -> bool {
    let slow = line.begins("#") && line.any(":") || line.has(",Version:started");
    let postgres = line.any(":") && (line.has("LOG:") || line.has("FATL:") || line.has("ERO:"));
    slow || postgres || line.has("Slowquery") || line.has("planSumry:")
}

/// Such a log begins here.
pub(super) fn begins(lines: &Lines<'_>, out: &mut Builder) -> Option<Box<dyn Reader>> {
    let forms = [mysql::begins, postgres::begins, mongo::begins];
    forms.iter().find_map(|begins| begins(lines, out))
}
