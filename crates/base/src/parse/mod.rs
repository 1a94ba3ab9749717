//! Readers for the text the kernel writes under `/proc` and `/sys`, and for what users write.
//!
//! Nothing here opens a file: every function takes text. None of them panics, whatever the bytes.
//!
//! Files of many lines give a [`Parsed`]: the lines that made sense and a problem for each that
//! did not, because one line of a new kernel must not hide the others. Texts with one meaning give
//! a `Result`. What a text did not contain is `None`, never 0.

pub use crate::problem::{FOUND_CHARS_MAX, ParseError};
use serde::Serialize;
use std::str::FromStr;

pub mod arguments;
pub mod buddyinfo;
pub mod cgroup;
pub mod cpulist;
pub mod diskstats;
pub mod elf;
pub mod id_map;
pub mod irq_table;
pub mod kallsyms;
pub mod kernel_release;
pub mod kmsg;
pub mod loadavg;
pub mod locks;
pub mod maps;
pub mod meminfo;
pub mod mountinfo;
pub mod net_dev;
mod netlink;
pub mod pagetypeinfo;
pub mod passwd;
pub mod pid_io;
pub mod pid_limits;
pub mod pid_stat;
pub mod pid_status;
pub mod pool_path;
pub mod pressure;
pub mod proc_stat;
pub mod schedstat;
pub mod smaps;
pub mod snmp;
pub mod softnet;
pub mod statm;
pub mod subid;
pub mod sysctl;
pub mod sysv_shm;
pub mod taskstats;
pub mod tcp_table;
pub mod thp_choice;
pub mod trace_format;
pub mod unix_diag;
pub mod vmstat;
pub mod zones;

/// How many problems one text may report. A file in an unknown format would otherwise cost as much
/// memory in complaints as it has lines.
pub const PROBLEMS_MAX: usize = 64;

/// Most rows of one file that are kept, such as disks or interfaces; no machine has as many.
pub const ROWS_MAX: usize = 65_536;

/// Most names of one file of counters; `/proc/vmstat` has about 200.
pub const NAMES_MAX: usize = 8192;

/// What a text of many lines said, and which lines made no sense.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Parsed<T> {
    /// What could be read.
    pub value: T,
    /// Lines that were left out, in their order, at most [`PROBLEMS_MAX`].
    pub problems: Vec<ParseError>,
}

impl<T: Default> Parsed<T> {
    fn empty() -> Self {
        Self { value: T::default(), problems: Vec::new() }
    }
}

impl<T> Parsed<T> {
    fn note(&mut self, problem: ParseError) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    /// Says, before all else and once, that from this line on something is left out.
    fn full(&mut self, source: &'static str, number: usize, line: &str, wanted: &'static str) {
        if self.problems.first().is_none_or(|first| first.wanted != wanted) {
            self.problems.insert(0, ParseError::new(source, number, line, wanted));
            self.problems.truncate(PROBLEMS_MAX);
        }
    }
}

impl<T> Parsed<Vec<T>> {
    /// Keeps a row, unless there are [`ROWS_MAX`] already.
    fn keep(&mut self, row: T, source: &'static str, number: usize, line: &str) {
        if self.value.len() < ROWS_MAX {
            self.value.push(row);
        } else {
            self.full(source, number, line, "no more than 65536 rows; the rest is left out");
        }
    }
}

/// Lines with their numbers from 1; empty ones are left out.
pub fn numbered_lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    lines.map(|(index, line)| (index + 1, line)).filter(|(_, line)| !line.is_empty())
}

/// An unsigned decimal number and nothing else: no sign (Rust would take a plus), no blanks.
pub fn decimal<T: FromStr>(word: &str) -> Option<T> {
    let digits_only = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    if digits_only { word.parse().ok() } else { None }
}

/// `"    1024 kB"` as bytes. The unit is required: a torn line would otherwise give a number that
/// lost its last digits.
pub fn kib_to_bytes(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let (number, unit, rest) = (words.next()?, words.next()?, words.next());
    if unit != "kB" || rest.is_some() {
        return None;
    }
    decimal::<u64>(number)?.checked_mul(1024)
}

/// Splits `"Key:   value"`; a key contains no blanks.
pub fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = !key.is_empty() && !key.contains(char::is_whitespace);
    plain.then_some((key, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_place_and_expectation() {
        let error = ParseError::new("meminfo", 3, "Mem\tTotal", "a key and a number");
        assert_eq!(
            error.to_string(),
            "meminfo line 3: found 'Mem\\tTotal', wanted a key and a number"
        );
        let long = ParseError::new("maps", 1, "\u{e9}".repeat(500), "an address range");
        assert_eq!(long.found.chars().count(), FOUND_CHARS_MAX);
    }

    #[test]
    fn numbers_are_taken_strictly() {
        assert_eq!(decimal::<u64>("18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "+1", "-1", " 1", "1 ", "0x1", "18446744073709551616"] {
            assert_eq!(decimal::<u64>(wrong), None, "{wrong:?}");
        }
        assert_eq!(kib_to_bytes("  4 kB"), Some(4096));
        for wrong in ["4", "4 k", "4 MB", "4 kB 5", "18446744073709551615 kB"] {
            assert_eq!(kib_to_bytes(wrong), None, "{wrong:?}");
        }
    }
}
