//! sysstat and its family: `sar`, `mpstat`, `pidstat`, `iostat` in text, `sadf -j`, `-d`, `-p`
//! and `-x`.

mod banner;
mod columns;
pub(super) mod csv;
mod headless;
pub(super) mod iostat;
mod opening;
pub(super) mod sadf;
mod table;
#[cfg(test)]
mod tests;
mod time;
pub(super) mod timed;
mod words;
pub(super) mod xml;

pub(super) use columns::{factor, of_key};
pub(super) use iostat::moment;
pub(super) use table::is_sane;
pub(super) use words::{Cell, cell, is_elision, number, words};
