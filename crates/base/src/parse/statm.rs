//! `/proc/PID/statm` (proc_pid_statm(5)).

use serde::{Deserialize, Serialize};

use super::{ParseError, decimal};

/// Memory of one process, in base pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statm {
    /// Address space.
    pub size: u64,
    /// Resident memory; may lag behind by some pages per thread.
    pub resident: u64,
    /// The part of `resident` that belongs to files and shared memory.
    pub shared: u64,
    /// Address space of the program's code.
    pub text: u64,
    /// Address space of data and stack.
    pub data: u64,
}

/// Reads the file: seven numbers, of which the fifth and the last have been 0 since Linux 2.6.
///
/// # Errors
/// When there are not seven numbers.
pub fn parse(text: &str) -> Result<Statm, ParseError> {
    let error = || ParseError::new("statm", 1, text, "seven numbers of pages");
    let numbers: Option<Vec<u64>> = text.split_ascii_whitespace().map(decimal).collect();
    match numbers.as_deref() {
        Some([size, resident, shared, text, _, data, _]) => Ok(Statm {
            size: *size,
            resident: *resident,
            shared: *shared,
            text: *text,
            data: *data,
        }),
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pages() {
        let expected = Statm { size: 765, resident: 406, shared: 377, text: 5, data: 123 };
        assert_eq!(parse("765 406 377 5 0 123 0\n"), Ok(expected));
    }

    #[test]
    fn refuses_other_shapes() {
        for wrong in ["", "1 2 3 4 5 6", "1 2 3 4 5 6 7 8", "1 2 3 4 5 6 x", "1 -2 3 4 5 6 7"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
