//! `/proc/loadavg` (proc_loadavg(5)).

use serde::{Deserialize, Serialize};

use super::{ParseError, decimal};

/// The file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadAvg {
    /// Averages over 1, 5 and 15 minutes.
    pub averages: [f64; 3],
    /// Tasks that exist.
    pub tasks: u64,
}

/// Reads the file.
///
/// # Errors
/// When it does not begin with three averages and `RUNNING/TASKS`.
pub fn parse(text: &str) -> Result<LoadAvg, ParseError> {
    let error = || ParseError::new("loadavg", 1, text, "three averages and 'RUNNING/TASKS'");
    let mut words = text.split_ascii_whitespace();
    let mut averages = [0.0; 3];
    for average in &mut averages {
        *average = words.next().and_then(plain).ok_or_else(error)?;
    }
    let tasks = words.next().and_then(|word| word.split_once('/'));
    let tasks = tasks.and_then(|(_, tasks)| decimal(tasks)).ok_or_else(error)?;
    Ok(LoadAvg { averages, tasks })
}

/// Digits and a point only: Rust would take `inf`, `nan` and exponents too.
fn plain(word: &str) -> Option<f64> {
    let plain = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    word.parse().ok().filter(|value: &f64| plain && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line() {
        let load = parse("1.06 0.75 0.40 2/157 41317\n").expect("well formed");
        assert_eq!(load, LoadAvg { averages: [1.06, 0.75, 0.4], tasks: 157 });
        for wrong in ["", "1 2", "1 2 3", "1 nan 3 1/2 3", "1 2 3 4 5", "1 2 3 1/x 5"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
