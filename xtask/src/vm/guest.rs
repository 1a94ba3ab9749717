//! The language that a guest's init speaks on the serial port.
//!
//! The port is shared with the kernel and with whatever the tests print, so that lines which
//! matter are marked. While tests run, init repeats each finished result line behind [`LIVE`]; at
//! the end it prints the harness's whole output between [`BEGIN`] and [`END`], each line behind
//! [`RESULT`]. `crates/app/tests/live/init.rs` is the speaker.

pub const BEGIN: &str = "@hugewise-results-begin";
pub const END: &str = "@hugewise-results-end";
pub const RESULT: &str = "@hw| ";
pub const LIVE: &str = "@hw~ ";

/// How one test of the guest ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// A line without control characters and escape sequences.
pub fn printable(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            if chars.next_if_eq(&'[').is_some() {
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            } else {
                chars.next();
            }
        } else if !c.is_control() || c == '\t' {
            out.push(c);
        }
    }
    out
}

/// The harness's output from a whole serial log; `None` without both markers.
pub fn results(serial: &str) -> Option<String> {
    let begin = serial.rfind(BEGIN)?;
    let end = begin + serial[begin..].find(END)?;
    let marked = serial[begin..end].lines().filter_map(|l| l.split_once(RESULT));
    Some(marked.map(|(_, line)| format!("{line}\n")).collect())
}

/// Each test of a libtest-style output with its outcome.
pub fn outcomes(results: &str) -> Vec<(String, Outcome)> {
    let mut found = Vec::new();
    for line in results.lines() {
        let parts = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
        let Some((name, outcome)) = parts else {
            continue;
        };
        let name = name.trim_end().to_string();
        let outcome = match outcome.trim_end() {
            "ok" => Outcome::Passed,
            "FAILED" => Outcome::Failed(message(results, &name)),
            skipped if skipped.starts_with("ignored") => Outcome::Skipped(reason(skipped)),
            other => Outcome::Failed(format!("unknown outcome '{other}'")),
        };
        found.push((name, outcome));
    }
    found
}

fn reason(ignored: &str) -> String {
    let reason = ignored.trim_start_matches("ignored").trim_start_matches([',', ' ']);
    let inner = reason.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
    inner.unwrap_or(reason).to_string()
}

/// What the harness printed under `---- name ----`.
fn message(results: &str, name: &str) -> String {
    let head = format!("---- {name} ----\n");
    let Some(at) = results.find(&head) else {
        return "no message".into();
    };
    let rest = &results[at + head.len()..];
    let ends = ["\n---- ", "\nfailures:\n"].iter().filter_map(|end| rest.find(end)).min();
    rest[..ends.unwrap_or(rest.len())].trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIAL: &str = "SeaBIOS\n@hw~ test a ... ok\nnoise @hugewise-results-begin\n\
        @hw| running 3 tests\n@hw| test a        ... ok\n[    1.0] kernel says\n\
        @hw| test b        ... FAILED\nnoise @hw| test long::c  ... ignored (no PSI)\n@hw| \n\
        @hw| failures:\n@hw| \n@hw| ---- b ----\n@hw| broken at\n@hw| line two\n@hw| \n@hw| \n\
        @hw| failures:\n@hw|     b\n@hugewise-results-end\n";

    #[test]
    fn results_are_read_through_noise() {
        let results = results(SERIAL).unwrap();
        let expected = [
            ("a", Outcome::Passed),
            ("b", Outcome::Failed("broken at\nline two".into())),
            ("long::c", Outcome::Skipped("no PSI".into())),
        ];
        assert_eq!(outcomes(&results), expected.map(|(name, o)| (name.to_string(), o)));
    }

    #[test]
    fn a_guest_that_died_has_no_results() {
        assert_eq!(results("@hugewise-results-begin\n@hw| test a ... ok\npanic\n"), None);
        assert_eq!(results(""), None);
    }

    #[test]
    fn control_sequences_vanish() {
        assert_eq!(printable("\x1b[32mok\x1b[0m\tyes\r\n\x1bc!"), "ok\tyes!");
    }
}
